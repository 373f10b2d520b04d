"""The workspace, looked at and changed over HTTP."""

import io
import os
import stat
import tarfile
import zipfile

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


def test_links_are_neither_shown_nor_followed(service, task):
    service.post(task, "import os\nos.symlink('/etc', 'etc'); os.symlink('/etc/passwd', 'passwd'); open('.hidden', 'w').close(); os.mkfifo('fifo')")
    assert names(service, task) == []
    assert names(service, task, hidden=1) == [".hidden"]
    check_problem(service.get(f"/v1/tasks/{task}/files/etc"), 403)
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/etc/x", data="x"), 403)
    check_problem(service.request("DELETE", f"/v1/tasks/{task}/files/etc/passwd"), 403)
    assert os.path.exists("/etc/passwd")
    assert service.request("PUT", f"/v1/tasks/{task}/files/passwd", data="mine").status_code == 200
    assert service.get(f"/tasks/{task}/files/passwd").text == "mine" and "root" in open("/etc/passwd").read()


@pytest.mark.parametrize("path", ["a//b", "%2e%2e/x", "a/%2e",  "a%2Fb", "a%0Ab", "%ff", "x/"])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_paths_that_are_none_are_refused(service, task, method, path):
    service.put(task)
    data = "x" if method == "PUT" else None
    check_problem(service.request(method, f"/v1/tasks/{task}/files/{path}", data=data), 400)


def test_what_is_not_there_is_told(service, task):
    for method in ("GET", "DELETE"):
        check_problem(service.request(method, f"/v1/tasks/{task}/files/x"), 404)
    service.put(task)
    check_problem(service.get(f"/v1/tasks/{task}/files/x"), 404)
    check_problem(service.request("DELETE", f"/v1/tasks/{task}/files/x"), 404)
    service.request("PUT", f"/v1/tasks/{task}/files/d/x", data="x")
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/d", data="x"), 409)
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/d/x/y", data="x"), 404)
    check_problem(service.request("POST", f"/v1/tasks/{task}/files/d", data="x"), 415)


def test_a_page_of_another_origin_can_put_nothing(service, task):
    service.put(task)
    headers = {"Origin": "https://elsewhere.example"}
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/x", data="x", headers=headers), 403)
    assert names(service, task) == []


def test_a_file_may_come_before_the_first_cell(service, task):
    assert service.request("PUT", f"/v1/tasks/{task}/files/data.txt", data=b"7").status_code == 201
    assert service.post(task, "int(open('data.txt').read()) * 6")["result"]["text/plain"] == "42"


def test_hidden_names_go_in_and_out(service, task):
    made = service.request("PUT", f"/v1/tasks/{task}/files/.config/.env", data=b"A=1")
    assert made.status_code == 201
    assert names(service, task) == [] and names(service, task, hidden=1) == [".config"]
    assert "uri" not in made.json() and "Location" not in made.headers
    assert service.post(task, "open('.config/.env').read()")["result"]["text/plain"] == "'A=1'"
    assert service.request("DELETE", f"/v1/tasks/{task}/files/.config").status_code == 200
    assert names(service, task, hidden=1) == []


def check_quota(response, limit, most):
    problem = check_problem(response, 507)
    assert problem["limit"] == limit and problem["most"] == most
    assert problem["used"] + problem["needed"] > most and str(problem["needed"]) in problem["detail"]


def test_what_does_not_fit_is_refused_with_the_figures(service, task):
    service.put(task, limits={"workspace_bytes": 1 << 20, "workspace_files": 100})
    put = lambda name, size: service.request("PUT", f"/v1/tasks/{task}/files/{name}", data=b"x" * size)  # noqa: E731
    for name in "abc":
        check_quota(put(name, 3 << 20), "workspace_bytes", 1 << 20)
    assert names(service, task) == []
    assert put("a", 600 << 10).status_code == 201
    check_quota(put("b", 600 << 10), "workspace_bytes", 1 << 20)
    assert put("a", 900 << 10).status_code == 200, "what is replaced does not count"
    for number in range(99):
        assert put(f"n{number}", 0).status_code == 201
    check_quota(put("n99", 0), "workspace_files", 100)


def test_the_application_lists_what_a_person_asks_for(service, task):
    service.request("PUT", f"/v1/tasks/{task}/files/d/x.csv", data="a,b")
    listed = service.get(f"/tasks/{task}/files/d/", headers={"Accept": "*/*"})
    assert listed.headers["Content-Type"] == "application/json"
    assert [entry["name"] for entry in listed.json()["entries"]] == ["x.csv"]
    page = service.get(f"/tasks/{task}/files/d/", headers={"Accept": "text/html,*/*;q=0.8"}, allow_redirects=False)
    assert page.status_code == 303 and page.headers["Location"] == f"/files.html?task={task}&path=d"
    assert service.get(f"/tasks/{task}/files/d", headers={"Accept": "*/*"}).json() == listed.json()
    check_problem(service.get(f"/tasks/{task}/files/e/"), 404)
    check_problem(service.get("/tasks/no-such-task/files/"), 404)


def test_no_list_tells_where_a_link_leads(service, task):
    code = """import ctypes, os, threading, time
os.mkdir('d'); os.symlink('/', 'link'); os.symlink('/etc', 'd/inner')
libc = ctypes.CDLL(None)
def swap():
    end = time.time() + 3
    while time.time() < end:
        libc.renameat2(-100, b'd', -100, b'link', 2)
threading.Thread(target=swap).start()"""
    service.post(task, code)
    seen = set()
    for _ in range(300):
        for path in ("d/", "link/", ""):
            answer = service.get(f"/tasks/{task}/files/{path}", headers={"Accept": "*/*"})
            if answer.status_code == 200:
                seen |= {entry["name"] for entry in answer.json()["entries"]}
    assert seen <= {"d", "link"}


def test_what_is_no_file_is_not_found_and_not_logged(service, task):
    log = service.state / "log" / "nginx-error.log"
    service.post(task, "import os, socket; os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('socket'); os.symlink('pipe', 'link'); open('shut', 'w').close(); os.chmod('shut', 0)")
    before = log.stat().st_size
    for name in ("pipe", "socket", "link", "shut", "absent"):
        if name != "shut" or os.geteuid() != 0:
            check_problem(service.get(f"/tasks/{task}/files/{name}"), 404)
    assert log.read_text()[before:] == ""


# Archives


def tar_of(*members):
    """(name, content) each; a TarInfo instead of the name for anything else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for member, content in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zip_of(*members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


MAKERS = {"tar": (tar_of, "application/x-tar"), "zip": (zip_of, "application/zip")}


def upload(service, task, kind, archive, path=""):
    return service.request("POST", f"/v1/tasks/{task}/files{path}", data=archive, headers={"Content-Type": MAKERS[kind][1]})


def unpacked(kind, content):
    if kind == "zip":
        archive = zipfile.ZipFile(io.BytesIO(content))
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive if info.isfile()}


@pytest.mark.parametrize("kind", MAKERS)
def test_many_files_go_in_and_come_out(service, task, kind):
    files = {"a.txt": b"1", "./d/./e/größe 日本.bin": os.urandom(100000), ".env": b"A=1", "empty": b""}
    answer = upload(service, task, kind, MAKERS[kind][0](*files.items()), "/in/side")
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"task": task, "path": "in/side", "files": 4, "directories": 0, "bytes": 100004}
    found = "import os; sorted(os.path.relpath(os.path.join(d, f)) for d, _, fs in os.walk('.') for f in fs)"
    wanted = sorted(f"in/side/{name.replace('./', '')}" for name in files)
    assert service.post(task, found)["result"]["text/plain"].replace("\n", "") == str(wanted).replace(", ", ", ")
    service.post(task, "os.symlink('/etc/passwd', 'in/link'); os.mkfifo('in/pipe'); os.makedirs('in/none')")
    for other in MAKERS:
        out = service.get(f"/v1/tasks/{task}/files", params={"archive": other})
        assert out.headers["Content-Type"] == MAKERS[other][1] and f'{task}.{other}"' in out.headers["Content-Disposition"]
        assert unpacked(other, out.content) == {f"in/side/{name.replace('./', '')}": content for name, content in files.items()}
    inner = service.get(f"/v1/tasks/{task}/files/in/side/d", params={"archive": "tar"})
    assert list(unpacked("tar", inner.content)) == ["e/größe 日本.bin"]


def test_files_that_are_there_are_replaced_and_others_stay(service, task):
    service.request("PUT", f"/v1/tasks/{task}/files/d/a", data="old")
    service.request("PUT", f"/v1/tasks/{task}/files/d/b", data="stays")
    script = tarfile.TarInfo("d/run.sh")
    script.mode = 0o755
    directory = tarfile.TarInfo("d/new")
    directory.type = tarfile.DIRTYPE
    assert upload(service, task, "tar", tar_of(("d/a", b"new"), (script, b"#!/bin/sh"), (directory, b""))).status_code == 201
    assert names(service, task, "/d") == ["a", "b", "new", "run.sh"]
    assert service.get(f"/tasks/{task}/files/d/a").text == "new" and service.get(f"/tasks/{task}/files/d/b").text == "stays"
    mode = (service.task_directory(task) / "files" / "d" / "run.sh").stat().st_mode
    assert stat.S_IMODE(mode) & 0o111


def test_an_archive_that_meets_something_else_changes_nothing(service, task):
    service.request("PUT", f"/v1/tasks/{task}/files/d/a", data="old")
    directory = tarfile.TarInfo("d/a")
    directory.type = tarfile.DIRTYPE
    for archive in (tar_of(("x", b"1"), ("d", b"2")), tar_of(("x", b"1"), (directory, b""))):
        check_problem(upload(service, task, "tar", archive), 409)
    assert names(service, task) == ["d"] and service.get(f"/tasks/{task}/files/d/a").text == "old"


def special(kind, name="x", target="/etc/passwd"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


BAD = {
    "absolute": tar_of(("/x", b"1")),
    "parent": tar_of(("a/../../x", b"1")),
    "symlink": tar_of((special(tarfile.SYMTYPE), b"")),
    "hard link": tar_of(("a", b"1"), (special(tarfile.LNKTYPE, "b", "a"), b"")),
    "pipe": tar_of((special(tarfile.FIFOTYPE), b"")),
    "device": tar_of((special(tarfile.CHRTYPE), b"")),
    "through a link": tar_of((special(tarfile.SYMTYPE, "d", "/tmp"), b""), ("d/x", b"1")),
    "control": tar_of(("a\nb", b"1")),
    "deep": tar_of(("d/" * 100 + "x", b"1")),
    "cut": tar_of(("a", b"1" * 5000))[:3000],
    "no archive": b"hello" * 1000,
    "empty": b"",
}


@pytest.mark.parametrize("what", BAD)
def test_an_archive_with_something_bad_in_it_changes_nothing(service, task, what):
    good_first = BAD[what]
    service.put(task)
    check_problem(upload(service, task, "tar", good_first), 400)
    assert names(service, task, hidden=1) == []
    assert ".upload" not in os.listdir(service.task_directory(task))


def test_zips_that_lead_out_or_lie_change_nothing(service, task):
    service.put(task)
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    lying = zip_of(("a", b"x" * 100000))
    lying = lying.replace((100000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    for bad in (zip_of(("../x", b"1")), zip_of(("/x", b"1")), zip_of((link, "/etc/passwd")), lying, zip_of(("a", b"1"))[:-30], b"PK"):
        check_problem(upload(service, task, "zip", bad), 400)
    assert names(service, task, hidden=1) == []


def test_an_archive_that_does_not_fit_changes_nothing(service, task):
    service.put(task, limits={"workspace_bytes": 1 << 20, "workspace_files": 100})
    bomb = zip_of(("a", b"0" * (200 << 20)))
    assert len(bomb) < 1 << 20
    check_quota(upload(service, task, "zip", bomb), "workspace_bytes", 1 << 20)
    check_quota(upload(service, task, "tar", tar_of(*[(f"n{n}", b"") for n in range(101)])), "workspace_files", 100)
    assert names(service, task) == []
    fits = tar_of(("a", b"x" * (900 << 10)))
    for _ in range(2):
        assert upload(service, task, "tar", fits).status_code == 201


def test_an_archive_never_goes_through_a_link(service, task):
    service.post(task, "import os; os.symlink('/tmp', 'd'); os.symlink('/etc/passwd', 'f')")
    check_problem(upload(service, task, "tar", tar_of(("d/upload-test", b"1"))), 403)
    assert not os.path.exists("/tmp/upload-test")
    assert upload(service, task, "tar", tar_of(("f", b"mine"))).status_code == 201
    assert service.get(f"/tasks/{task}/files/f").text == "mine" and "root" in open("/etc/passwd").read()


def test_what_is_asked_wrongly_of_archives_is_told(service, task):
    service.put(task)
    check_problem(service.get(f"/v1/tasks/{task}/files", params={"archive": "rar"}), 422)
    check_problem(service.get(f"/v1/tasks/{task}/files/none", params={"archive": "tar"}), 404)
    check_problem(service.get("/v1/tasks/no-such-task/files", params={"archive": "tar"}), 404)
    check_problem(service.request("POST", f"/v1/tasks/{task}/files", data=b"x"), 415)
