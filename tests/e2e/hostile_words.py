"""A hostile agent that puts control characters into every text that it sends. dlaunch starts it as the command of
--exec; it runs the bootstrap, then the wire protocol. The first argument is the kind of attack; further arguments are
ignored."""
import os
import struct
import sys

# A window title, a cleared screen, C1 controls, a right-to-left override, invalid UTF-8, and lines that look like
# dlaunch's own.
TEXT = b"\x1b]0;title\x07\x1b[2J\x9b?1049h\xc2\x9b2J\xe2\x80\xae\r\ndlaunch: FORGED\r\ndlaunch: note: FORGED\n\xff\x7f\x08"
LONG = TEXT + b"x" * (200 << 10)  # below the limit of 256 KiB for a text frame
SETUP, SPAWN, FINISH, QUERY_HOST, PING = 1, 3, 8, 10, 16
HELLO, NOT_STARTED, LOG, CLEAN, FACTS = 32, 34, 38, 39, 40


def string(text):
    return struct.pack("<I", len(text)) + text


def strings(*texts):
    return struct.pack("<I", len(texts)) + b"".join(map(string, texts))


def numbers(*values):
    return struct.pack(f"<I{len(values)}I", len(values), *values)


def write(data):
    while data:
        data = data[os.write(1, data):]


def send(kind, fields):
    write(struct.pack("<IB", 1 + len(fields), kind) + fields)


class Input:
    def __init__(self):
        self.data = b""

    def more(self):
        got = os.read(0, 65536)
        if not got:
            sys.exit(0)
        self.data += got

    def script(self):
        """Reads the bootstrap script and returns its nonce."""
        while not self.data.endswith(b'exec "$a" "$@"\n}\n'):
            self.more()
        nonce = self.data[2:self.data.index(b" ")]
        self.data = b""
        return nonce

    def frame(self):
        while len(self.data) < 5 or len(self.data) < 4 + struct.unpack_from("<I", self.data)[0]:
            self.more()
        size = struct.unpack_from("<I", self.data)[0]
        kind, fields = self.data[4], self.data[5:4 + size]
        self.data = self.data[4 + size:]
        return kind, fields


def count_lists(fields):
    """The number of strings in each of the three lists after the first string of a QueryHost."""
    at = 4 + struct.unpack_from("<I", fields)[0]
    counts = []
    for _ in range(3):
        count = struct.unpack_from("<I", fields, at)[0]
        at += 4
        for _ in range(count):
            at += 4 + struct.unpack_from("<I", fields, at)[0]
        counts.append(count)
    return counts


def answer_query(fields):
    wdirs, programs, names = count_lists(fields)
    send(FACTS, struct.pack("<q", 0) + string(TEXT) + struct.pack("<I", 2) + string(LONG) + b"\0" + numbers() + string(TEXT) +
         struct.pack("<qq", -1, -1) + numbers(*[0] * wdirs) + strings(*[b""] * programs) + strings(*[TEXT] * programs) +
         strings(*[TEXT] * names) + string(TEXT) + strings(TEXT) + strings() + numbers() + numbers(*[2] * programs))


def main(what):
    given = Input()
    nonce = given.script()
    if what == "stderr":
        os.write(2, TEXT + b"\n" + TEXT)
        sys.exit(1)
    write(TEXT)
    if what == "fail":
        return write(b"\ndlaunch:" + nonce + b" fail " + TEXT.replace(b"\n", b"") + b"\n")
    write(b"\ndlaunch:" + nonce + b" ready x86_64\n")
    version = None
    while True:
        kind, fields = given.frame()
        if kind == SETUP:
            version = fields[:4]
            send(HELLO, version + string(TEXT) + string(TEXT) + struct.pack("<Iq", 1, 0) + string(TEXT))
            for level in range(4):
                send(LOG, bytes([level]) + string(TEXT))
                send(LOG, bytes([level]) + string(LONG))
        elif kind == QUERY_HOST:
            answer_query(fields)
        elif kind == SPAWN:
            send(NOT_STARTED, fields[:4] + struct.pack("<I", 2) + string(LONG) + struct.pack("<q", 5))
        elif kind == FINISH:
            send(CLEAN, strings(TEXT, LONG))
        elif kind == PING:
            send(PING, b"")


if __name__ == "__main__":
    main(sys.argv[1])
