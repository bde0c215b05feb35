"""Each sentence of the sources that end a job has a row in the simulator's table (promises/sentence_table.h).

Usage: test_sentences.py SIMULATE
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = [ROOT / "src/report" / name for name in ("summary.cpp",)]
SOURCES += sorted((ROOT / "src/job").glob("*.cpp"))
SIMULATE = ""

COMMENT_OR_STRING = re.compile(r'//[^\n]*|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)*\'')

def literals(text):
    """The string literals of C++ code; adjacent ones are joined. Without includes."""
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    found, end_at = [], None
    for match in COMMENT_OR_STRING.finditer(text):
        if match.group(1) is None:
            continue
        value = match.group(1).replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        if end_at is not None and not text[end_at:match.start()].strip():
            found[-1] += value
        else:
            found.append(value)
        end_at = match.end()
    return found


def is_of_a_sentence(literal):
    """Two words, or a word with a space on one side: a name or a separator is neither."""
    words = re.findall(r"[A-Za-z]{2,}", literal)
    return bool(words) and " " in literal and literal.strip(" :;,.()") not in ("", "s")


def plain(pattern):
    """The words of a pattern, without the escapes of RE2."""
    return re.sub(r"\\(.)", r"\1", pattern)


def rows():
    output = subprocess.run([SIMULATE, "--sentences"], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in output.splitlines() if not line.startswith("#")]


class Sentences(unittest.TestCase):
    def test_each_sentence_has_a_row(self):
        patterns = [plain(row[1]) for row in rows()]
        self.assertGreater(len(patterns), 50)
        missing, number = [], 0
        for path in SOURCES:
            for literal in literals(path.read_text()):
                for line in literal.split("\n"):
                    if not is_of_a_sentence(line):
                        continue
                    number += 1
                    if not any(line in pattern or line.strip(" ") in pattern for pattern in patterns):
                        missing.append(f"{path.relative_to(ROOT)}: {line!r}")
        self.assertGreater(number, 50)
        self.assertEqual(missing, [])

    def test_a_new_sentence_is_found(self):
        code = 'lines.add("the moon is full"\n  " today");  // "no sentence here"\n#include "a b c"\n'
        self.assertEqual(literals(code), ["the moon is full today"])
        patterns = [plain(row[1]) for row in rows()]
        self.assertFalse(any("the moon is full today" in pattern for pattern in patterns))

    def test_each_row_without_a_check_has_a_reason(self):
        kinds = [row[0] for row in rows()]
        self.assertEqual(set(kinds), {"checked", "not simulated"})
        self.assertEqual([row for row in rows() if row[0] == "not simulated" and len(row[2]) < 10], [])
        self.assertGreater(kinds.count("checked"), 3 * kinds.count("not simulated") - 10)


if __name__ == "__main__":
    SIMULATE = sys.argv.pop(1)
    unittest.main(verbosity=2)
