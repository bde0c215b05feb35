"""Compares the plan or error of each row in tests/golden/table with the recorded text. README.md describes the rows.

    DLAUNCH=build/dev/bin/dlaunch python3 -B tests/golden/test_table.py

DLAUNCH_UPDATE_GOLDEN=1 writes today's results into the files. ROWS=TEXT runs only the rows whose file or title contains
TEXT."""
import concurrent.futures
import difflib
import itertools
import os
import pathlib
import re
import tempfile
import unittest

import rows

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "table"
CORPUS = [HERE.parent / "corpus" / name for name in ("lines.tsv", "spellings.tsv")]
DLAUNCH = pathlib.Path(os.environ["DLAUNCH"]).resolve()
UPDATE = bool(os.environ.get("DLAUNCH_UPDATE_GOLDEN"))
ONLY = os.environ.get("ROWS", "")
LEAST_OWN, LEAST = 350, 600
HOW = "After an intended change run the test with DLAUNCH_UPDATE_GOLDEN=1, and give the reason of each changed row in the commit."


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = {path: rows.read_file(path) for path in sorted(TABLE.glob("*.txt"))}
        cls.rows = [row for _, of_file in cls.files.values() for row in of_file]

    def test_each_row_has_its_recorded_result(self):
        chosen = [row for row in self.rows if ONLY in row.file or ONLY in row.title]
        self.assertTrue(chosen, f"no row contains {ONLY}")
        threads = len(os.sched_getaffinity(0))
        cpus = itertools.cycle(sorted(os.sched_getaffinity(0)))
        with tempfile.TemporaryDirectory(prefix="dlaunch-golden-") as scratch:
            scratch = pathlib.Path(scratch).resolve()
            (scratch / "program").write_text(rows.PROGRAM)
            (scratch / "program").chmod(0o755)
            # All files exist before the first dlaunch starts: otherwise a forked child could hold a program open for
            # writing, and the program could not start.
            places = [rows.Place(row, scratch / str(number), DLAUNCH) for number, row in enumerate(chosen)]
            # Each thread and its dlaunch have one CPU: a plan does not depend on the CPUs of the machine.
            with concurrent.futures.ThreadPoolExecutor(threads, initializer=lambda: os.sched_setaffinity(0, [next(cpus)])) as pool:
                results = list(pool.map(rows.Place.result, places))
        different = []
        for row, (result, ran) in zip(chosen, results):
            self.assertFalse(ran, f"{row.file}: {row.title}: the program of a rank ran")
            if result != row.expected:
                different += [f"{row.file}: {row.title}", f"$ {row.line}",
                              *difflib.unified_diff(row.expected, result, "recorded", "today", lineterm="")]
                row.expected = result
        if UPDATE:
            for path, (introduction, of_file) in self.files.items():
                rows.write_file(path, introduction, of_file)
        elif different:
            self.fail("\n".join([f"{sum(line == '--- recorded' for line in different)} rows differ:", *different, HOW]))

    def test_table_has_enough_rows(self):
        corpus = sum(len(path.read_text(encoding="utf-8").splitlines()) - 1 for path in CORPUS)
        self.assertGreaterEqual(len(self.rows), LEAST_OWN)
        self.assertGreaterEqual(len(self.rows) + corpus, LEAST)

    def test_each_row_is_different(self):
        inputs, titles = {}, set()
        for row in self.rows:
            self.assertFalse(row.key in inputs, f"{row.file}: {row.title} equals {inputs.get(row.key)}")
            self.assertFalse((row.file, row.title) in titles, f"{row.file} has two rows {row.title}")
            inputs[row.key] = f"{row.file}: {row.title}"
            titles.add((row.file, row.title))

    def test_folder_contains_only_files_of_the_table(self):
        self.assertEqual([path for path in sorted(TABLE.iterdir()) if path not in self.files], [])
        for path, (introduction, of_file) in self.files.items():
            self.assertTrue(introduction and of_file, f"{path} needs an introduction (## TEXT) and rows")

    def test_name_of_this_machine_is_no_host_of_the_table(self):
        name = re.compile(rf"(?<![\w.-]){re.escape(os.uname().nodename)}(?![\w.-])")
        for row in self.rows:
            self.assertIsNone(name.search("\n".join(row.head[1:])), f"{row.file}: {row.title}: a host has the name of this machine")

    def test_malformed_files_are_errors(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "a.txt"
            for text in ("x\n", "# a\n", "# a\nenv X\n$ dlaunch a\n", "# a\nwords\n$ dlaunch a\n", "# a\n\n$ dlaunch a\n",
                         "# a\n$ other a\n",
                         "# a\n$ dlaunch a\nexit 0\nwords\n", "# a\n| text\n$ dlaunch a\n", "# a\nenv X=1 X=2\n$ dlaunch a\n"):
                path.write_text(text)
                with self.assertRaises(rows.Malformed, msg=text):
                    rows.read_file(path)


if __name__ == "__main__":
    unittest.main()
