#!/usr/bin/python3
"""check_notebook.py [--same] FILE...: says what is wrong with each notebook.

Each file must be valid nbformat 4.5 as it stands (nothing repaired, no warning),
with unique ids. With --same its cells must also be, byte for byte, what
nbformat.write makes of them.
"""
import json
import sys
import warnings

import nbformat

warnings.simplefilter("error")


def cells_of(text):
    """The lines between "cells": [ and the line that closes it."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(' "cells": ['))
    if lines[start].rstrip(",").endswith("[]"):
        return []
    end = next(i for i in range(start, len(lines)) if lines[i] in (" ]", " ],"))
    return lines[start + 1:end]


def check(path, same):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    nbformat.validate(json.loads(text))
    notebook = nbformat.reads(text, as_version=4)
    ids = [cell["id"] for cell in notebook.cells]
    if len(ids) != len(set(ids)):
        raise ValueError("an id stands twice")
    if same and cells_of(text) != cells_of(nbformat.writes(notebook)):
        raise ValueError("nbformat writes the cells differently")


same = "--same" in sys.argv
for name in sys.argv[1:]:
    if name == "--same":
        continue
    try:
        check(name, same)
    except Exception as error:
        sys.exit(f"{name}: {type(error).__name__}: {error}")
