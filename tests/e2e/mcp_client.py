"""Run by an interpreter that has the package mcp: speaks to the URL given with
the client of that package, and prints what came of it as one line of JSON."""

import asyncio
import json
import sys

PICTURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()"


async def use(client, read_uri):
    told = []

    async def progress(done, total, message):
        told.append(done)

    tools = (await client.list_tools()).tools
    cell = await client.call_tool("execute", {"task": "sdk", "code": "x = 41\nprint('hi')\nx + 1"})
    picture = await client.call_tool("execute", {"task": "sdk", "code": PICTURE})
    failed = await client.call_tool("execute", {"task": "sdk", "code": "1/0"})
    slow = await client.call_tool(
        "execute", {"task": "sdk", "code": "import time; time.sleep(5.5); x"}, progress_callback=progress
    )
    await client.call_tool("write_file", {"task": "sdk", "path": "d/ä.txt", "text": "héllo"})
    file = await client.call_tool("read_file", {"task": "sdk", "path": "d/ä.txt"})
    notebook = await client.read_resource(read_uri("cellpost://tasks/sdk/notebook.ipynb"))
    return {
        "tools": [tool.name for tool in tools],
        "cell": cell.content[0].text,
        "picture": [block.type for block in picture.content],
        "failed": getattr(failed, "is_error", None) or getattr(failed, "isError", None),
        "slow": slow.content[0].text,
        "progress": told,
        "file": file.content[0].text,
        "cells": len(json.loads(notebook.contents[0].text)["cells"]),
    }


async def newest(url):
    from mcp import Client

    async with Client(url) as client:
        return await use(client, str)


async def first_generation(url):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client
    from pydantic import AnyUrl

    async with streamablehttp_client(url) as (reader, writer, _):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            return await use(session, AnyUrl)


print(json.dumps(asyncio.run({"newest": newest, "first": first_generation}[sys.argv[1]](sys.argv[2]))))
