"""Cells that no kernel runs: none of them is told to have gone well."""

from tests.http.problems import check_problem

WHERE = "line 2, column 2 (byte 6)"


def test_code_with_a_nul_is_refused(service, task):
    response = service.send(task, "x=1\ny\0\nprint(1)")
    problem = check_problem(response, 422, WHERE)
    assert problem["field"] == "code"
    assert service.runs(task) == []


def test_bare_code_with_a_nul_is_refused(service, task):
    response = service.request(
        "POST",
        f"/v1/tasks/{task}/execute",
        data=b"x=1\ny\0\nprint(1)",
        headers={"Content-Type": "text/x-python"},
    )
    problem = check_problem(response, 422, WHERE)
    assert problem["field"] == "code"
    assert service.runs(task) == []


def test_init_code_with_a_nul_is_refused(service, task):
    problem = check_problem(service.put(task, init_code="x=1\ny\0"), 422, WHERE)
    assert problem["field"] == "init_code"


def test_a_kernel_that_has_lost_its_handlers(service, task):
    service.post(task, "get_ipython().kernel.shell_handlers.clear()")
    answer = service.post(task, "print(1)")
    assert (answer["status"], answer["error"]["ename"]) == ("error", "NoReply")
    assert answer["stdout"] == "" and answer["execution_count"] is None
    assert "restart" in answer["error"]["hint"]
