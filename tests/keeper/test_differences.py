"""What is different in a kernel that was forked from one that was executed: all
that can be reached by name after the same imports is compared, whatever it is."""

import json
import re

import pytest
from facts import set_up
from warm import warm_keeper, was_forked

DUMP = r'''
import json as _json

def _dump(imports):
    import os, pathlib, sys, types

    for name in imports:
        __import__(name)

    PLAIN = (str, bytes, int, float, complex, bool, type(None), pathlib.PurePath)

    def shown(value, depth=0):
        """A text that is the same for equal things; only the type of what cannot be compared."""
        kind = type(value)
        if kind in PLAIN or isinstance(value, pathlib.PurePath):
            return repr(value)[:2000]
        if depth < 4:
            if kind in (set, frozenset):
                return [kind.__name__, *sorted(str(shown(each, depth + 1)) for each in list(value)[:3000])]
            if kind in (list, tuple) or isinstance(value, (list, tuple)):
                return [kind.__name__, *(shown(each, depth + 1) for each in list(value)[:3000])]
            if isinstance(value, dict):
                return {str(shown(key, 4)): shown(dict.__getitem__(value, key), depth + 1)
                        for key in list(dict.keys(value))[:3000]}
        return f"{kind.__module__}.{kind.__qualname__}"

    def attributes(thing):
        return {str(name): shown(value) for name, value in list(vars(thing).items()) if name != "__builtins__"}

    found = {"modules": sorted(sys.modules)}
    for name, module in sorted(sys.modules.items()):
        if type(module) is types.ModuleType and name != "__main__":
            found[name] = attributes(module)
            for part, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == name:
                    found[f"{name}.{part}"] = attributes(value)
    if "pandas" in sys.modules:
        import pandas
        found["pandas' options"] = {name: shown(pandas.get_option(name)) for name in pandas._config.config._select_options("")}
    if "matplotlib" in sys.modules:
        import matplotlib
        found["matplotlib's settings"] = {name: shown(dict.__getitem__(matplotlib.rcParams, name)) for name in dict.keys(matplotlib.rcParams)}
        found["matplotlib's directories"] = [matplotlib.get_configdir(), matplotlib.get_cachedir(), matplotlib.matplotlib_fname()]
    if "numpy" in sys.modules:
        import numpy
        found["numpy's options"] = [shown(numpy.get_printoptions()), shown(numpy.geterr())]
    found["environment"] = dict(os.environ)
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink("/proc/self/fd/" + number))
        except OSError:
            pass
    found["descriptors"] = sorted(link.split(":")[0] for link in links)
    shell = get_ipython()
    for name in ("kernel", "display_pub", "displayhook", "events", "history_manager", "input_transformer_manager", "compile"):
        found["shell's " + name] = attributes(getattr(shell, name))
    found["shell"] = attributes(shell)
    found["events"] = {name: [shown(each.__name__) for each in calls] for name, calls in shell.events.callbacks.items()}
    import platform, socket
    found["host"] = [platform.node(), socket.gethostname(), platform.platform()]
    with open("dump.json", "w") as file:
        _json.dump(found, file)

_dump(IMPORTS)
print("dumped")
'''

# Names that may differ, and why. A name is "part/attribute/…".
ALLOWED = {
    r"^threading/(_active/|_shutdown_locks$)": "threads by their numbers, and the locks of ended ones",
    r"^sys/(meta_path|modules|path_importer_cache|_cellpost_stack|argv|orig_argv|flags)": "the finder of what was put away; the start",
    r"/__slotnames__$|/_finfo_cache/|ColorConverter/cache/|/_unit_rectangle$": "caches: the zygote has drawn a figure",
    r"^(typing/_overload_registry|encodings/_cache|six\._MovedItems|_?warnings/filters|_cython_\w+)/?": "what imports leave"
    " with modules that are there in any case",
    r"^linecache/cache/'/usr/|^linecache/\w+/'/tmp/ipykernel_\d+/|/_filename_map/'/tmp/ipykernel_\d+/": "sources that were shown",
    r"^numpy\.iinfo/|ParserElement/_?packrat|^matplotlib\._api\.deprecation/DECORATORS/|^_strptime/|^pandas\._libs\.tslibs\.strptime/": "caches of what was used",
    r"^PIL\.(Image|TiffTags)/": "the formats that PIL has loaded: the zygote has saved a figure",
    r"^platform/_(uname|platform)_cache": "a cache that was emptied",
    r"display'?[./]'?encoding'?": "the same encoding, in small letters",
    r"^_pydev|^pydev": "nobody debugs a zygote: a warning is switched off",
    r"IPKernelApp|/_instance$|/'parent'$|^shell/configurables$": "the application of a copy is of a class of its own",
    r"/_sys_modules_keys$|^_cellpost\.repair/KNOWN$": "what was there when the shell was made",
    r"_trait_values/'parent_header'": "the first message that the shell has met",
}


def flat(value, name=""):
    """name -> text, for each leaf."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{name}/{key}" if name else str(key))
    elif isinstance(value, list):
        if name in ("modules", "descriptors"):
            for part in set(value):
                yield f"{name}/{part}", value.count(part)
        else:
            yield name, json.dumps(value)
    else:
        yield name, value


def dump(kernel, keeper, task, imports):
    code = DUMP.replace("IMPORTS", repr(imports))
    assert kernel.run(code).endswith("dumped\n")
    text = (keeper.files(task) / "dump.json").read_text()
    for own, word in ((kernel.told["id"], "ID"), (str(keeper.files(task)), "FILES"), (task, "TASK")):
        text = text.replace(own, word)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    return dict(flat(json.loads(text)))


def differences(one, other):
    return {name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


@pytest.mark.parametrize("imports", [[], ["numpy"], ["matplotlib"], ["pandas", "matplotlib.pyplot"]], ids=str)
def test_nothing_else_is_different(start, imports):
    with warm_keeper("auto") as keeper:
        forked = start(keeper, "copy-x")
        executed, another = (start(keeper, task, strict=True) for task in ("strict-x", "strict-y"))
        assert was_forked(forked) and not was_forked(executed)
        for kernel in (forked, executed, another):
            set_up(kernel)
        one = dump(forked, keeper, "copy-x", imports)
        others = [dump(kernel, keeper, task, imports) for kernel, task in ((executed, "strict-x"), (another, "strict-y"))]
    by_itself = differences(*others)  # what two of the same kind differ in, too
    found = {name: values for name, values in differences(one, others[0]).items()
             if name not in by_itself and not any(re.search(pattern, name) for pattern in ALLOWED)}
    print(json.dumps(found, indent=1))
    assert found == {}


@pytest.fixture(scope="module")
def warm():
    with warm_keeper("auto") as keeper:
        yield keeper


CASES = {
    "a part that was not imported": ("import matplotlib; print(hasattr(matplotlib, 'pyplot'))", "False\n"),
    "what pandas thinks of the terminal": ("import pandas; print(pandas.options.display.max_columns)", "20\n"),
    "the name of the host": ("import platform, socket; print(platform.node() == socket.gethostname())", "True\n"),
    "where a spawned process starts": (
        "import multiprocessing.process, os; print(multiprocessing.process.ORIGINAL_DIR == os.getcwd())",
        "True\n",
    ),
    "a module of the user's own name": (
        "open('pandas.py', 'w').write('here = 1'); import pandas; print(pandas.here)",
        "1\n",
    ),
    "a module that one of the preloaded needs": (
        "open('cycler.py', 'w').write('here = 1'); import cycler; print(cycler.here)",
        "1\n",
    ),
    "settings in the directory": (
        "open('matplotlibrc', 'w').write('lines.linewidth: 7'); import matplotlib; print(matplotlib.rcParams['lines.linewidth'])",
        "7.0\n",
    ),
    "settings in the environment": (
        "import os; os.environ['MPLBACKEND'] = 'svg'; import matplotlib; print(matplotlib.get_backend())",
        "svg\n",
    ),
    "a style of the user's own": (
        "import os; d = os.environ['MPLCONFIGDIR'] + '/stylelib'; os.makedirs(d, exist_ok=True)\n"
        "open(d + '/mine.mplstyle', 'w').write('lines.linewidth: 7')\n"
        "import matplotlib.pyplot as plt; print('mine' in plt.style.available)",
        "True\n",
    ),
    "a font of the user's own": (
        "import glob, os, shutil; os.makedirs(os.path.expanduser('~/.fonts'), exist_ok=True)\n"
        "font = glob.glob('/usr/share/fonts/**/*.ttf', recursive=True)[0]; shutil.copy(font, os.path.expanduser('~/.fonts/mine.ttf'))\n"
        "import matplotlib.font_manager as m; print(any('.fonts/mine.ttf' in f.fname for f in m.fontManager.ttflist))",
        "True\n",
    ),
    "find_spec": (
        "import importlib.util, sys; s = importlib.util.find_spec('numpy'); print(s.origin.endswith('numpy/__init__.py'), 'numpy' in sys.modules)",
        "True False\n",
    ),
    "an import anew": (
        "import sys, matplotlib.colors as c, importlib; importlib.reload(c); del sys.modules['matplotlib.colors']\n"
        "import matplotlib.colors as d; print(c is not d and d.to_hex('r'))",
        "#ff0000\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_import_reads_its_surroundings(warm, start, case):
    """What is said is what an executed kernel says."""
    kernel = start(warm, f"case-{list(CASES).index(case)}")
    code, said = CASES[case]
    assert was_forked(kernel)
    assert kernel.run(code).removesuffix("\n") == said.removesuffix("\n")
