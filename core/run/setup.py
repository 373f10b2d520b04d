import faulthandler, signal, sys

# A dump of the running stack on demand: SIGUSR2 works in C, without the GIL,
# so it names the line even of a cell that answers to nothing else.
try:
    sys._cellpost_stack = open(stack_path, "w")
    faulthandler.register(
        signal.SIGUSR2, file=sys._cellpost_stack, all_threads=False
    )
except Exception:
    pass

# Output that a crash would swallow is at most this old.
for stream in (sys.stdout, sys.stderr):
    try:
        stream.flush_interval = 0.03
    except Exception:
        pass
