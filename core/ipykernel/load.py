# The end of the bundle that tools/bundle makes of core/ipykernel/setup. What
# stands above is SOURCES, module name -> source. Whoever runs the bundle gives
# `digest`, that of its text, and calls set_up(directory) once the kernel stands.
import importlib.machinery
import sys


class Loader:
    """Imports the package _cellpost from SOURCES. It is asked only while the
    bundle is loaded, so that a kernel's sys.meta_path stays as it was."""

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.partition(".")
        if package != "_cellpost" or (module or "__init__") not in SOURCES:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin="<frozen %s>" % name, is_package=not module)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        source = SOURCES[module.__name__.partition(".")[2] or "__init__"]
        exec(compile(source, module.__spec__.origin, "exec"), module.__dict__)


def load():
    loader = Loader()
    sys.meta_path.insert(0, loader)
    try:
        import _cellpost  # a kernel that has been set up keeps that set-up

        return _cellpost
    finally:
        sys.meta_path.remove(loader)


def set_up(directory):
    package.set_up(directory, digest)


package = load()
