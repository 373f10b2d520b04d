"""What bad requests get: a problem document that names the fault, and nothing
runs."""

import concurrent.futures
import http.client
import json
import socket

import pytest

from tests import fastcgi
from tests.http.problems import check_no_cors, check_problem
from tests.instance import JSON, wait_for

PYTHON = {"Content-Type": "text/x-python"}


def send(service, task, body, headers=JSON):
    if isinstance(body, str):
        body = body.encode()
    return service.request("POST", f"/v1/tasks/{task}/execute", data=body, headers=headers)


def assert_nothing_ran(service, task):
    assert service.get(f"/v1/tasks/{task}").status_code == 404
    assert not service.task_directory(task).exists()


# body, status, word of the detail, field
FAULTS = {
    "empty": ("", 400, "empty", None),
    "not JSON": ("print(1)", 400, "JSON", None),
    "cut short": ('{"code":"1', 400, "JSON", None),
    "not an object": ('["code"]', 400, "object", None),
    "a string": ('"1"', 400, "object", None),
    "null": ("null", 400, "object", None),
    "trailing text": ('{"code":"1"} {}', 400, "JSON", None),
    "invalid UTF-8": (b'{"code":"\xff"}', 400, "JSON", None),
    "NaN": ('{"code":"1","timeout":NaN}', 400, "JSON", None),
    "a key twice": ('{"code":"1","code":"2"}', 400, "JSON", None),
    "nested 10,000 deep": ('{"code":' + "[" * 10000 + "]" * 10000 + "}", 400, "JSON", None),
    "code missing": ("{}", 422, "missing", "code"),
    "code a number": ('{"code":1}', 422, "string", "code"),
    "code null": ('{"code":null}', 422, "string", "code"),
    "unknown field": ('{"code":"1","tiemout":3}', 422, '"timeout"', "tiemout"),
    "unknown field like nothing": ('{"code":"1","xyzzy":3}', 422, "xyzzy", "xyzzy"),
    "timeout a string": ('{"code":"1","timeout":"3"}', 422, "number", "timeout"),
    "timeout negative": ('{"code":"1","timeout":-3}', 422, "number", "timeout"),
    "timeout over the most": ('{"code":"1","timeout":1000000}', 422, "timeout", None),
    "images wrong": ('{"code":"1","images":"maybe"}', 422, '"inline", "link"', "images"),
    "stdin wrong": ('{"code":"1","stdin":"x"}', 422, "array", "stdin"),
    "tags wrong": ('{"code":"1","tags":["a,b"]}', 422, "tags", "tags"),
    "wait wrong": ('{"code":"1","wait":"no"}', 422, "true or false", "wait"),
    "silent wrong": ('{"code":"1","silent":0}', 422, "true or false", "silent"),
    "text_limit wrong": ('{"code":"1","text_limit":0}', 422, "whole number", "text_limit"),
    "output_bytes over the configured": ('{"code":"1","output_bytes":99999999}', 422, "output_bytes", None),
    "traceback wrong": ('{"code":"1","traceback":"long"}', 422, '"plain"', "traceback"),
    "section two lines": ('{"code":"1","section":"a\\nb"}', 422, "one line", "section"),
    "section with a tab": ('{"code":"1","section":"a\\tb"}', 422, "control", "section"),
    "section with DEL": ('{"code":"1","section":"a\\u007fb"}', 422, "control", "section"),
    "section with a line separator": ('{"code":"1","section":"a\\u2028b"}', 422, "one line", "section"),
    "section turned around": ('{"code":"1","section":"a\\u202eb"}', 422, "direction", "section"),
    "section of nothing but spaces": ('{"code":"1","section":"   "}', 422, "white space", "section"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_body_is_refused_by_name(service, task, name):
    body, status, word, field = FAULTS[name]
    response = send(service, task, body)
    check_problem(response, status, word, field)
    check_no_cors(response)
    assert_nothing_ran(service, task)


def test_strict_is_yes_or_no(service, task):
    check_problem(service.put(task, strict="yes"), 422, "strict")
    assert service.put(task, strict=True).status_code == 201
    assert service.get(f"/v1/tasks/{task}").json()["settings"]["strict"] is True
    assert service.post(task, "import gc; gc.get_freeze_count()")["result"]["text/plain"] == "0"  # not a copy


def test_an_unknown_field_is_told_the_right_one(service, task):
    problem = check_problem(send(service, task, '{"code":"1","tiemout":3}'), 422, "tiemout", "tiemout")
    assert problem["did_you_mean"] == "timeout"


def test_ten_megabytes_of_code_are_too_much(service, task):
    check_problem(send(service, task, json.dumps({"code": "#" * 10_000_000})), 413)
    assert_nothing_ran(service, task)


def test_a_body_over_the_limit_is_refused_by_nginx_in_the_same_form(service, task):
    problem = check_problem(send(service, task, b" " * (17 << 20)), 413)
    assert problem["type"] == "urn:cellpost:problem:too-large"
    assert_nothing_ran(service, task)


def test_a_body_over_the_limit_is_refused_by_the_app_before_it_is_read(service, task):
    response = fastcgi.request(
        service.fcgi_socket, "POST", f"/v1/tasks/{task}/execute", b"", CONTENT_LENGTH=str(17 << 20)
    )
    status, headers, body = fastcgi.parse(response)
    assert status == 413 and json.loads(body)["status"] == 413


@pytest.mark.parametrize("announced, word", [("100", "ended after 12"), ("-1", "number"), ("9" * 30, "number")])
def test_a_body_that_is_not_as_long_as_announced(service, task, announced, word):
    response = fastcgi.request(
        service.fcgi_socket, "POST", f"/v1/tasks/{task}/execute", b'{"code":"1"}', CONTENT_LENGTH=announced
    )
    status, headers, body = fastcgi.parse(response)
    assert status == 400
    assert word in json.loads(body)["detail"]
    assert_nothing_ran(service, task)


def test_a_client_that_cuts_its_body_short_runs_nothing(service, task):
    head = f"POST /v1/tasks/{task}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as peer:
        peer.sendall((head + 'Content-Length: 100\r\n\r\n{"code":"1"}').encode())
        peer.shutdown(socket.SHUT_WR)
        peer.settimeout(30)
        answer = peer.recv(65536)
    assert b" 200 " not in answer
    assert_nothing_ran(service, task)


BAD_IDS = ["..%2Fx", "a%2Fb", "%2E", "%2E%2E", ".x", "-x", "x" * 200, "%C3%A9", "a%20b", "a%0Ab", "a..b", "%00", "a%", "%zz"]


@pytest.mark.parametrize("name", BAD_IDS)
def test_a_bad_task_id_is_a_bad_request(service, name):
    # Not through `requests`, which mends addresses on its own.
    with socket.create_connection(("127.0.0.1", service.port)) as peer:
        peer.settimeout(30)
        peer.sendall(
            f"POST /v1/tasks/{name}/execute HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nContent-Length: 12\r\n\r\n"
            '{"code":"1"}'.encode()
        )
        answer = b""
        while more := peer.recv(65536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"problem+json" in answer and b'"status":400' in answer


@pytest.mark.parametrize("path", ["/v1/tasks/a/b/execute", "/v1/tasks/../x/execute", "/v1/tasks/./execute"])
def test_slashes_in_a_task_id_are_a_bad_request(service, path):
    status, _, body = fastcgi.parse(fastcgi.request(service.fcgi_socket, "POST", path, b'{"code":"1"}'))
    assert status == 400 and json.loads(body)["status"] == 400


def test_a_bad_run_id_is_a_bad_request(service):
    check_problem(service.get("/v1/runs/1"), 400, "UUID")


def test_an_unknown_run_is_not_found(service):
    check_problem(service.get("/v1/runs/01890a5d-ac96-774b-bcce-b302099a8057"), 404)
    check_problem(service.request("DELETE", "/v1/runs/01890a5d-ac96-774b-bcce-b302099a8057"), 404)


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v2/tasks", "/v1/tasks/", "/v1/tasks/a/b", "/v1/nothing"])
def test_an_unknown_path_is_not_found(service, path):
    response = service.get(path)
    assert response.status_code in (400, 404)
    if path.startswith("/v1/"):
        check_problem(response, response.status_code)


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("GET", "/v1/tasks/x/execute", "POST"),
        ("PUT", "/v1/tasks/x/execute", "POST"),
        ("OPTIONS", "/v1/tasks/x/execute", "POST"),
        ("POST", "/v1/tasks", "GET, HEAD"),
        ("PATCH", "/v1/tasks/x", "PUT, GET, HEAD, DELETE"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(service, method, path, allowed):
    response = service.request(method, path)
    check_problem(response, 405)
    assert response.headers["Allow"] == allowed
    check_no_cors(response)


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/jsonp",
        "text/x-python-script",
    ],
)
def test_only_two_content_types_are_taken(service, task, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    check_problem(send(service, task, '{"code":"1"}', headers), 415, "application/json")
    assert_nothing_ran(service, task)


def test_bare_code_takes_its_fields_from_the_query(service, task):
    path = f"/v1/tasks/{task}/execute?timeout=0.5&section=Wait&images=link"
    answer = service.request("POST", path, data=b"import time; time.sleep(60)", headers=PYTHON).json()
    assert answer["status"] == "timeout"
    (section,) = service.get(f"/v1/tasks/{task}/sections").json()["sections"]
    assert section["section"] == "Wait"
    key = PYTHON | {"Idempotency-Key": "k"}
    for seconds, status in ((20, 200), (20, 200), (21, 409)):
        path = f"/v1/tasks/{task}/execute?timeout={seconds}"
        assert service.request("POST", path, data=b"1", headers=key).status_code == status


@pytest.mark.parametrize(
    "query, body, headers, word",
    [
        ("timeout=soon", b"1", PYTHON, "number"),
        ("wait=1", b"1", PYTHON, "true or false"),
        ("section=%ff%0a", b"1", PYTHON, "line"),
        ("code=1", b"1", PYTHON, "unknown query parameter"),
        ("timeout=5", b'{"code":"1"}', JSON, "JSON body"),
    ],
)
def test_wrong_query_parameters_are_named(service, task, query, body, headers, word):
    response = service.request("POST", f"/v1/tasks/{task}/execute?{query}", data=body, headers=headers)
    check_problem(response, 422, word)
    assert_nothing_ran(service, task)


def test_a_form_cannot_change_a_task(service, task):
    service.put(task)
    for path in ("interrupt", "restart"):
        response = service.request(
            "POST", f"/v1/tasks/{task}/{path}", data="x=1", headers={"Content-Type": "application/x-www-form-urlencoded"}
        )
        check_problem(response, 415)


def test_python_source_is_a_body(service, task):
    response = send(service, task, "x = 'é'\nprint(x)\n", PYTHON)
    assert response.status_code == 200 and response.json()["stdout"] == "é\n"
    check_problem(send(service, task, b"x = '\xff'", PYTHON), 400, "UTF-8")
    check_problem(send(service, task, b"", PYTHON), 400, "empty")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "169.254.169.254", "localhost:x"])
def test_a_foreign_host_is_misdirected(service, task, host):
    headers = JSON | {"Host": host}
    response = send(service, task, '{"code":"1"}', headers)
    assert response.status_code in (400, 421)
    status, _, body = fastcgi.parse(
        fastcgi.request(
            service.fcgi_socket, "POST", f"/v1/tasks/{task}/execute", b'{"code":"1"}', HTTP_HOST=host
        )
    )
    assert status == 421 and json.loads(body)["type"] == "urn:cellpost:problem:misdirected"
    assert_nothing_ran(service, task)


def test_a_foreign_host_gets_a_problem_from_nginx_too(service):
    for path in ("/v1/tasks", "/tasks/", "/"):
        check_problem(service.get(path, headers={"Host": "evil.example"}), 421, "hosts")


def test_a_request_without_host_is_misdirected(service):
    status, _, _ = fastcgi.parse(fastcgi.request(service.fcgi_socket, "GET", "/healthz", HTTP_HOST=None))
    assert status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1"])
def test_a_page_of_another_origin_cannot_run_code(service, task, origin):
    response = send(service, task, '{"code":"1"}', JSON | {"Origin": origin})
    check_problem(response, 403, "origin")
    check_no_cors(response)
    assert_nothing_ran(service, task)


def test_our_own_pages_can(service, task):
    response = send(service, task, '{"code":"1"}', JSON | {"Origin": service.url})
    assert response.status_code == 200
    check_no_cors(response)


@pytest.mark.parametrize("path", ["/v1/tasks?colour=red", "/v1/tasks?limit=0", "/v1/tasks?limit=x", "/v1/runs?status=odd"])
def test_a_query_is_checked_like_a_body(service, path):
    check_problem(service.get(path), 422)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é".encode().decode("latin-1")])
def test_a_bad_idempotency_key_is_refused(service, task, key):
    check_problem(send(service, task, '{"code":"1"}', JSON | {"Idempotency-Key": key}), 400, "Idempotency-Key")
    assert_nothing_ran(service, task)


def test_bad_settings_of_a_task_are_refused(service, task):
    check_problem(service.put(task, kernelspce="python3"), 422, '"kernelspec"', "kernelspce")
    check_problem(service.put(task, env={"A B": "1"}), 422, "environment", "env")
    check_problem(service.put(task, env={"A": 1}), 422, "environment", "env")
    check_problem(service.put(task, kernelspec="no-such-spec"), 422, "no-such-spec")
    assert_nothing_ran(service, task)


def test_every_answer_can_be_traced(service):
    response = service.get("/v1/nothing")
    assert response.headers["X-Request-Id"] == response.json()["request"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    log = (service.state / "log" / "app.log").read_text()
    assert response.json()["request"] in log


def test_a_client_cannot_choose_the_request_id_nor_the_address(service, task):
    headers = JSON | {"Request-Id": "forged", "Remote-Addr": "6.6.6.6", "X-Forwarded-For": "6.6.6.6"}
    response = send(service, task, '{"code":"1"}', headers)
    assert response.headers["X-Request-Id"] != "forged"


def test_a_log_line_cannot_be_forged(service):
    status, _, _ = fastcgi.parse(
        fastcgi.request(service.fcgi_socket, "GET", "/v1/x\n2026-11-29T00:00:00.000000Z info text=forged")
    )
    assert status == 404
    lines = (service.state / "log" / "app.log").read_text().splitlines()
    assert not any(line.endswith("info text=forged") for line in lines)


def test_hostile_parameters_do_not_end_the_app(service):
    for uri in ("", "x", "/" * 5000, "/%", "/v1/tasks?" + "&".join("a=1" for _ in range(100)), "/" + "a" * 60000):
        status, _, body = fastcgi.parse(fastcgi.request(service.fcgi_socket, "GET", uri))
        assert 400 <= status < 500, uri[:50]
        assert json.loads(body)["status"] == status


def test_hundreds_of_half_requests_leave_the_service_usable(service):
    peers = []
    for _ in range(100):
        peer = socket.create_connection(("127.0.0.1", service.port))
        peer.sendall(b"POST /v1/tasks/x/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        peers.append(peer)
    assert service.get("/readyz").status_code == 200
    for peer in peers:
        peer.close()


def test_the_same_key_gives_the_first_answer(service, task):
    code = "try:\n  n += 1\nexcept NameError:\n  n = 1\nn"
    headers = {"Idempotency-Key": "k1"}
    first = service.send(task, code, headers)
    second = service.send(task, code, headers)
    assert first.status_code == second.status_code == 200
    assert first.json()["run"] == second.json()["run"]
    assert second.json()["result"] == {"text/plain": "1"}
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert service.post(task, "n")["result"] == {"text/plain": "1"}


def test_the_same_key_at_the_same_moment_runs_once(service, task):
    service.post(task, "n = 0")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(service.send, task, "n += 1\nn", {"Idempotency-Key": "k"}) for _ in range(8)]
        answers = [future.result().json() for future in futures]
    assert len({answer["run"] for answer in answers}) == 1
    assert all(answer["result"] == {"text/plain": "1"} for answer in answers)
    assert service.post(task, "n")["result"] == {"text/plain": "1"}


def test_the_same_key_with_another_body_is_a_conflict(service, task):
    service.send(task, "1", {"Idempotency-Key": "k"})
    check_problem(service.send(task, "2", {"Idempotency-Key": "k"}), 409)
    assert len(service.runs(task)) == 1


def test_a_client_that_goes_away_does_not_end_the_run(service, task):
    service.post(task, "pass")
    body = json.dumps(
        {"code": "import os, time\nprint('begin', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('end')"}
    )
    with socket.create_connection(("127.0.0.1", service.port)) as peer:
        peer.sendall(
            f"POST /v1/tasks/{task}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        run = wait_for(lambda: [r for r in service.runs(task) if r["status"] == "running"], "the run")[0]["run"]
    (service.task_directory(task) / "files" / "go").touch()
    answer = service.wait_run(run)
    assert answer["status"] == "ok" and answer["stdout"] == "begin\nend\n"
    notebook = service.get(answer["notebook"]).json()
    assert notebook["cells"][-1]["outputs"][0]["text"] == ["begin\n", "end\n"]


BLOCKER = "import os, time\norder = []\nwhile not os.path.exists('go'): time.sleep(0.01)"


def block(service, task):
    """Puts a cell at the head of the task's queue that waits for a file."""
    response = service.send(task, BLOCKER, wait=False)
    assert response.status_code == 202
    service.wait_run(response.json()["run"], "running")


def unblock(service, task):
    (service.task_directory(task) / "files" / "go").touch()


def queued(service, task):
    return sum(run["status"] == "queued" for run in service.runs(task))


def test_runs_of_one_task_go_in_order_of_arrival(service, task):
    block(service, task)
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        futures = []
        for index in range(30):
            futures.append(pool.submit(service.post, task, f"order.append({index})"))
            wait_for(lambda: queued(service, task) == len(futures), "the run in the queue")
        unblock(service, task)
        assert all(future.result()["status"] == "ok" for future in futures)
    assert service.post(task, "order == list(range(30))")["result"] == {"text/plain": "True"}


def test_a_hundred_at_once_fill_the_queue_and_the_rest_is_told_to_wait(make_instance, task):
    limit = 20
    service = make_instance({"limits.queue": limit})
    block(service, task)
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        futures = [pool.submit(service.send, task, f"order.append({index})") for index in range(100)]
        wait_for(lambda: sum(future.done() for future in futures) == 100 - limit, "the refusals")
        refused = [future.result() for future in futures if future.done()]
        unblock(service, task)
        answers = [future.result() for future in futures]
    assert all(response.status_code == 429 for response in refused)
    problem = check_problem(refused[0], 429, str(limit))
    assert problem["type"] == "urn:cellpost:problem:busy"
    assert int(refused[0].headers["Retry-After"]) >= 1
    carried_out = [response.json() for response in answers if response.status_code == 200]
    assert len(carried_out) == limit
    assert service.post(task, "len(order)")["result"] == {"text/plain": str(limit)}


@pytest.mark.parametrize("timeout", [0, -1, 1e6])
def test_a_timeout_out_of_range_is_told_the_range_in_force(service, task, timeout):
    most = service.get("/v1/capabilities").json()["limits"]["timeout_max"]
    check_problem(service.send(task, "1", timeout=timeout), 422, f"a number over 0, at most {most:g}", "timeout")


@pytest.mark.parametrize("query, words", [("text=a%00b", "NUL"), ("text=%zz", "hexadecimal"), ("text=a%", "hexadecimal"), ("%00=1", "NUL")])
def test_what_cannot_be_decoded_is_told(service, query, words):
    connection = http.client.HTTPConnection("127.0.0.1", service.port)  # which leaves addresses as they are
    connection.request("GET", "/v1/runs?" + query)
    response = connection.getresponse()
    assert response.status == 400 and words in json.load(response)["detail"]
    connection.close()


def test_a_plus_in_a_query_is_a_space(service, task):
    service.post(task, "'a b' # 1+2")
    for text, count in (("a+b", 1), ("a%20b", 1), ("1%2B2", 1), ("1+2", 0), ("a%2Bb", 0)):
        assert len(service.get(f"/v1/runs?task={task}&text={text}").json()["runs"]) == count, text
    for since in ("2001-01-01T00:00:00+01:00", "2001-01-01T00:00:00%2B01:00"):
        assert len(service.get(f"/v1/runs?task={task}&since={since}").json()["runs"]) == 1, since
