"""matplotlib's figures are shown at the end of the cell that made them."""

import importlib.util
import sys

PYPLOT = "matplotlib.pyplot"


def show_all():
    """Figures made first in `with plt.style.context(…)` switch the backend of
    notebooks on in there, and the end of it would switch that off again for
    good: figures of later cells would be lost. So it is switched on before."""
    if PYPLOT in sys.modules:
        switch_on_before_contexts(sys.modules[PYPLOT])
    else:
        sys.meta_path.insert(0, AfterPyplot())


def switch_on_before_contexts(pyplot):
    matplotlib = sys.modules["matplotlib"]
    rc_context = matplotlib.rc_context

    def context(*arguments, **more):
        switch_on(matplotlib, pyplot)
        return rc_context(*arguments, **more)

    context.__doc__, context.__wrapped__ = rc_context.__doc__, rc_context
    matplotlib.rc_context = context


def switch_on(matplotlib, pyplot):
    backend = dict.__getitem__(matplotlib.rcParams, "backend")
    if getattr(pyplot, "_backend_mod", False) is None and "inline" in str(backend):
        pyplot.switch_backend(backend)


class AfterPyplot:
    """Waits for the import; sys.meta_path is as it was from then on."""

    def find_spec(self, name, path=None, target=None):
        if name != PYPLOT:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                switch_on_before_contexts(module)

            spec.loader.exec_module = exec_module
        return spec
