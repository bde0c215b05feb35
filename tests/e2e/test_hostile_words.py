"""Tests that dlaunch prints every text of an agent as printable lines of limited length with its own prefix."""
import json
import pathlib
import re
import sys

import support
from support import Case, screen

AGENT = pathlib.Path(__file__).with_name("hostile_words.py")
MOVES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class HostileWords(Case):
    def way(self, what):
        return ("--exec", f"{sys.executable} -B {AGENT} {what}", "-H", "bad:2")

    def assert_printable(self, text, most=64 << 10):
        """The text is UTF-8 without characters that move the cursor or change the direction of a line."""
        self.assertLess(len(text), most)
        shown = text.decode()  # raises if the text is not UTF-8
        self.assertIsNone(MOVES.search(shown), ascii(MOVES.search(shown)))
        self.assertNotRegex(shown, r"(?m)^(dlaunch: |dlaunch: note: |\s*)FORGED")
        self.assertNotRegex(shown, r"(?m)^dlaunch: (\d+:\d+:\d+\.\d+ )?dlaunch:")
        return shown

    def said(self, code, *args):
        result = self.run_dlaunch(*args)
        self.assert_exit(result, code)
        shown = self.assert_printable(result.stderr)
        for line in shown.splitlines():
            self.assertTrue(line.startswith("dlaunch: "), ascii(line))
        return result, shown

    def test_texts_of_a_job_are_printable(self):
        for more in ((), ("-v",), ("-vv",), ("--format", "jsonl", "-vv")):
            with self.subTest(options=more):
                result, shown = self.said(127, *more, "--report", "r.json", *self.way("words"), "-n", 2, "true")
                self.assertIn("FORGED", shown)
                self.assertRegex(shown, r"… \d+ more bytes")
                self.assertIn("processes may be left: ", shown)
                self.assertEqual(result.stdout, b"")
                record = self.assert_printable((self.dir / "r.json").read_bytes(), 256 << 20)
                self.assertEqual(json.loads(record)["exit_code"], 127)

    def test_texts_of_a_failed_connection_are_printable(self):
        for what in ("fail", "stderr"):
            with self.subTest(what):
                _, shown = self.said(125, "-vv", *self.way(what), "-n", 2, "true")
                self.assertIn("cannot use a host: ", shown)

    def test_texts_of_queried_hosts_are_printable(self):
        """In tables, findings and JSON."""
        (self.dir / "hosts").write_text("bad\nworse\n")  # without slots
        way = (*self.way("words")[:2], "--hostfile", "hosts")
        for args in (("hosts", *way), ("hosts", "--format", "json", *way), ("--dry-run", *way, "true"),
                     ("--dry-run", "--format", "json", *way, "true"), ("--display-map", *way, "true"),
                     ("check", *way, "train"), ("check", "--format", "json", *way, "train")):
            with self.subTest(args[:2]):
                result = self.run_dlaunch(*args)
                self.assertIn(result.returncode, (0, 1, 127), result.stderr[-2000:])
                self.assert_printable(result.stderr)
                self.assertIn(b"FORGED", result.stdout + result.stderr)
                shown = self.assert_printable(result.stdout, 64 << 20 if "json" in args else 64 << 10)
                if "json" in args:
                    json.loads(shown)

    def test_texts_on_a_terminal_are_printable(self):
        with self.under_pty(*self.way("words"), "-n", 2, "true") as terminal:
            code, shown = terminal.finish()
        self.assertEqual(code, 127)
        self.assert_printable(b"\n".join(screen(shown)))


if __name__ == "__main__":
    support.main()
