"""Cells and outputs as nbformat has them."""


def markdown(text, **more):
    return {"cell_type": "markdown", "metadata": {}, "source": text} | more


def code(source, *outputs, status="ok", count=1):
    return {
        "cell_type": "code",
        "metadata": {"cellpost": {"run": "00000000-0000-7000-8000-000000000000", "status": status}},
        "source": source,
        "execution_count": count,
        "outputs": list(outputs),
    }


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def display(**data):
    """display(text_plain="…", image_png="…")"""
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {MIMES.get(name, name.replace("_", "/")): value for name, value in data.items()},
    }


MIMES = {
    "image_svg": "image/svg+xml",
    "widget": "application/vnd.jupyter.widget-view+json",
    "javascript": "application/javascript",
    "json": "application/json",
}
