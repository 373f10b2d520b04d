"""Kernels that are ready before a task asks for one."""

import concurrent.futures
import json
import os
import pathlib
import signal

import pytest
from conftest import keeper_of_ones_own, processes, wait_for
from facts import difference, facts, set_up
from warm import ready_spares, spares, warm_keeper, was_forked


@pytest.fixture(scope="module", params=["off", "auto"])
def warm(request):
    """Shared by the tests that leave it as it was: each uses tasks of its own."""
    with warm_keeper(request.param, spares=2) as made:
        yield made


def test_a_task_takes_one_and_cannot_tell(warm, start):
    ready = ready_spares(warm, 2)
    given, executed = start(warm, "given"), start(warm, "executed", strict=True)
    assert given.told["id"] in ready and given.told["fresh"] and given.told["generation"] == 1
    assert set_up(given) == "True\n" and set_up(executed) == "None\n"
    one, other = facts(given, warm, "given"), facts(executed, warm, "executed")
    assert {name: difference(one[name], value) for name, value in other.items() if one[name] != value} == {}


def test_it_gets_its_row_when_it_is_taken(warm, start):
    for spare in ready_spares(warm, 2):
        assert warm.sql("SELECT * FROM kernels WHERE id = ?", spare) == []
    kernel = start(warm, "row")
    row = warm.row(kernel.told["id"])
    assert (row["task"], row["pid"], row["ended_at"], row["generation"]) == ("row", kernel.told["pid"], None, 1)
    assert row["directory"] == kernel.told["directory"]
    assert warm.ask(verb="status", kernel=kernel.told["id"])["alive"]


def test_its_workspace_is_the_tasks(warm, start):
    ready_spares(warm)
    warm.task("place", kernelspec="python3")
    (warm.files("place")).mkdir(parents=True)  # as the app makes it, empty
    kernel = start(warm, "place")
    kernel.run("open('a.txt', 'w').write('by the kernel'); import os; os.mkdir('below')")
    assert (warm.files("place") / "a.txt").read_text() == "by the kernel"
    (warm.files("place") / "b.txt").write_text("by others")
    assert kernel.run("print(open('b.txt').read(), open(os.path.expanduser('~/b.txt')).read())") == "by others by others\n"
    assert kernel.told["id"] not in spares(warm)
    assert warm.files("place").stat().st_uid == warm.files("place").parent.stat().st_uid


def test_what_is_ready_is_told_to_the_app(warm, start):
    def told():
        return json.loads((warm.run / "warm.json").read_text())

    ready_spares(warm, 2)
    wait_for(lambda: told()["spares"] == {"wanted": 2, "ready": 2}, "two")
    assert told()["enabled"] and "numpy" in told()["preload"]
    assert told()["zygotes"] == [{"kernelspec": "python3", "state": "ready", "note": ""}]


def test_a_task_that_has_files_gets_a_kernel_of_its_own(warm, start):
    ready = ready_spares(warm, 2)
    warm.task("filled", kernelspec="python3")
    warm.files("filled").mkdir(parents=True)
    (warm.files("filled") / "kept.txt").write_text("kept")
    kernel = start(warm, "filled")
    assert kernel.told["id"] not in ready and was_forked(kernel)
    assert kernel.run("print(open('kept.txt').read())") == "kept\n"


@pytest.mark.parametrize("settings", [{"strict": True}, {"env": {"A": "b"}}, {"limits": {"memory": 1 << 30}}])
def test_a_task_that_wants_something_special_gets_a_kernel_of_its_own(warm, start, settings):
    ready = ready_spares(warm, 2)
    kernel = start(warm, "special-" + "-".join(settings), **settings)
    assert kernel.told["id"] not in ready


def test_a_restarted_task_takes_another(warm, start):
    ready_spares(warm, 2)
    kernel = start(warm, "again")
    kernel.run("x = 1")
    ready = ready_spares(warm, 2)
    second = start(warm, "again", verb="restart")
    assert second.told["id"] in ready and second.told["generation"] == 2
    assert second.run("print(x)") == "NameError"


def test_spares_are_made_again(warm, start):
    for number in range(4):
        ready = ready_spares(warm, 2)
        assert start(warm, f"next-{number}").told["id"] in ready
    assert len(spares(warm)) <= 2


def test_twenty_tasks_at_the_same_moment_take_each_its_own(start):
    with warm_keeper(spares=5, spare_age=0) as keeper:
        ready = ready_spares(keeper, 5)
        tasks = [keeper.task(f"t{number}", kernelspec="python3") for number in range(20)]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            told = list(pool.map(lambda task: keeper.ask(verb="start", task=task), tasks))
        ids = [kernel["id"] for kernel in told]
        assert len(set(ids)) == 20 and set(ready) <= set(ids)
        for task, kernel in zip(tasks, told):
            client = start(keeper, task)
            assert client.told["id"] == kernel["id"]
            assert client.run("import os; print(os.getcwd())") == f"{keeper.files(task)}\n"


def test_spares_give_way_to_tasks(start):
    with warm_keeper(spares=3, max_kernels=3) as keeper:
        ready_spares(keeper, 3)
        for number in range(3):
            start(keeper, f"t{number}", strict=True)
        wait_for(lambda: spares(keeper) == [], "the end of the spares")
        keeper.stop("t0")
        ready_spares(keeper, 1)
        assert len(spares(keeper)) == 1


def test_one_that_does_not_answer_is_not_given(start):
    with warm_keeper(spares=2) as keeper:
        oldest = min(ready_spares(keeper, 2))
        stopped = [pid for pid, (_, _, line) in processes().items() if f"kernels/{oldest}/connection" in line]
        os.kill(stopped[0], signal.SIGSTOP)
        kernel = start(keeper, "demo")
        assert kernel.told["id"] != oldest and kernel.run("print(1)") == "1\n"
        assert "it does not answer" in keeper.log.read_text()
        wait_for(lambda: oldest not in spares(keeper), "its end")


def test_one_that_has_ended_is_replaced(start):
    with warm_keeper(spares=1) as keeper:
        first = ready_spares(keeper)[0]
        os.kill(*[pid for pid, (_, _, line) in processes().items() if f"kernels/{first}/connection" in line], 9)
        wait_for(lambda: ready_spares(keeper) != [first], "another")
        assert start(keeper, "demo").run("print(1)") == "1\n"


def test_they_do_not_grow_old():
    with warm_keeper(spares=1, spare_age=1) as keeper:
        first = ready_spares(keeper)
        wait_for(lambda: (now := ready_spares(keeper)) and now != first, "a younger one")


def test_nothing_is_left_of_them_when_the_keeper_ends():
    with warm_keeper(spares=2) as keeper:
        ready_spares(keeper, 2)
        keeper.end()
        wait_for(lambda: not [line for _, _, line in processes().values() if str(keeper.directory) in line], "their end")
        keeper.start(spares=0)
        assert spares(keeper) == [] and keeper.leftovers() == []


def test_none_are_made_without_a_zygote():
    with keeper_of_ones_own() as keeper:
        keeper.start(warm="off", spares=2)
        keeper.task("demo", kernelspec="python3")
        keeper.ask(verb="start", task="demo")
        assert spares(keeper) == []
        assert pathlib.Path(keeper.state / "spares").is_dir()
