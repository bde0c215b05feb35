"""Strangers that connect to the port at which a launcher waits for its nodes: garbage, HTTP, TLS, incomplete messages,
silence."""
import contextlib
import itertools
import os
import pathlib
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import namespaces  # noqa: E402

HELD = 40  # open connections at a time
PAUSE = 0.002  # seconds between two connections
WORDS = (b"", b"d", b"dlaunch", b"GET / HTTP/1.1\r\nHost: head\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", os.urandom(4096), b"\0" * 65536)


class Callers(threading.Thread):
    """Connects from `host` repeatedly until stop()."""

    def __init__(self, host, to):
        super().__init__(daemon=True)
        self.namespace, self.to = f"/proc/{host.pid}/ns/net", to
        self.over = threading.Event()
        self.start()

    def run(self):
        fd = os.open(self.namespace, os.O_RDONLY)
        namespaces.setns(fd)  # for this thread only
        os.close(fd)
        held = []
        for words in itertools.cycle(WORDS):
            if self.over.is_set():
                break
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(self.to, timeout=0.2))
                held[-1].send(words)
            for old in held[:-HELD]:
                old.close()
            del held[:-HELD]
            time.sleep(PAUSE)
        for each in held:
            each.close()

    def stop(self):
        self.over.set()
