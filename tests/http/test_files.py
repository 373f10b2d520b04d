"""The workspace, looked at and changed over HTTP."""

import os

import pytest

from tests.http.problems import check_problem


def names(service, task, path="", **query):
    answer = service.get(f"/v1/tasks/{task}/files{path}", params=query)
    assert answer.status_code == 200, answer.text
    return [entry["name"] for entry in answer.json()["entries"]]


def test_a_file_goes_in_is_used_by_a_cell_and_comes_out(service, task):
    service.put(task)
    made = service.request("PUT", f"/v1/tasks/{task}/files/in/data%20set.csv", data=b"a,b\n1,2\n")
    assert made.status_code == 201 and made.json()["mime"] == "text/csv" and made.json()["bytes"] == 8
    assert made.headers["Location"] == f"/tasks/{task}/files/in/data%20set.csv"
    code = "text = open('in/data set.csv').read(); open('in/data set.csv', 'a').write('3,4'); open('in/other', 'w').close(); text"
    assert service.post(task, code)["result"]["text/plain"] == "'a,b\\n1,2\\n'"
    assert service.get(made.json()["uri"]).content == b"a,b\n1,2\n3,4"
    again = service.request("PUT", f"/v1/tasks/{task}/files/in/data%20set.csv", data=bytes(range(256)))
    assert again.status_code == 200 and service.get(made.json()["uri"]).content == bytes(range(256))
    assert service.request("PUT", f"/v1/tasks/{task}/files/empty").json()["bytes"] == 0
    assert names(service, task) == ["empty", "in"]
    assert service.request("DELETE", f"/v1/tasks/{task}/files/in/other").json()["deleted"] is True
    assert names(service, task, "/in") == ["data set.csv"]
    assert service.request("DELETE", f"/v1/tasks/{task}/files/in").status_code == 200
    assert names(service, task) == ["empty"]


def test_types_come_from_the_content(service, task):
    code = "import matplotlib.pyplot as plt\nplt.plot([1]); plt.savefig('plot.txt', format='png'); open('a.md', 'w').write('# x')"
    service.post(task, code)
    entries = service.get(f"/v1/tasks/{task}/files").json()["entries"]
    assert {entry["name"]: entry["mime"] for entry in entries} == {"a.md": "text/markdown", "plot.txt": "image/png"}
    assert all(entry["modified"].endswith("Z") and entry["kind"] == "file" for entry in entries)


def test_long_lists_come_in_pages(service, task):
    service.post(task, "for i in range(25): open(f'{i:02}', 'w').close()")
    first = service.get(f"/v1/tasks/{task}/files", params={"limit": 20}).json()
    assert len(first["entries"]) == 20 and first["next"] == "19"
    assert names(service, task, after="19") == ["20", "21", "22", "23", "24"]
    assert service.get(f"/v1/tasks/{task}/files").json()["next"] is None


def test_links_and_hidden_names_are_neither_shown_nor_followed(service, task):
    service.post(task, "import os\nos.symlink('/etc', 'etc'); os.symlink('/etc/passwd', 'passwd'); open('.hidden', 'w').close(); os.mkfifo('fifo')")
    assert names(service, task) == []
    check_problem(service.get(f"/v1/tasks/{task}/files/etc"), 403)
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/etc/x", data="x"), 403)
    check_problem(service.request("DELETE", f"/v1/tasks/{task}/files/etc/passwd"), 403)
    assert os.path.exists("/etc/passwd")
    assert service.request("PUT", f"/v1/tasks/{task}/files/passwd", data="mine").status_code == 200
    assert service.get(f"/tasks/{task}/files/passwd").text == "mine" and "root" in open("/etc/passwd").read()


@pytest.mark.parametrize("path", [".hidden", "a/.b", "a//b", "%2e%2e/x", "a%2Fb", "a%0Ab", "%ff", "x/"])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_paths_that_are_none_are_refused(service, task, method, path):
    service.put(task)
    data = "x" if method == "PUT" else None
    check_problem(service.request(method, f"/v1/tasks/{task}/files/{path}", data=data), 400)


def test_what_is_not_there_is_told(service, task):
    for method in ("GET", "PUT", "DELETE"):
        check_problem(service.request(method, f"/v1/tasks/{task}/files/x", data="" if method != "PUT" else "x"), 404)
    service.put(task)
    check_problem(service.get(f"/v1/tasks/{task}/files/x"), 404)
    check_problem(service.request("DELETE", f"/v1/tasks/{task}/files/x"), 404)
    service.request("PUT", f"/v1/tasks/{task}/files/d/x", data="x")
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/d", data="x"), 409)
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/d/x/y", data="x"), 404)
    check_problem(service.request("POST", f"/v1/tasks/{task}/files/d", data="x"), 405)


def test_a_page_of_another_origin_can_put_nothing(service, task):
    service.put(task)
    headers = {"Origin": "https://elsewhere.example"}
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/x", data="x", headers=headers), 403)
    assert names(service, task) == []
