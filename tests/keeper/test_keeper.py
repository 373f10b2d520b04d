from conftest import wait_for

SLEEPER = "echo up; exec sleep 600"


def test_starts_one_kernel_and_tells_it_again(keeper):
    keeper.script(SLEEPER)
    keeper.start()
    keeper.task()
    first = keeper.ask(verb="start", task="demo")
    again = keeper.ask(verb="start", task="demo")
    assert first["fresh"] and first["alive"] and first["generation"] == 1
    assert not again["fresh"]
    assert [again[key] for key in ("id", "pid", "pid_start")] == [first[key] for key in ("id", "pid", "pid_start")]
    row = keeper.row(first["id"])
    assert (row["pid"], row["pid_start"], row["ended_at"]) == (first["pid"], first["pid_start"], None)
    assert row["directory"] == first["directory"]
    keeper.stop("demo")
    assert keeper.row(first["id"])["ending"] == "stopped"
