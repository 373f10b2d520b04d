"""What a hint after an error is made from, seen from inside the kernel.

Run by hint_probe.c in a namespace of its own, once, after a cell that failed.
It reads the exception that the interpreter keeps (sys.last_value) and answers
with one JSON text. Python 3.8 or newer, nothing outside the standard library,
no name left behind. Attributes are looked up without running the code of the
objects; every list has an end.
"""
import itertools
import json
import linecache
import os
import re
import sys

TEXT_LIMIT = 160
ANSWER_LIMIT = 12000
CANDIDATES = 5000
FRAMES = 12
SHOWN = 20
CLOSE = 5


def short(text):
    text = str(text)
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT - 1] + "\u2026"


def message(error):
    try:
        return str(error)
    except Exception:
        return "?"


def label(key):
    """How a key is written in code; the type alone for what may run code."""
    if type(key) in (str, int, float, bool, bytes, type(None)):
        return short(repr(key))
    if type(key) is tuple and len(key) < 8:
        return short("(" + ", ".join(map(label, key)) + ")")
    return "<%s>" % type(key).__name__


def close(wanted, names, alike=0.6):
    """Names like the wanted one, best first, other letter case included. Of one
    or two letters only the case may differ: any two are alike else."""
    import difflib

    lower = wanted.lower()
    letters = set(lower)
    spread = max(2, len(lower) // 2)
    table = {}
    for name in names:
        if type(name) is not str or name == wanted or abs(len(name) - len(lower)) > spread:
            continue
        if name.startswith("_") and not lower.startswith("_"):
            continue
        other = name.lower()
        if 2 * len(letters & set(other)) >= len(letters):
            table.setdefault(other, name)
    found = difflib.get_close_matches(lower, list(itertools.islice(table, 300)), CLOSE, alike if len(lower) > 2 else 1)
    return [short(table[name]) for name in found]


def frames_of(error):
    """The last (frame, line) pairs of an exception, outermost first."""
    import collections

    frames = collections.deque(maxlen=60)
    step = error.__traceback__
    while step is not None:
        frames.append((step.tb_frame, step.tb_lineno, step.tb_lasti))
        step = step.tb_next
    return list(frames)


def cell_numbers():
    """File name of a cell's code -> execution count, as IPython 8 and 9 keep it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(getattr(shell, "compile", None), "_filename_map", {})


def cell_of(filename, numbers):
    """The execution count of the cell; 0 when unknown, None when it is no cell."""
    if filename in numbers:
        return numbers[filename]
    match = re.match(r"<ipython-input-(\d+)-", filename)
    if match:
        return int(match.group(1))
    return 0 if "ipykernel_" in filename else None


def chain():
    """Cell frames of the exception and its causes, outermost exception first."""
    numbers = cell_numbers()
    error, links, seen = LAST, [], set()
    while error is not None and len(links) < 4 and id(error) not in seen:
        seen.add(id(error))
        cells = []
        for frame, line, _ in frames_of(error):
            cell = cell_of(frame.f_code.co_filename, numbers)
            if cell is not None:
                cells.append({"cell": cell, "line": line, "function": frame.f_code.co_name})
        if cells and not links:
            cells[-1]["source"] = around(error)
        text = "%s: %s" % (type(error).__name__, message(error))
        links.append({"class": type(error).__name__, "text": short(text), "frames": cells[-FRAMES:]})
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return links


def around(error):
    """The deepest cell line with two neighbours on each side: [first, lines]."""
    numbers = cell_numbers()
    for frame, line, _ in reversed(frames_of(error)):
        if cell_of(frame.f_code.co_filename, numbers) is not None:
            first = max(1, line - 2)
            lines = linecache.getlines(frame.f_code.co_filename)[first - 1:line + 2]
            return [first, [short(text.rstrip("\n")) for text in lines]]
    return None


def statement(frame, line, last):
    """The source of the running expression (its lines), at most ten lines."""
    end = line
    if hasattr(frame.f_code, "co_positions"):
        position = next(itertools.islice(frame.f_code.co_positions(), last // 2, None), None)
        if position and position[0] and position[1]:
            line, end = position[0], min(position[1], position[0] + 9)
    return "".join(linecache.getlines(frame.f_code.co_filename)[line - 1:end])


def own(thing):
    """The object's own dictionary, without running its code."""
    try:
        return object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}


def is_pandas(thing):
    return type(thing).__module__.partition(".")[0] == "pandas"


def attributes(thing):
    bases = type.mro(thing) if issubclass(type(thing), type) else type(thing).__mro__
    names = list(own(thing))
    for base in bases:
        names.extend(vars(base))
    if is_pandas(thing) and hasattr(thing, "columns"):
        names.extend(thing.columns[:1000])
    return names[:CANDIDATES]


def resolve(dotted, frame):
    """The object behind a dotted name in a frame and the part of the name that
    says it; what would need code to find is left to the parts before it."""
    known, *rest = dotted.split(".")
    thing = frame.f_locals.get(known, frame.f_globals.get(known))
    for part in rest:
        if part not in own(thing):
            break
        thing, known = own(thing)[part], known + "." + part
    return thing, known


def keys_of(thing, by_row):
    """(what they are called, the keys, how many) of something that has keys."""
    import collections.abc

    if issubclass(type(thing), dict):
        return "keys", list(itertools.islice(dict.keys(thing), CANDIDATES)), dict.__len__(thing)
    if is_pandas(thing):
        thing = getattr(thing, "obj", thing)
        rows = getattr(thing, "index", thing)
        columns = rows if by_row else getattr(thing, "columns", rows)
        if hasattr(columns, "tolist"):
            return "columns" if columns is not rows else "labels", columns[:CANDIDATES].tolist(), len(columns)
    if issubclass(type(thing), collections.abc.Mapping):
        return "keys", list(itertools.islice(thing, CANDIDATES)), len(thing)
    return None


def name_error():
    import builtins
    import importlib.util

    name = getattr(LAST, "name", None) or (re.findall(r"'([^']+)'", str(LAST)) or [""])[0]
    names = list(vars(builtins))
    for frame, _, _ in frames_of(LAST)[-1:]:
        names = list(frame.f_locals) + list(frame.f_globals) + names
    names = [known for known in names if known not in ("In", "Out", "exit", "quit", "get_ipython")]
    standard = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
    return {
        "name": short(name),
        "close": close(name, dict.fromkeys(names[:CANDIDATES]), 0.6 if len(name) > 4 else 0.75),
        "module": name in sys.modules or name in standard or importlib.util.find_spec(name) is not None,
    }


def attribute_error():
    name = getattr(LAST, "name", None) or (re.findall(r"attribute '([^']+)'", str(LAST)) or [""])[0]
    thing = getattr(LAST, "obj", None)
    if thing is None:
        for frame, line, last in frames_of(LAST)[-1:]:
            for dotted in re.findall(r"([A-Za-z_][\w.]*)\.%s\b" % re.escape(name), statement(frame, line, last)):
                found, known = resolve(dotted, frame)
                thing = found if known == dotted else thing
    if thing is None:
        return {"name": short(name), "close": []}
    kind = getattr(thing, "__name__", "") if type(thing) is type(sys) else type(thing).__name__
    return {"name": short(name), "type": short(kind), "close": close(name, dict.fromkeys(attributes(thing)))}


def wanted_key():
    """The key that was missing; pandas wraps it in a sentence of its own."""
    key = LAST.args[0] if LAST.args else None
    if type(key) is str:
        inner = re.match(r"(?:None of \[)?.*?\[?'([^']*)'.* (?:not in index|not found in axis|in the \[)", key)
        key = inner.group(1) if inner else key
    return key


def key_error():
    key, frames, numbers = wanted_key(), frames_of(LAST), cell_numbers()
    frames.sort(key=lambda step: cell_of(step[0].f_code.co_filename, numbers) is not None)
    for frame, line, last in reversed(frames[-FRAMES:]):
        source = statement(frame, line, last)
        for dotted in re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", source)[:40]:
            thing, known = resolve(dotted, frame)
            by_row = dotted[len(known):] in (".loc", ".at", ".xs")
            found = None if thing is None else keys_of(thing, by_row)
            if found is None or key in found[1]:
                continue
            kind, keys, count = found
            return {
                "key": label(key), "kind": kind, "count": count,
                "container": short(known) if cell_of(frame.f_code.co_filename, numbers) is not None else "",
                "close": [repr(name) for name in close(key, keys)] if type(key) is str else [],
                "some": [label(name) for name in keys[:SHOWN]],
            }
    return {"key": label(key)}


def file_error():
    if LAST.filename is None or isinstance(LAST.filename, int):
        return {}
    path = os.fsdecode(LAST.filename)
    missing, directory = os.path.basename(path), os.path.dirname(path)
    while directory and directory != "/" and not os.path.isdir(directory):
        missing, directory = os.path.basename(directory), os.path.dirname(directory)
    here = os.path.realpath(".")
    if os.path.isabs(path) and os.path.commonpath([here, os.path.realpath(directory)]) != here:
        # Paths of another machine: what is told is where the files are here.
        missing, directory = path, ""
    with os.scandir(directory or ".") as entries:
        names = sorted(
            entry.name + ("/" if entry.is_dir() else "")
            for entry in itertools.islice(entries, 2000)
            if not entry.name.startswith(".") or missing.startswith(".")
        )
    near = close(os.path.basename(missing), [name.rstrip("/") for name in names])
    return {
        "path": short(path), "missing": short(missing), "directory": short(directory or "."),
        "count": len(names), "entries": [short(name) for name in names[:SHOWN]],
        "close": (elsewhere(os.path.basename(path)) + near)[:CLOSE],
    }


def elsewhere(wanted):
    """Where in the workspace a file of that very name is, the upper ones first."""
    found, rest, looked = [], ["."], 0
    while rest and looked < 2000 and len(found) < CLOSE:
        directory, looked = rest.pop(0), looked + 1
        try:
            entries = list(itertools.islice(os.scandir(directory), 2000))
        except OSError:
            continue
        for entry in entries:
            looked += 1
            path = os.path.normpath(os.path.join(directory, entry.name))
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                rest.append(path)
            elif entry.name == wanted:
                found.append(short(path))
    return found


def modules_beside(path):
    """Module names in one directory, from the finder's own list where it has one."""
    finder = sys.path_importer_cache.get(path)
    names = getattr(finder, "_path_cache", None) or (os.listdir(path) if os.path.isdir(path) else [])
    for name in itertools.islice(names, CANDIDATES):
        stem, dot, ending = name.partition(".")
        if not dot or ending == "py" or ending.endswith("so"):
            yield stem


# What does the work of a library that is often asked for and not there.
INSTEAD = {
    "altair": "matplotlib", "bokeh": "matplotlib", "plotly": "matplotlib", "seaborn": "matplotlib",
    "cudf": "pandas", "dask": "pandas", "modin": "pandas", "polars": "pandas", "cupy": "numpy", "jax": "numpy",
    "bs4": "lxml", "httpx": "requests",
}


def module_error():
    import importlib.util

    name = LAST.name or ""
    parent, _, last = name.rpartition(".")
    if parent:
        paths = getattr(sys.modules.get(parent), "__path__", [])
        names = []
    else:
        paths = sys.path
        names = list(getattr(sys, "stdlib_module_names", sys.builtin_module_names))
    for path in paths:
        names.extend(modules_beside(path or "."))
    seen = {"name": short(name), "close": close(last, dict.fromkeys(names), 0.8), "parent": parent in sys.modules}
    instead = INSTEAD.get(name.partition(".")[0])
    if instead and importlib.util.find_spec(instead):
        seen["instead"] = instead
    return seen


def import_error():
    match = re.search(r"cannot import name '([^']+)'", str(LAST))
    module = sys.modules.get(LAST.name or "")
    if not match or module is None:
        return {}
    return {"name": match.group(1), "type": LAST.name, "close": close(match.group(1), attributes(module))}


def group_error():
    numbers, members, rest = cell_numbers(), [], list(LAST.exceptions)
    while rest and len(members) < SHOWN:
        error = rest.pop(0)
        if hasattr(error, "exceptions"):
            rest = list(error.exceptions) + rest
            continue
        member = {"text": short("%s: %s" % (type(error).__name__, message(error)))}
        for frame, line, _ in frames_of(error):
            cell = cell_of(frame.f_code.co_filename, numbers)
            if cell is not None:
                member.update(cell=cell, line=line)
        members.append(member)
    return {"members": members, "more": len(rest)}


LOOKS = (
    ("UnboundLocalError", lambda: {}),
    ("NameError", name_error),
    ("AttributeError", attribute_error),
    ("KeyError", key_error),
    ("FileNotFoundError", file_error),
    ("ModuleNotFoundError", module_error),
    ("ImportError", import_error),
    ("BaseExceptionGroup", group_error),
)


def has_network():
    """Whether there is any interface but the one that talks to oneself."""
    import socket

    return any(name != "lo" for _, name in socket.if_nameindex())


def look():
    seen = {"class": type(LAST).__name__}
    for part, view in (("chain", chain), ("seen", view_of_class()), ("network", has_network)):
        try:
            seen[part] = view()
        except Exception:
            pass
    return seen


def view_of_class():
    classes = [base.__name__ for base in type(LAST).__mro__]
    return next((view for name, view in LOOKS if name in classes), dict)


def answer():
    try:
        text = json.dumps(look())
        return text if len(text) <= ANSWER_LIMIT else "{}"
    except BaseException:
        return "{}"


LAST = getattr(sys, "last_value", None) or getattr(sys, "last_exc", None)
