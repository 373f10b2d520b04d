"""What the kernel itself needs is put back after each cell, whatever the user
has done to it: so that a reply always comes, and the next cell's too.

It trusts no name of builtins but those that it has kept at its own start."""

import builtins
from builtins import callable, dict, getattr, list, setattr, tuple, type, vars

KNOWN = tuple((name, value) for name, value in vars(builtins).items() if callable(value))
NAMES = vars(builtins)
# The objects that a reply is made with.
ATTRIBUTES = {
    "shell": ("display_pub", "displayhook", "kernel", "payload_manager", "events", "compile", "user_module",
              "input_transformer_manager", "history_manager", "display_formatter", "magics_manager", "InteractiveTB",
              "display_trap", "builtin_trap", "user_ns", "user_global_ns", "ast_transformers"),
    "kernel": ("shell", "session", "iopub_socket", "iopub_thread", "shell_stream", "log", "parent", "user_ns",
               "payload_manager", "shell_handlers"),
    "display_pub": ("session", "pub_socket"),
    "displayhook": ("session", "pub_socket"),
}


class Repair:
    def __init__(self, shell):
        places = {"shell": shell, "kernel": shell.kernel}
        places.update({name: getattr(shell, name) for name in ("display_pub", "displayhook")})
        self.objects = [(thing, dict(vars(thing))) for thing in (*places.values(), shell.kernel.session)]
        self.attributes = [
            (places[place], name, getattr(places[place], name))
            for place, names in ATTRIBUTES.items()
            for name in names
            if name in vars(places[place]) or name in getattr(places[place], "_trait_values", ())
        ]

    def put_back(self):
        for name, value in KNOWN:
            if not callable(NAMES.get(name)):
                NAMES[name] = value
        for thing, name, value in self.attributes:
            try:
                if getattr(thing, name, None) is not value:
                    setattr(thing, name, value)
            except Exception:
                pass
        for thing, known in self.objects:
            self.put_methods_back(vars(thing), known, type(thing))

    def put_methods_back(self, names, known, kind):
        """Those that were replaced by what cannot be called."""
        for name in list(names):
            if callable(names[name]) or not callable(known.get(name, getattr(kind, name, None))):
                continue
            if name in known:
                names[name] = known[name]
            else:
                del names[name]
