"""What every notebook that a test leaves behind must be."""

import json

import nbformat


def no_json(word):
    raise AssertionError(f"{word} is no JSON")


def read(service, task):
    text = (service.task_directory(task) / "notebook.ipynb").read_text(encoding="utf-8")
    notebook = json.loads(text, parse_constant=no_json)
    nbformat.validate(notebook, version=4, version_minor=5)
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    return notebook


def joined(value):
    return "".join(value) if isinstance(value, list) else value


def outputs(cell):
    """The cell's outputs with their lines joined, as the answer gives them."""
    result = []
    for output in cell["outputs"]:
        output = dict(output)
        if "text" in output:
            output["text"] = joined(output["text"])
        if "data" in output:
            output["data"] = {
                mime: value if mime.endswith("json") else joined(value)
                for mime, value in output["data"].items()
            }
        result.append(output)
    return result


def cell_of(notebook, answer):
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == answer["cell"]]
    return cell


def same_as(service, task, answer):
    """The notebook, the answer and the registry tell the same."""
    notebook = read(service, task)
    cell = cell_of(notebook, answer)
    assert outputs(cell) == answer["outputs"]
    assert cell["execution_count"] == answer["execution_count"]
    assert service.get(f"/v1/runs/{answer['run']}").json() == answer
    return notebook
