"""Every `console` block of README.md and docs is true: its commands run here, and print what the page shows.

A block has lines of "$ COMMAND" (continued after a backslash by "> " lines), each followed by its output. The blocks of a page
run in one directory, which has examples/ and copies of its programs. "$ cat FILE" makes the file from the output that
follows, if the file does not exist. The output matches if its lines do, in any order: ranks print in any order. Numbers that differ between
runs are not compared: pids, times, job ids, sizes. A line "…" stands for any lines.
"""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import support
from support import Case

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIMIT = 60
VARIES = [
    (re.compile(r"\bpid \d+(, \d+)*"), "pid N"),
    (re.compile(r"\b\d+\.\d+ % CPU\b"), "N % CPU"),
    (re.compile(r"\bprogress \d+, median of all ranks \d+"), "progress N, median of all ranks N"),
    (re.compile(r"\bseed \d+"), "seed N"),
    (re.compile(r"\b\d+\.\d+ s\b|\b\d+ ms\b"), "N s"),
    (re.compile(r"\b\d+(\.\d+)? [KMGT]iB\b"), "N GiB"),
    (re.compile(r"\b\d\d\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8,40}\b"), "ID"),
    # A rank may end by itself just before dlaunch stops it.
    (re.compile(r"\bstopped (the )?(\d+ )?other ranks?\b"), "stopped other ranks"),
    (re.compile(r"\bhost " + re.escape(os.uname().nodename) + r"\b|\bhost vm\b"), "host HERE"),
    (re.compile(r"^( *)(vm|" + re.escape(os.uname().nodename) + r")\b"), r"\1HERE"),
]


def blocks(text):
    """(line number, lines) of each console block."""
    inside, first, found = False, 0, []
    for number, line in enumerate(text.split("\n"), 1):
        if inside and line.startswith("```"):
            yield first, found
            inside = False
        elif inside:
            found.append(line)
        elif line.strip() == "```console":
            inside, first, found = True, number, []


def commands(lines):
    """(command, lines of output) of a block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and line.startswith("> ") and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] = found[-1][0][:-1] + line[2:]
        elif found:
            found[-1][1].append(line)
    return [(command, output[:-1] if output and not output[-1] else output) for command, output in found]


def normal(line):
    for pattern, text in VARIES:
        line = pattern.sub(text, line)
    return re.sub(r"\s+", " ", line).strip()


def same(shown, printed):
    """Whether the page and the program agree. A line of the page with … inside matches any text there."""
    left = [normal(line) for line in printed if line.strip()]
    any_lines = False
    for line in shown:
        line = normal(line)
        if line in ("…", "..."):
            any_lines = True
        elif line in left:
            left.remove(line)
        elif "…" in line:
            pattern = re.compile(".*".join(re.escape(part) for part in line.split("…")))
            match = next((other for other in left if pattern.fullmatch(other)), None)
            if match is None:
                return False
            left.remove(match)
        elif line:
            return False
    return any_lines or not left


class Examples(Case):
    def setUp(self):
        super().setUp()
        for path in (ROOT / "examples").glob("*.py"):
            shutil.copy(path, self.dir)
        shutil.copytree(ROOT / "examples", self.dir / "examples")

    def shell(self, command):
        path = f"{pathlib.Path(support.DLAUNCH).parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", command], cwd=self.dir, env=self.env | {"PATH": path}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
        return done.stdout.decode(errors="replace").split("\n")[:-1]

    def check(self, page):
        for first, lines in blocks(page.read_text()):
            for command, shown in commands(lines):
                made = re.fullmatch(r"cat ([\w./-]+)", command)
                if made and shown and not (pathlib.Path(self.dir) / made.group(1)).exists():
                    (pathlib.Path(self.dir) / made.group(1)).write_text("\n".join(shown) + "\n")
                with self.subTest(f"{page.relative_to(ROOT)}:{first}: {command}"):
                    printed = self.shell(command)
                    if not same(shown, printed):
                        self.fail("the page shows:\n{}\nthe program prints:\n{}".format("\n".join(shown), "\n".join(printed)))


def add_page(page):
    name = "test_" + re.sub(r"\W", "_", str(page.relative_to(ROOT))).removesuffix("_md").lower() + "_shows_true_output"
    setattr(Examples, name, lambda self: self.check(page))


for found_page in PAGES:
    if "```console" in found_page.read_text():
        add_page(found_page)


class Matching(unittest.TestCase):
    def test_order_and_varying_numbers_are_not_compared(self):
        self.assertTrue(same(["[0] a", "[1] pid 17 after 0.42 s"], ["[1] pid 9 after 3.10 s", "[0] a"]))

    def test_different_missing_and_additional_lines_do_not_match(self):
        self.assertFalse(same(["a"], ["b"]))
        self.assertFalse(same(["a", "a"], ["a"]))
        self.assertFalse(same(["a"], ["a", "b"]))
        self.assertTrue(same(["a", "…"], ["a", "b"]))
        self.assertTrue(same(["x … z"], ["x y z"]))

    def test_commands_and_output_are_split(self):
        self.assertEqual(commands(["$ a \\", "> b", "out", "$ c"]), [("a  b".replace("  ", " "), ["out"]), ("c", [])])


if __name__ == "__main__":
    support.main()
