# Runs one command and shows what it writes as it comes; its exit status is told
# as a display. `given` is {"argv", "env", "cwd"}.
def run(given):
    import os
    import subprocess
    import sys
    import threading

    from IPython.display import publish_display_data

    def pass_on(pipe, stream):
        import codecs

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := os.read(pipe.fileno(), 65536):
            stream.write(decoder.decode(chunk))
            stream.flush()
        if rest := decoder.decode(b"", True):
            stream.write(rest)

    try:
        process = subprocess.Popen(
            given["argv"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=given["cwd"] or None,
            env=os.environ | given["env"],
            start_new_session=True,
        )
    except OSError as problem:
        sys.stderr.write(f"{problem}\n")
        status = 127
    else:
        threads = [
            threading.Thread(target=pass_on, args=pair, daemon=True)
            for pair in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
        ]
        for thread in threads:
            thread.start()
        try:
            status = process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, 9)
            status = process.wait()
        for thread in threads:  # a child left behind may hold the pipes for good
            thread.join(1)
    publish_display_data({"application/vnd.cellpost.exit+json": {"status": status}})
