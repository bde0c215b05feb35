"""Compares output with the lines that numbered_lines wrote: the same lines in the same order, complete, not doubled and
not mixed; in a job of several rounds, one round after the other. PURE."""
import base64
import json
import re

from draw import ROUND

LABEL = re.compile(rb"\[ *(\d+)\] ")


def line(rank, stream, number, length):
    """The line that tests/programs/numbered_lines.cpp writes, without the newline."""
    letters = (rank * 31 + number * 17 + (7 if stream == "e" else 0)) % length
    return b"%d:%s:%d:" % (rank, stream.encode(), number) + bytes([97 + (rank + number) % 26]) * letters


class Streams:
    """The output of each rank's streams, and its errors."""

    def __init__(self, length):
        self.length = length
        self.count = {}  # (rank, stream, round): number of whole lines so far
        self.cut = {}  # (rank, stream, round): an incomplete line; the last line of an ended rank
        self.round = {}  # (rank, stream): the round of the last line
        self.only = None  # the required round of all lines, if known
        self.wrong = []

    def _key_of(self, found):
        """The key of a text that begins as a line."""
        rank, stream, number = int(found[1]), found[2].decode(), int(found[3])
        round_ = (number - 1) // ROUND if number else 0
        if round_ < self.round.get((rank, stream), 0) or self.only not in (None, round_):
            self._complain(f"{found[0]!r} is of round {round_}, and came as of round {self.round.get((rank, stream), 0) if self.only is None else self.only}")
        self.round[(rank, stream)] = round_
        return rank, stream, round_

    def _next(self, key):
        """The next line of a rank's stream."""
        rank, stream, round_ = key
        return line(rank, stream, round_ * ROUND + self.count.get(key, 0) + 1, self.length)

    def whole(self, text, rank=None):
        """Adds a terminated line. `rank`: the required rank, if known."""
        found = re.match(rb"(\d+):([oe]):(\d+):", text)
        if not found:
            return self.partial(text)
        key = self._key_of(found)
        number = self.count.get(key, 0) + 1
        if text != self._next(key) or (rank is not None and rank != key[0]):
            if self._next(key).startswith(text):
                return self.partial(text)
            return self._complain(f"rank {key[0]}'s line {number} of {key[1]} should have come, and {text[:80]!r} came")
        if key in self.cut:
            self._complain(f"a line of rank {key[0]} was cut, {self.cut[key][:80]!r}, and others follow")
        self.count[key] = number

    def partial(self, text):
        """Adds the beginning of a line of any rank."""
        found = re.match(rb"(\d+):([oe]):(\d+):", text)
        if not found:
            if not re.fullmatch(rb"\d*|\d+:[oe]?|\d+:[oe]:\d*", text):
                self._complain(f"no rank wrote {text[:80]!r}")
            return
        key = self._key_of(found)
        if key in self.cut or not self._next(key).startswith(text):
            return self._complain(f"torn, doubled or lost around {text[:80]!r} of rank {key[0]}")
        self.cut[key] = text

    def text(self, data):
        """Adds lines as on the console."""
        *whole, last = data.split(b"\n")
        for one in whole:
            self.whole(one)
        if last:
            self.partial(last)

    def labelled(self, data):
        *whole, last = data.split(b"\n")
        for one in whole:
            found = LABEL.match(one)
            if found:
                self.whole(one[found.end():], int(found[1]))
            else:
                self._complain(f"no label: {one[:80]!r}")
        if last and (found := LABEL.match(last)):
            self.partial(last[found.end():])

    def jsonl(self, data):
        """The last line may be incomplete if the launcher was killed."""
        *whole, _ = data.split(b"\n")
        pending = {}
        for one in whole:
            said = json.loads(one)
            key = said["rank"], said["stream"], said.get("round", 0)
            bytes_ = said["text"].encode() if "text" in said else base64.b64decode(said["base64"])
            bytes_ = pending.pop(key, b"") + bytes_
            self.only = key[2]
            if said.get("eol", True):
                self.whole(bytes_, said["rank"])
            else:
                pending[key] = bytes_
        for (*_, self.only), bytes_ in pending.items():
            self.partial(bytes_)
        self.only = None

    def missing(self, rank, lines, round_=0):
        """Reports missing lines of a rank that wrote all its lines in a round."""
        for stream in "oe":
            came = self.count.get((rank, stream, round_), 0)
            if came != lines:
                self._complain(f"rank {rank} wrote {lines} lines on {stream} and {came} came")

    def _complain(self, text):
        if len(self.wrong) < 10:
            self.wrong.append(text)
