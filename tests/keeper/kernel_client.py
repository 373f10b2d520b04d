"""A client of a kernel that the keeper has started."""

from conftest import LIMIT
from jupyter_client import BlockingKernelClient


class Kernel:
    """A client of a kernel that the keeper has started."""

    def __init__(self, told):
        self.told = told
        self.client = BlockingKernelClient(connection_file=f"{told['directory']}/connection.json")
        self.client.load_connection_file()
        self.client.start_channels(hb=False)  # under load it would call a slow start a death
        self.client.wait_for_ready(timeout=LIMIT)

    def run(self, code):
        """What the code prints, or the name of the error it raises."""
        output = []

        def hook(message):
            if message["msg_type"] == "stream":
                output.append(message["content"]["text"])

        reply = self.client.execute_interactive(code, timeout=LIMIT, output_hook=hook, allow_stdin=False)
        return reply["content"].get("ename") or "".join(output)

    def close(self):
        self.client.stop_channels()
