"""An agent in one loop: any model with an OpenAI-compatible interface, with
Cellpost's tools.

    MODEL_URL=https://…/v1/chat/completions MODEL=… API_KEY=… python3 agent.py "Plot sin(x)"
"""

import json
import os
import sys

import requests

CELLPOST = os.environ.get("CELLPOST", "http://localhost:8080")
given = requests.get(f"{CELLPOST}/v1/tools?format=openai").json()
messages = [{"role": "system", "content": given["system"]}, {"role": "user", "content": sys.argv[1]}]
while messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls"):
    body = {"model": os.environ["MODEL"], "messages": messages, "tools": given["tools"]}
    headers = {"Authorization": f"Bearer {os.environ.get('API_KEY', '')}"}
    messages.append(requests.post(os.environ["MODEL_URL"], json=body, headers=headers).json()["choices"][0]["message"])
    for call in messages[-1].get("tool_calls") or []:
        wanted = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wanted}
        result = requests.post(f"{CELLPOST}/mcp", json=message).json()["result"]
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result["content"][0]["text"]})
print(messages[-1]["content"])
