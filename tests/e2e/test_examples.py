"""The adapter for MathModelAgent, within as much of that program as it touches."""

import asyncio
import importlib.util
import sys
import types

import pytest

from tests.instance import ROOT


class Record:
    """Keeps what it was made with, and what is asked of it."""

    def __init__(self, **values):
        self.__dict__.update(values)
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


class Base:
    """What the adapter inherits of the program's own class."""

    def __init__(self, task_id, work_dir, notebook_serializer):
        self.task_id, self.work_dir, self.notebook_serializer = task_id, work_dir, notebook_serializer
        self.section_output, self.last_created_images, self.pushed = {}, set(), []

    def add_section(self, name):
        self.section_output.setdefault(name, {"content": [], "images": []})

    async def _push_to_websocket(self, shown):
        self.pushed.append(shown)


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def adapter(monkeypatch, service):
    for name in ("app", "app.tools", "app.schemas"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    base, response = types.ModuleType("app.tools.base_interpreter"), types.ModuleType("app.schemas.response")
    base.BaseCodeInterpreter = Base
    response.ResultModel = response.StdErrModel = Record
    monkeypatch.setitem(sys.modules, base.__name__, base)
    monkeypatch.setitem(sys.modules, response.__name__, response)
    monkeypatch.setenv("CELLPOST", service.url)
    load("app.tools.cellpost", ROOT / "clients" / "python" / "cellpost.py")
    yield load("app.tools.mathmodelagent", ROOT / "examples" / "mathmodelagent.py")
    for name in ("app.tools.cellpost", "app.tools.mathmodelagent"):
        sys.modules.pop(name)


def test_mathmodelagent(service, task, adapter, tmp_path):
    async def work():
        (tmp_path / "data.csv").write_text("x\n1\n2\n")
        one = adapter.CellpostCodeInterpreter(task, str(tmp_path), Record())
        await one.initialize()
        one.add_section("eda")
        code = (
            "import pandas as pd, matplotlib.pyplot as plt\n"
            "pd.read_csv('data.csv').plot(); plt.savefig('eda.png'); plt.show()\nprint('done')"
        )
        text, failed, message = await one.execute_code(code)
        assert "done" in text and not failed and message == ""
        assert (tmp_path / "eda.png").read_bytes().startswith(b"\x89PNG")
        assert await one.get_created_images("eda") == ["eda.png"] and await one.get_created_images("eda") == []
        assert [shown.format for shown in one.pushed[0]] == ["text", "png"]
        assert [call[0] for call in one.notebook_serializer.calls] == ["add_code_cell_to_notebook", "add_image_to_notebook"]
        text, failed, message = await one.execute_code("1/0")
        assert failed and "ZeroDivisionError" in message
        assert [run["section"] for run in service.runs(task)] == ["eda", "eda"]
        await one.cleanup()

    asyncio.run(work())
    assert service.runs(task) == []  # the task is gone
