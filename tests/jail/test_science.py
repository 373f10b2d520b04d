"""What a scientist's cells do works in the jail as outside of it."""

import importlib.util
import os
import shutil

import pytest

CELLS = {
    "numpy": ("import numpy as np; a = np.ones((400, 400)); print((a @ a)[0, 0], np.fft.fft(a).shape)", "400.0 (400, 400)\n"),
    "scipy": (
        "import scipy.optimize, scipy.linalg, scipy.sparse, scipy.integrate, scipy.stats, numpy as np\n"
        "print(round(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2), 6), scipy.linalg.det(np.eye(3)),\n"
        "      round(scipy.integrate.quad(np.sin, 0, np.pi)[0], 6))",
        "1.414214 1.0 2.0\n",
    ),
    "pandas": (
        "import pandas as pd\n"
        "pd.DataFrame({'a': [1, 2], 'b': ['x', 'é']}).to_csv('t.csv', index=False)\n"
        "table = pd.read_csv('t.csv'); table.to_json('t.json'); table.to_pickle('t.pkl')\n"
        "print(pd.read_pickle('t.pkl').a.sum(), pd.read_json('t.json').b[1], pd.date_range('2024-01-01', periods=2, tz='Europe/Berlin')[0])",
        "3 é 2024-01-01 00:00:00+01:00\n",
    ),
    "threads": (
        "import threading\nfound = []\n"
        "all_of_them = [threading.Thread(target=found.append, args=(i,)) for i in range(20)]\n"
        "[thread.start() for thread in all_of_them]; [thread.join() for thread in all_of_them]; print(sorted(found) == list(range(20)))",
        "True\n",
    ),
    "processes": (
        "import multiprocessing as mp\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "with mp.Pool(2) as pool: print(pool.map(abs, [-1, -2]))\n"
        "queue = mp.Queue(); worker = mp.Process(target=queue.put, args=(5,)); worker.start(); print(queue.get()); worker.join()\n"
        "with mp.Manager() as manager: print(manager.dict(a=1)['a'])\n"
        "with ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-3])))\n"
        "lock, value = mp.Lock(), mp.Value('i', 7); print(lock.acquire(), value.value)",
        "[1, 2]\n5\n1\n[3]\nTrue 7\n",
    ),
    "shared memory": (
        "from multiprocessing import shared_memory\n"
        "memory = shared_memory.SharedMemory(create=True, size=1 << 20); memory.buf[0] = 9\n"
        "other = shared_memory.SharedMemory(memory.name); print(other.buf[0]); other.close(); memory.close(); memory.unlink()",
        "9\n",
    ),
    "subprocess": (
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(6*7)'], capture_output=True, text=True).stdout, end='')\n"
        "print(subprocess.check_output('echo $HOME; sort | head -1', shell=True, input=b'b\\na\\n').decode(), end='')",
        "42\n/work\na\n",
    ),
    "asyncio": (
        "import asyncio\nprocess = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n"
        "print((await process.communicate())[0]); await asyncio.sleep(0.01); print(await asyncio.to_thread(abs, -4))",
        "b'hi\\n'\n4\n",
    ),
    "tempfile": (
        "import os, tempfile\nwith tempfile.TemporaryDirectory() as place: open(place + '/x', 'w').write('1'); print(os.listdir(place), place.startswith('/tmp/'))\n"
        "with tempfile.NamedTemporaryFile() as file: file.write(b'x'); print(os.path.exists(file.name))",
        "['x'] True\nTrue\n",
    ),
    "sqlite3": (
        "import sqlite3\ndatabase = sqlite3.connect('d.db'); database.execute('PRAGMA journal_mode = WAL')\n"
        "database.execute('CREATE TABLE t (x)'); database.executemany('INSERT INTO t VALUES (?)', [(i,) for i in range(1000)]); database.commit()\n"
        "print(sqlite3.connect('d.db').execute('SELECT sum(x) FROM t').fetchone())",
        "(499500,)\n",
    ),
    "files": (
        "import os, shutil, pathlib\nos.makedirs('a/b'); open('a/b/f', 'w').write('x'); os.rename('a/b/f', 'g'); shutil.move('g', 'a/g'); shutil.copytree('a', 'c')\n"
        "os.link('a/g', 'a/h'); os.symlink('a', 's'); os.chmod('a/g', 0o600); print(sorted(str(path) for path in pathlib.Path().rglob('[gh]')))\n"
        "print(open('s/g').read()); shutil.make_archive('z', 'gztar', 'a'); shutil.unpack_archive('z.tar.gz', 'u'); print(os.listdir('u') != [])",
        "['a/g', 'a/h', 'c/g']\nx\nTrue\n",
    ),
    "memory maps": (
        "import mmap, numpy as np\nnp.save('m.npy', np.arange(1000)); print(np.load('m.npy', mmap_mode='r')[999])\n"
        "with open('m', 'wb+') as file: file.truncate(4096); view = mmap.mmap(file.fileno(), 4096); view[0] = 65; view.flush(); print(open('m', 'rb').read(1))",
        "999\nb'A'\n",
    ),
    "loopback": (
        "import http.server, threading, urllib.request\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "server.RequestHandlerClass.log_message = lambda *_: None\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "print(urllib.request.urlopen(f'http://localhost:{server.server_port}/').status); server.shutdown()",
        "200\n",
    ),
    "who": (
        "import getpass, os, pathlib, socket, platform\nprint(os.getcwd(), pathlib.Path.home(), getpass.getuser(), socket.gethostname(), platform.system())\n"
        "print(os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1, os.path.exists('/proc/meminfo'), os.urandom(1) != b'')",
        "/work /work user cellpost Linux\nTrue True True True\n",
    ),
    "time and language": (
        "import locale, time, zoneinfo, datetime\nprint(locale.setlocale(locale.LC_ALL, ''), time.tzname != ('', ''))\n"
        "print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('America/New_York')).utcoffset())",
        "C.UTF-8 True\n-1 day, 20:00:00\n",
    ),
    "certificates": ("import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 10)", "True\n"),
    "a compiler": (
        "%%bash\nwhich cc > /dev/null || { echo 3; exit; }\necho 'int main(void) { return 3; }' > a.c && cc a.c -o a && ./a; echo $?",
        "3\n",
    ),
    "bash": ("%%bash\necho one | tr a-z A-Z\n[[ -t 0 ]] || echo no terminal\ncat < /dev/null\nset -o pipefail; false | true || echo piped", "ONE\nno terminal\npiped\n"),
    "a shell line": ("!echo a; test -t 1 && echo terminal", "a\nterminal\n"),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_works(prisoner, name):
    code, expected = CELLS[name]
    module = name if name in ("numpy", "scipy", "pandas") else None
    if module and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    assert prisoner.says(code, timeout=60) == expected


PLOT = """
import matplotlib.pyplot as plt
from matplotlib import font_manager
figure, axes = plt.subplots(figsize=(3, 2))
axes.plot([1, 3, 2], label="$x^2$"); axes.set_title("é 日本"); axes.legend()
plt.savefig("plot.png"); plt.savefig("plot.pdf"); plt.savefig("plot.svg")
print(len(font_manager.findSystemFonts()) > 0)
plt.show()
"""


def test_plots_are_drawn(prisoner):
    pytest.importorskip("matplotlib")
    answer = prisoner.run(PLOT, timeout=120)
    assert answer["status"] == "ok", answer["text"]
    assert answer["stdout"] == "True\n"
    assert [image["mime"] for image in answer["images"]] == ["image/png"]
    assert {file["path"] for file in answer["files"]} == {"plot.png", "plot.pdf", "plot.svg"}
    assert "font cache" not in prisoner.run(PLOT, timeout=60)["stderr"]


def test_fonts_of_all_scripts_are_found(prisoner):
    outside = os.popen("fc-list :lang=zh family").read()
    if not outside:
        pytest.skip("no such font is installed")
    assert prisoner.says("!fc-list :lang=zh family") == outside


def test_a_gigabyte_is_written_and_read(prisoner):
    """Twice as much as the kernel may use of memory."""
    code = """
    import hashlib, os
    block = bytes(range(256)) * 4096
    written, read = hashlib.sha1(), hashlib.sha1()
    with open("big", "wb") as file:
        for _ in range(1024):
            file.write(block)
            written.update(block)
    with open("big", "rb") as file:
        while data := file.read(1 << 20): read.update(data)
    print(os.path.getsize("big"), read.digest() == written.digest())
    os.remove("big")
    """
    prisoner.still_works()
    answer = prisoner.run(code, timeout=120)
    assert answer["status"] == "ok", answer["text"]
    assert answer["stdout"] == f"{1 << 30} True\n"
    assert answer["kernel"]["state"] == "kept"


def test_scikit_learn_fits(prisoner):
    pytest.importorskip("sklearn")
    code = """
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    X, y = make_classification(200, random_state=0)
    print(RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y).score(X, y) > 0.9)
    """
    assert prisoner.says(code, timeout=120) == "True\n"


@pytest.mark.parametrize("module", ["seaborn", "sympy", "networkx", "PIL", "openpyxl", "requests", "psutil", "lxml", "statsmodels", "numba", "torch"])
def test_the_stock_can_be_imported(prisoner, module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    assert prisoner.says(f"import {module}; print(1)", timeout=120) == "1\n"


def test_modules_of_ones_own_are_found(prisoner):
    prisoner.run("open('mine.py', 'w').write('def f(): return 5')")
    assert prisoner.says("import mine; print(mine.f(), mine.__file__)") == "5 /work/mine.py\n"


@pytest.mark.parametrize("program, code, expected", [("Rscript", "cat(sum(1:10), tempdir() != '')", "55 TRUE"), ("octave-cli", "disp(6*7)", "42\n")])
def test_other_languages_run(prisoner, program, code, expected):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    flag = "-e" if program == "Rscript" else "--eval"
    run = f"import subprocess; print(subprocess.run([{program!r}, {flag!r}, {code!r}], capture_output=True, text=True).stdout, end='')"
    assert prisoner.says(run, timeout=60) == expected


def test_numeric_threads_follow_the_limit(guarded):
    task = "threads-of-one"
    assert guarded.put(task, limits={"cpus": 1}).status_code in (200, 201)
    try:
        code = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
        assert guarded.post(task, code)["stdout"] == "1 1\n"
    finally:
        guarded.delete(task)
