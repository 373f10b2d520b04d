"""Run by an interpreter that has the package e2b-code-interpreter: uses the
service at the URL given as any program written for E2B would, and prints what
came of it as one line of JSON."""

import json
import os
import sys

os.environ |= {"E2B_API_KEY": "e2b_" + "0" * 40, "E2B_API_URL": sys.argv[1], "E2B_SANDBOX_URL": sys.argv[1]}

from e2b_code_interpreter import Sandbox  # noqa: E402

said = {"lines": []}
with Sandbox.create(timeout=120, metadata={"who": "test"}, envs={"ONE": "1"}) as box:
    cell = box.run_code("x = 41\nprint('hi')\nx + 1", on_stdout=lambda message: said["lines"].append(message.line))
    said["cell"] = [cell.text, cell.logs.stdout, cell.execution_count]
    said["error"] = box.run_code("1/0").error.name
    said["formats"] = box.run_code("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()").results[0].formats()
    said["bash"] = box.run_code("pwd", language="bash").logs.stdout
    said["env"] = box.run_code("import os; os.environ['ONE'] + os.environ['TWO']", envs={"TWO": "2"}).text
    box.files.write("d/ä.txt", "héllo")
    said["file"] = [box.files.read("/home/user/d/ä.txt"), box.files.exists("d/ä.txt"), box.files.exists("none")]
    said["list"] = [entry.path for entry in box.files.list("/home/user")]
    said["made"] = [box.files.make_dir("e"), box.files.make_dir("e")]
    command = box.commands.run("echo out; echo err >&2")
    said["command"] = [command.stdout, command.stderr, command.exit_code]
    box.set_timeout(200)
    said["again"] = Sandbox.connect(box.sandbox_id).run_code("x").text
    said["running"] = [box.is_running()]
said["running"].append(box.is_running())
print(json.dumps(said))
