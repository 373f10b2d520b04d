"""The app's own work grows with what a cell writes, not with its square: a
thousand times as much costs a thousand times the processor time, or a little
more. Counted in the app's time, so that a busy machine changes nothing."""

import os

import pytest

TICK = 1 / os.sysconf("SC_CLK_TCK")

# How a cell is made of a number, and the number for which a square would take
# minutes.
CELLS = {
    "blank lines": (lambda n: "\n" * n + "1/0", 200000),
    "blank lines, %time": (lambda n: "\n" * n + "%time 1/0", 100000),
    "blank lines, %%time": (lambda n: "%%time\n" + "\n" * n + "1/0", 100000),
    "statements": (lambda n: "x=1\n" * n + "1/0", 5000),
    "printed lines": (lambda n: f"for i in range({n}): print(i)\n1/0", 300000),
    "equal lines": (lambda n: f"for i in range({n}): print('same')\n1/0", 300000),
    "redrawn lines": (lambda n: f"for i in range({n}): print('\\r%d' % i, end='')", 100000),
    "both streams": (lambda n: f"import sys\nfor i in range({n}): print(i, flush=True); print(i, file=sys.stderr)", 3000),
    "results": (lambda n: f"for i in range({n}): display(i)", 3000),
    "rows of HTML": (lambda n: "display({'text/html': '<table>' + '<tr><td>x<td>y' * %d}, raw=True)" % n, 100000),
    "a message of lines": (lambda n: f"raise ValueError('x\\n' * {n})", 1000000),
    "lines of a traceback": (lambda n: "class E(Exception):\n def _render_traceback_(self):\n"
                                       f"  return ['line %d' % i for i in range({n})]\nraise E()", 100000),
}


@pytest.fixture(scope="module")
def growing_task(session_instance):
    yield "growing"
    session_instance.delete("growing")


def processor_seconds(service):
    with open(f"/proc/{service.pid('app')}/stat", encoding="ascii") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13])) * TICK


@pytest.mark.parametrize("what", CELLS)
def test_work_grows_with_the_length(service, growing_task, what):
    make, many = CELLS[what]

    def cost(number):
        before = processor_seconds(service)
        answer = service.post(growing_task, make(number), images="link", timeout=120)
        assert answer["status"] in ("ok", "error"), answer["text"]
        return processor_seconds(service) - before

    cost(1)
    few, lots = cost(many // 1000 or 1), cost(many)
    assert lots < 1000 * max(few, TICK) and lots < 20, (few, lots)
