"""What the import of a library reads of its surroundings, read again in the
kernel that imports it from a zygote: directories, settings, seeds."""

import os
import pathlib

# The variables that name the directories of a zygote and of a kernel.
DIRECTORIES = ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME")


def directories():
    found = [(name, os.environ[name].rstrip("/")) for name in DIRECTORIES if len(os.environ.get(name, "")) > 1]
    return sorted(found, key=lambda pair: len(pair[1]), reverse=True)


class Paths:
    """Attributes of modules, and of the classes in them, that name such a
    directory or a place in it; lists of them, too."""

    def __init__(self, modules):
        self.first, self.found = directories(), {}
        for name, module in modules.items():
            classes = [thing for thing in vars(module).values() if isinstance(thing, type) and thing.__module__ == name]
            for holder in [module, *classes]:
                for attribute, value in list(vars(holder).items()):
                    if any(self.place(part, self.first) for part in self.parts(value)):
                        self.found.setdefault(name, []).append((holder, attribute))

    @staticmethod
    def parts(value):
        return value if type(value) is list else [value]

    @staticmethod
    def place(value, roots):
        """(variable, root) of a path, or None."""
        if type(value) is not str and not isinstance(value, pathlib.PurePath):
            return None
        text = str(value)
        return next((pair for pair in roots if text == pair[1] or text.startswith(pair[1] + "/")), None)

    def moved(self, value, roots):
        place = self.place(value, roots)
        if place is None or place[0] not in os.environ:
            return value
        return type(value)(os.environ[place[0]].rstrip("/") + str(value)[len(place[1]) :])

    def move(self, name, roots=None):
        """To this process's directories, from those of the zygote or others."""
        for holder, attribute in self.found.get(name, ()):
            value = vars(holder).get(attribute)
            if type(value) is list:
                value[:] = [self.moved(part, roots or self.first) for part in value]
            else:
                setattr(holder, attribute, self.moved(value, roots or self.first))


def matplotlib(module):
    """Its directories and settings are those of the user and the current
    directory."""
    for name in ("get_configdir", "get_cachedir"):  # they keep what they have found
        plain = getattr(getattr(module, name), "__wrapped__", None)
        if plain is not None:
            setattr(module, name, module._logged_cached(name.replace("get_", "").upper() + "=%s")(plain))
    file = module.matplotlib_fname()
    if file != module._cellpost_settings:
        dict.update(module.rcParams, module._rc_params_in_file(file))
        module.rcParamsOrig = module.rcParams.copy()
    if os.environ.get("MPLBACKEND"):
        module.rcParams["backend"] = os.environ["MPLBACKEND"]
    del module._cellpost_settings


def styles(module):
    """One of the two modules reads them, that depends on the version."""
    if hasattr(module, "_base_library") and any(map(os.path.isdir, module.USER_LIBRARY_PATHS)):
        module.reload_library()


def fonts(module):
    """The list of fonts is the host's; those of the user's own come to it."""
    home = pathlib.Path.home()
    data = pathlib.Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    for place in (data / "fonts", home / ".fonts"):
        for font in module.findSystemFonts([str(place)]) if place.is_dir() else ():
            try:
                module.fontManager.addfont(font)
            except Exception:  # no font that it can read
                pass


def before_the_fork(modules):
    """What those above compare with."""
    if "matplotlib" in modules:
        modules["matplotlib"]._cellpost_settings = modules["matplotlib"].matplotlib_fname()


RENEWALS = {
    "matplotlib": matplotlib,
    "matplotlib.style": styles,
    "matplotlib.style.core": styles,
    "matplotlib.font_manager": fonts,
    "numpy.random": lambda module: module.seed(),
    "torch": lambda module: module.seed(),
}
