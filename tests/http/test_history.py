"""The history, searched: filters, CSV, figures by the hour, one run's request."""

import csv
import io

import pytest

from tests.http.problems import check_problem


@pytest.fixture
def runs(service, task):
    """A task with four runs: fine, KeyError, fine, ZeroDivisionError."""
    codes = ["value = {}", "value['x']", "print('MARK')", "=1 / 0".lstrip("=")]
    return [service.post(task, code, section="Part", tags=["t"]) for code in codes]


def found(service, task, **query):
    answer = service.get("/v1/runs", params={"task": task} | query)
    assert answer.status_code == 200, answer.text
    return [run["code"] for run in answer.json()["runs"]]


def test_runs_are_found_by_any_conditions_together(service, task, runs):
    assert found(service, task) == ["1 / 0", "print('MARK')", "value['x']", "value = {}"]
    assert found(service, task, status="failed") == ["1 / 0", "value['x']"]
    assert found(service, task, error="KeyError") == ["value['x']"]
    assert found(service, task, text="mark") == ["print('MARK')"]
    assert found(service, task, text="%") == []
    assert found(service, task, status="failed", before=runs[3]["run"], limit=1) == ["value['x']"]
    assert found(service, task, since="2000-01-01", until="2001-01-01T00:00:00Z") == []
    assert found(service, task, since="2099-01-01") == []
    times = [service.get(f"/v1/runs/{run['run']}/request").json()["queued"] for run in runs]
    assert found(service, task, since=times[1], until=times[3]) == ["print('MARK')", "value['x']"]
    shifted = times[1].replace("Z", "+00:00")
    assert found(service, task, since=shifted, until=times[2], status="error") == ["value['x']"]
    of_task = service.get(f"/v1/tasks/{task}/runs", params={"text": "mark", "status": "ok"}).json()["runs"]
    assert [run["code"] for run in of_task] == ["print('MARK')"]


@pytest.mark.parametrize(
    "query, word",
    [
        ("since=yesterday", "since"),
        ("until=2026-13-01", "until"),
        ("since=2026-01-01T00:00:00", "since"),
        ("since=2026-01-01T00:00:00%2B9", "since"),
        ("status=good", "status"),
        ("task=a%2Fb", "task"),
        ("before=1", "before"),
        ("color=red", "color"),
    ],
)
def test_wrong_conditions_are_refused_by_name(service, query, word):
    check_problem(service.get(f"/v1/runs?{query}"), 422, word)
    check_problem(service.get(f"/v1/runs.csv?{query}"), 422, word)


def test_one_run_tells_what_it_was_asked(service, task, runs):
    asked = service.get(f"/v1/runs/{runs[1]['run']}/request").json()
    assert asked["code"] == "value['x']" and asked["task"] == task and asked["number"] == 2
    assert asked["section"] == "Part" and asked["tags"] == ["t"] and asked["timeout"] == 60.0
    assert asked["caller"] == "anonymous" and asked["address"] == "127.0.0.1" and not asked["silent"]
    assert asked["queued"] <= asked["started"] <= asked["ended"] and asked["stop_asked"] is None
    check_problem(service.get("/v1/runs/01890a5d-ac96-774b-bcce-b302099a8057/request"), 404)


def test_csv_has_every_run_and_no_formula(service, task):
    codes = ['print("a,b")\nprint("é")', "=1+1 # formula", "-1", "'quoted'"]
    for code in codes:
        service.post(task, code)
    response = service.get("/v1/runs.csv", params={"task": task})
    assert response.headers["Content-Type"].startswith("text/csv") and "runs.csv" in response.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
    assert [row["code"] for row in rows] == ["'quoted'", "'-1", "'=1+1 # formula", codes[0]]
    assert rows[2]["error"].startswith("SyntaxError") and rows[2]["status"] == "error"
    assert [int(row["number"]) for row in rows] == [4, 3, 2, 1]
    limited = service.get("/v1/runs.csv", params={"task": task, "limit": 2}).text
    assert len(list(csv.DictReader(io.StringIO(limited)))) == 2


def test_csv_goes_over_pages(service, task, session_instance):
    """More runs than a page holds; `silent` ones are quick."""
    for number in range(510):
        assert service.send(task, str(number), silent=True, wait=number % 50 == 49).status_code in (200, 202)
    text = service.get("/v1/runs.csv", params={"task": task}).text
    numbers = [int(row["number"]) for row in csv.DictReader(io.StringIO(text))]
    assert numbers == list(range(510, 0, -1))


def test_hours_count_and_time_the_runs(service, task, runs):
    hours = service.get("/v1/hours", params={"task": task}).json()["hours"]
    assert sum(hour["runs"] for hour in hours) == 4 and sum(hour["failed"] for hour in hours) == 2
    for hour in hours:
        assert hour["at"].endswith(":00:00.000000Z") and 0 < hour["median_ms"] <= hour["p95_ms"]
    assert service.get("/v1/hours", params={"task": task, "until": "2001-01-01"}).json() == {"hours": []}
