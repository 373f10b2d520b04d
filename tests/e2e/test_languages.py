"""The basic suite for kernels other than Python's: what Cellpost promises holds
without a line of help from the kernel."""

import base64
import dataclasses
import shutil

import pytest

from tests.e2e import notebooks
from tests.instance import wait_for


@dataclasses.dataclass
class Language:
    """A kernelspec, and how its language says things."""

    kernelspec: str
    program: str
    greet: str  # prints "hi"
    number: str  # shows 42
    number_shown: str
    keep: str  # puts 5 into x
    kept: str  # shows x, which is 5
    kept_shown: str
    fail: str  # an error "bad thing" in line 2 of the cell
    frames: list  # some lines of its traceback
    syntax: str  # an error of grammar in line 2
    warn: str  # writes "careful" to stderr
    plot: str
    ask: str  # reads a line and prints it in brackets
    write: str  # writes out.txt
    stop: str  # prints "before", then waits for ever
    spin: str  # a loop without an end
    child: str  # waits for a child process `sleep 600.75`
    leave: str  # the language's exit()
    die: str  # ends the process by SIGKILL
    lost: str  # shows "gone" when there is no x
    unicode: str  # prints "é中😀"


R = Language(
    kernelspec="ir",
    program="R",
    greet='cat("hi\\n")',
    number="6*7",
    number_shown="[1] 42",
    keep="x <- 5",
    kept="x",
    kept_shown="[1] 5",
    fail="g <- function() f()\nf <- function() stop( 'bad thing')\ng()",
    frames=["1. g()", "2. f()   # at line 1 of file <text>"],
    syntax="1\n1 +* 2",
    warn='message("careful")',
    plot="plot(1:3)",
    ask="y <- readline('? '); cat('[', y, ']', sep='')",
    write='writeLines("a", "out.txt")',
    stop="cat('before\\n')\nSys.sleep(600)",
    spin="repeat {}",
    child="system('sleep 600.75')",
    leave="quit()",
    die="tools::pskill(Sys.getpid(), 9)",
    lost="if (exists('x')) 'there' else 'gone'",
    unicode="cat('é中😀')",
)


@pytest.fixture(scope="module", params=[R], ids=lambda language: language.kernelspec)
def language(request, session_instance):
    language = request.param
    if not shutil.which(language.program):
        pytest.skip(f"{language.program} is not installed")
    known = session_instance.get("/v1/kernelspecs").json()["kernelspecs"]
    if language.kernelspec not in [spec["name"] for spec in known]:
        pytest.skip(f"there is no kernelspec {language.kernelspec}")
    session_instance.put(language.kernelspec, kernelspec=language.kernelspec)
    yield language
    session_instance.delete(language.kernelspec)


@pytest.fixture
def run(service, language):
    """Runs a cell in the language's task; notebook and registry say the same."""

    def post(code, **fields):
        answer = service.post(language.kernelspec, code, **fields)
        notebooks.same_as(service, language.kernelspec, answer)
        return answer

    return post


def shown(answer):
    (output,) = answer["outputs"]
    return output["data"]["text/plain"]


def test_text(run, language):
    answer = run(language.greet)
    assert (answer["status"], answer["stdout"], answer["text"].strip()) == ("ok", "hi\n", "hi")


def test_a_value(run, language):
    answer = run(language.number)
    assert shown(answer) == language.number_shown
    assert answer["text"].strip() in (language.number_shown, "42")


def test_variables_are_kept(run, language):
    assert run(language.keep)["outputs"] == []
    answer = run(language.kept)
    assert shown(answer) == language.kept_shown and answer["kernel"]["state"] == "kept"


def test_an_error_is_told_with_its_place(run, language):
    answer = run(language.fail)
    assert answer["status"] == "error"
    error = answer["error"]
    assert "bad thing" in error["evalue"]
    assert error["line"] == 2
    assert "-> 2 " + language.fail.splitlines()[1] in error["source"]
    for line in language.frames:
        assert line in error["traceback"]
    assert error["prompt"].startswith("Status: error")
    assert "\x1b" not in error["prompt"]


def test_an_error_of_grammar_is_told_with_its_place(run, language):
    answer = run(language.syntax)
    assert answer["status"] == "error" and answer["error"]["line"] == 2


def test_warnings_are_no_failure(run, language):
    answer = run(language.warn)
    assert answer["status"] == "ok" and "careful" in answer["stderr"]


def test_unicode(run, language):
    assert run(language.unicode)["stdout"].rstrip("\n") == "é中😀"


def test_a_plot(run, service, language):
    answer = run(language.plot)
    (image,) = answer["images"]
    data = base64.b64decode(image["base64"], validate=True)
    assert image["width"] > 100 and image["height"] > 100 and len(data) == image["bytes"]
    assert service.get(image["uri"]).content == data


def test_files_are_told(run, language):
    assert [(file["path"], file["change"]) for file in run(language.write)["files"]] == [("out.txt", "created")]


def test_input_is_given_or_refused(run, language):
    assert run(language.ask, stdin=["bob"])["stdout"] == "[bob]"
    answer = run(language.ask, timeout=20)
    assert answer["stdout"] == "[]" and "input" in answer["notes"][0]


@pytest.mark.parametrize("way", ["stop", "spin", "child"])
def test_what_does_not_end_is_interrupted(run, language, way):
    run(language.keep)
    answer = run(getattr(language, way), timeout=1)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGINT")
    assert answer["stdout"] == ("before\n" if way == "stop" else "")
    assert answer["error"]["ename"] == "Timeout"
    assert answer["usage"]["wall_ms"] < 4000
    answer = run(language.kept)
    assert shown(answer) == language.kept_shown and answer["kernel"]["state"] == "kept"


@pytest.mark.parametrize("way, status, reason", [("leave", "ok", "exit()"), ("die", "kernel_died", "signal 9")])
def test_the_end_of_the_kernel_is_told(run, service, language, way, status, reason):
    generation = run(language.keep)["kernel"]["generation"]
    answer = run(getattr(language, way))
    assert answer["status"] == status and answer["kernel"]["state"] == "lost"
    assert reason in answer["kernel"]["reason"]
    after = run(language.lost)
    assert "gone" in shown(after)
    assert (after["kernel"]["state"], after["kernel"]["generation"]) == ("lost", generation + 1)


def test_a_run_can_be_interrupted(run, service, language):
    response = service.send(language.kernelspec, language.stop, wait=False)
    run_id = response.json()["run"]
    wait_for(lambda: service.get(f"/v1/runs/{run_id}").json()["stdout"] == "before\n", "its output")
    service.request("DELETE", f"/v1/runs/{run_id}")
    assert service.wait_run(run_id)["status"] == "interrupted"


def test_init_code(service, language, task):
    service.put(task, kernelspec=language.kernelspec, init_code=language.keep)
    assert shown(service.post(task, language.kept)) == language.kept_shown


def test_the_notebook_names_the_language(run, service, language):
    run(language.greet)
    metadata = notebooks.read(service, language.kernelspec)["metadata"]
    assert metadata["kernelspec"]["name"] == language.kernelspec
    assert metadata["language_info"]["name"] == metadata["kernelspec"]["language"]
