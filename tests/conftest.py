"""What the tests of the whole share: an instance for the session, instances of
one's own, and a check after each test that the service still stands."""

import itertools

import pytest

from tests.instance import SETTINGS, Instance

numbers = itertools.count()
COLD = {"kernels.warm": "off"}


@pytest.fixture(scope="session")
def session_instance():
    with Instance() as instance:
        yield instance


@pytest.fixture
def service(session_instance, request):
    """The session's instance. Nothing that a test sends may end its processes."""
    own_task = request.getfixturevalue("task") if "task" in request.fixturenames else None
    before = {name: session_instance.pid(name) for name in ("app", "keeper", "nginx")}
    yield session_instance
    response = session_instance.get("/healthz")
    assert response.status_code == 200, "the app does not answer any more"
    after = {name: session_instance.pid(name) for name in before}
    assert after == before
    if own_task is not None:  # its kernel would stay until the session's end
        session_instance.delete(own_task)
    for name, pid in before.items():
        with open(f"/proc/{pid}/stat", encoding="latin-1") as stat:
            assert stat.read().rpartition(")")[2].split()[0] != "Z", f"{name} ended"


@pytest.fixture
def task(request):
    """A task id that no other test has. Its kernel goes with the test."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    name = f"t{next(numbers)}-{name}"[:100].rstrip("-")
    yield name
    if "service" in request.fixturenames:
        request.getfixturevalue("session_instance").delete(name)


@pytest.fixture
def make_instance():
    """Starts an instance of the test's own: make_instance({"limits.queue": 2}).
    Its kernels are executed, for most of these instances live too shortly for
    copies; the session's instance has them."""
    made = []

    def make(settings=None, start=True, **more):
        instance = Instance(COLD | SETTINGS | (settings or {}), **more)
        made.append(instance)
        if start:
            instance.up()
        return instance

    yield make
    for instance in made:
        instance.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows what the processes said."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, Instance):
                report.sections.append(("logs of the instance", value.logs()))
