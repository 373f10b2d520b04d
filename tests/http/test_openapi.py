"""The OpenAPI document tells the truth: its routes are those of the program, its
examples run, its schemas fit what is answered."""

import json
import os
import re
import subprocess

import pytest

from tests.instance import ROOT

DOCUMENT = json.loads((ROOT / "static" / "openapi.json").read_text())
OPERATIONS = [
    (method.upper(), path, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]
# Those beneath /internal/ are for the web server alone.
ROUTE = re.compile(r'\{"(\w+)",\s*"(?!/internal/)([^"]+)",\s*(?:SCOPE|ROUTE)_(\w+),\s*\w+,\s*ROUTE_BODY_(\w+),\s*(NULL|(?:"[^"]*"\s*)+),\s*\w+,\s*\w+\}')


def resolve(value):
    if "$ref" in value:
        at = DOCUMENT
        for key in value["$ref"].removeprefix("#/").split("/"):
            at = at[key]
        return at
    return value


def source(name):
    """The program's file of this name, in whichever room it stands."""
    (path,) = (ROOT / "fcgi").rglob(name)
    return path.read_text()


def parameters(operation, where):
    return {one["name"] for one in map(resolve, operation.get("parameters", [])) if one["in"] == where}


def test_the_routes_are_those_of_the_program():
    text = source("routes.c")
    routes = {(method, path): (scope, body, names) for method, path, scope, body, names in ROUTE.findall(text)}
    assert len(routes) == text.count('{"') - text.count('"/internal/'), "a route that this test does not read"
    assert {(method, path) for method, path, _ in OPERATIONS} == set(routes)
    for method, path, operation in OPERATIONS:
        scope, body, names = routes[method, path]
        known = set() if names == "NULL" else set(" ".join(re.findall(r'"([^"]*)"', names)).split())
        assert parameters(operation, "query") == known, f"{method} {path}"
        assert parameters(operation, "path") == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}"
        assert ("requestBody" in operation) == (body != "NONE"), f"{method} {path}"
        wanted = [] if scope == "OPEN" else [[] if scope == "KNOWN" else [scope.lower()]] * 3
        assert [next(iter(one.values())) for one in operation["security"]] == wanted, f"{method} {path}"
        assert operation["summary"] and operation["responses"] and operation["x-codeSamples"]
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)


def test_the_bodies_have_the_fields_of_the_program():
    tables = {"Execute": ("execute_body.c", "fields"), "TaskSettings": ("handle_tasks.c", "settings_fields"),
              "Restart": ("handle_tasks.c", "restart_fields"), "Login": ("handle_session.c", "session_fields"),
              "LinkRequest": ("handle_links.c", "link_fields"), "Markdown": ("handle_cells.c", "cell_fields")}  # fmt: skip
    for schema, (file, table) in tables.items():
        text = source(file)
        rows = text.split(f"{table}[] = {{", 1)[1].split("};", 1)[0]
        known = set(re.findall(r'\{"(\w+)", FIELD_', rows))
        assert known and set(DOCUMENT["components"]["schemas"][schema]["properties"]) == known, schema


def test_every_reference_leads_somewhere():
    def walk(value):
        if isinstance(value, dict):
            if "$ref" in value:
                resolve(value)
            for member in value.values():
                walk(member)
        elif isinstance(value, list):
            for member in value:
                walk(member)

    walk(DOCUMENT)
    used = json.dumps(DOCUMENT)
    for kind, members in DOCUMENT["components"].items():
        if kind == "securitySchemes":  # these are used by their names
            continue
        for name in members:
            assert f'"#/components/{kind}/{name}"' in used, f"{kind}/{name} is not used"


def run_example(service, operation):
    code = operation["x-codeSamples"][0]["source"].replace("http://localhost:8080", service.url)
    environment = os.environ | {"no_proxy": "127.0.0.1"}
    done = subprocess.run(["bash", "-ec", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_schema(schema, value, where):
    schema = resolve(schema)
    if "properties" in schema and isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value) <= set(schema["properties"]), where
        for key, member in value.items():
            check_schema(schema["properties"][key], member, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for member in value:
            check_schema(schema["items"], member, f"{where}[]")
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None)}
    if "type" in schema:
        wanted = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        assert any(isinstance(value, kinds[kind]) for kind in wanted), f"{where}: {value!r} is no {wanted}"
    if "enum" in schema:
        assert value in schema["enum"], where


@pytest.fixture(scope="module")
def answers(session_instance):
    """What each example gave, run in the order of the document."""
    answers = {operation["operationId"]: run_example(session_instance, operation) for _, _, operation in OPERATIONS}
    session_instance.delete("demo")
    return answers


@pytest.mark.parametrize("operation", [operation for _, _, operation in OPERATIONS], ids=lambda operation: operation["operationId"])
def test_the_example_gives_what_the_document_says(answers, operation):
    text = answers[operation["operationId"]]
    content = next(resolve(response)["content"] for status, response in operation["responses"].items() if status.startswith("2"))
    if "application/json" in content:
        check_schema(content["application/json"]["schema"], json.loads(text.splitlines()[-1]), operation["operationId"])
    elif "text/event-stream" in content:
        assert "\nid: " in text and "\nevent: state\n" in text
    else:
        assert text != ""
