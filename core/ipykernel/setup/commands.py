"""Shell lines of a cell (!, !!, %sx, %system) that failed are told in its
notes: IPython itself says nothing."""

import signal

from _cellpost import cells
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils import _process_common
from ipykernel.zmqshell import ZMQInteractiveShell

SHOWN = 100  # characters of the line


def tell(command, status):
    """`status`: negative for a signal."""
    if not status:
        return
    command = " ".join(str(command).split())
    if len(command) > SHOWN:
        command = command[: SHOWN - 1] + "\u2026"
    cells.current().notes.append("the shell line `%s` failed: %s" % (command, in_words(status)))


def in_words(status):
    if status > 0:
        return "exit status %d" % status
    try:
        return "it was ended by %s" % signal.Signals(-status).name
    except ValueError:
        return "it was ended by signal %d" % -status


def tell_of_failed_ones():
    system, handle = ZMQInteractiveShell.system_piped, _process_common.process_handler
    getoutput = InteractiveShell.getoutput
    asked = []  # commands whose output is wanted, innermost last

    def system_and_tell(self, cmd):
        system(self, cmd)
        tell(cmd, self.user_ns.get("_exit_code"))

    def handle_and_tell(cmd, callback, stderr=-1):
        def call(process):
            answer = callback(process)
            if asked:
                tell(asked[-1], process.poll())
            return answer

        return handle(cmd, call, stderr)

    def getoutput_and_tell(self, cmd, split=True, depth=0):
        asked.append(cmd)
        try:
            return getoutput(self, cmd, split, depth + 1)
        finally:
            asked.pop()

    ZMQInteractiveShell.system = ZMQInteractiveShell.system_piped = system_and_tell
    _process_common.process_handler = handle_and_tell
    InteractiveShell.getoutput = getoutput_and_tell
