"""Modules that a zygote has imported for its kernels (core/keeper/zygote): they
are put away before the fork, and come back when a kernel imports them. So
sys.modules and the packages' attributes are as in any other kernel, and what an
import reads of its surroundings (renewals.py) is read when the kernel imports."""

import builtins
import importlib.machinery
import importlib.util
import sys
import types

import _frozen_importlib
from _cellpost import renewals


class Recorder:
    """Which modules an import brings along, while it is in use."""

    def __init__(self):
        self.needs = {}  # module -> those that its import makes sure of
        self.running = []
        self.load, self.plain_import = _frozen_importlib._find_and_load, builtins.__import__

    def __enter__(self):
        _frozen_importlib._find_and_load = self.find_and_load
        builtins.__import__ = self.import_module
        builtins.get_ipython = lambda: types.SimpleNamespace(kernel=None)  # pandas looks: is this a terminal?
        return self

    def __exit__(self, *_):
        _frozen_importlib._find_and_load = self.load
        builtins.__import__ = self.plain_import
        del builtins.get_ipython

    def find_and_load(self, name, import_):
        if self.running:
            self.note(self.running[-1], name)
        self.running.append(name)
        try:
            return self.load(name, import_)
        finally:
            self.running.pop()

    def import_module(self, name, globals=None, locals=None, fromlist=(), level=0):
        found = self.plain_import(name, globals, locals, fromlist, level)
        if self.running and globals and globals.get("__name__") == self.running[-1]:
            package = globals.get("__package__") or ""
            whole = importlib.util.resolve_name("." * level + name, package) if level else name
            self.note(self.running[-1], whole)
            for part in fromlist or ():
                parts = getattr(sys.modules.get(whole), "__all__", ()) if part == "*" else (part,)
                for each in parts:
                    self.note(self.running[-1], f"{whole}.{each}")
        return found

    def note(self, module, needed):
        self.needs.setdefault(module, {})[needed] = True


class Preloaded:
    """The finder of what was put away: all modules but the known ones."""

    def __init__(self, needs, known):
        self.path = set(sys.path)
        self.paths = renewals.Paths({name: module for name, module in sys.modules.items() if name != "__main__"})
        self.known, self.roots = known, renewals.directories()
        self.modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name not in known}
        self.needs = {name: self.needs_of(name, needs) for name in self.modules}
        self.unbound = set(filter(self.unbind, self.modules))
        renewals.before_the_fork(self.modules)
        sys.meta_path.insert(0, self)

    def needs_of(self, name, needs):
        wanted = [name.rpartition(".")[0], *needs.get(name, ())]
        return tuple(each for each in wanted if each in self.modules)

    def parent_of(self, name):
        package, _, part = name.rpartition(".")
        return self.modules.get(package) or sys.modules.get(package), part

    def unbind(self, name):
        package, part = self.parent_of(name)
        if package is None or vars(package).get(part) is not self.modules[name]:
            return False
        delattr(package, part)
        return True

    def settle_in(self):
        """In a kernel, whenever its directories have changed: the modules that
        were not put away."""
        for name in self.known:
            self.paths.move(name, self.roots)
        self.roots = renewals.directories()

    def find_spec(self, name, path=None, target=None):
        module = self.modules.get(name)
        if module is None:
            return None
        names = self.brought_by(name)
        if self.is_shadowed(names):
            self.modules.clear()
            return None
        loader = Loader(self, module, names)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=module.__spec__.origin)
        spec.submodule_search_locations = module.__spec__.submodule_search_locations
        spec.has_location = module.__spec__.has_location
        spec.cached = module.__spec__.cached
        return spec

    def is_shadowed(self, names):
        """The user has one of another place: then all of them are his."""
        places = [place for place in sys.path if place not in self.path]
        packages = {each.partition(".")[0] for each in names}
        specs = (importlib.machinery.PathFinder.find_spec(package, places) for package in packages)
        return any(spec is not None and spec.origin is not None for spec in specs)

    def brought_by(self, name):
        """The module and all that its import makes sure of, of those put away."""
        found, rest = {name: True}, [name]
        while rest:
            for each in self.needs[rest.pop()]:
                if each not in found and each in self.modules:
                    found[each] = True
                    rest.append(each)
        return list(found)

    def bring(self, names):
        names = [each for each in names if each in self.modules]
        for each in names:
            sys.modules[each] = self.modules.pop(each)
        for each in names:
            package, part = self.parent_of(each)
            if each in self.unbound and part not in vars(package):
                setattr(package, part, sys.modules[each])
        for each in names:
            self.paths.move(each)
        for each in names:
            if each in renewals.RENEWALS:
                renewals.RENEWALS[each](sys.modules[each])


class Loader:
    """Of one module; asked for anything else, it is the module's own loader."""

    def __init__(self, preloaded, module, names):
        self.preloaded, self.module, self.spec, self.names = preloaded, module, module.__spec__, names

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec
        self.preloaded.bring(self.names)

    def __getattr__(self, name):
        return getattr(self.spec.loader, name)
