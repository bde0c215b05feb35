"""Tests side_by_side.py: the output of each test is printed, and a test that fails, dies or is skipped does not count
as passed."""
import os
import pathlib
import subprocess
import sys
import unittest

import support
from side_by_side import parts, takes_long

FILE = '''
import os, pathlib, sys, time, unittest
sys.path.insert(0, sys.argv.pop(1))
import support
from side_by_side import takes_long

class Meeting(unittest.TestCase):
    """Each waits for the other."""
    def meet(self, mine, other):
        pathlib.Path(mine).touch()
        self.assertTrue(support.wait_until(pathlib.Path(other).exists))
    def test_one(self):
        self.meet("one", "other")
    def test_other(self):
        self.meet("other", "one")

class Bad(unittest.TestCase):
    def test_fails(self):
        self.assertEqual(1, 2, "that is wrong")
    def test_fails_in_a_part(self):
        with self.subTest("a part"):
            self.fail("that part is wrong")
    def test_dies(self):
        os._exit(0)
    def test_is_killed(self):
        os.kill(os.getpid(), 9)
    def test_raises(self):
        raise SystemExit(0)

class Skipped(unittest.TestCase):
    def test_skipped(self):
        self.skipTest("nothing is here")

class Fixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pid = os.getpid()
    def test_in_one_process(self):
        self.assertEqual(self.pid, os.getpid())
    def test_in_the_same(self):
        self.assertEqual(self.pid, os.getpid())

support.main(side_by_side=2)
'''


class SideBySide(unittest.TestCase):
    def run_tests(self, *names, skips=""):
        place = support.tempfile.mkdtemp(prefix="dlaunch-e2e-")
        self.addCleanup(support.shutil.rmtree, place)
        file = pathlib.Path(place) / "test_it.py"
        file.write_text(FILE)
        return subprocess.run([sys.executable, "-B", file, pathlib.Path(__file__).resolve().parent, *names], cwd=place,
                              env=os.environ | {"NO_SKIP": skips}, capture_output=True, text=True, timeout=60, check=False)

    def test_tests_run_in_parallel(self):
        done = self.run_tests("Meeting", "Fixture")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 tests, up to 2 at a time", done.stderr)

    def test_each_failure_is_counted(self):
        for name, said in (("fails", "that is wrong"), ("fails_in_a_part", "that part is wrong"), ("dies", "its process ended"),
                           ("is_killed", "its process ended"), ("raises", "SystemExit: 0")):
            with self.subTest(name):
                done = self.run_tests("Meeting", f"Bad.test_{name}")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertIn(f"test_{name}", done.stderr)
                self.assertIn("FAILED", done.stderr)

    def test_skipped_tests_are_reported(self):
        self.assertEqual(self.run_tests("Skipped").returncode, support.SKIPPED)
        self.assertEqual(self.run_tests("Skipped", "Meeting").returncode, 0)
        done = self.run_tests("Skipped", "Meeting", skips="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("test_skipped (__main__.Skipped", done.stderr)
        self.assertIn("nothing is here", done.stderr)

    def test_long_tests_start_first(self):
        class Order(unittest.TestCase):
            def test_a(self):
                """Short."""

            def test_b(self):
                """Short."""

            @takes_long
            def test_c(self):
                """Long."""

        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Order)
        self.assertEqual([test.id()[-6:] for part in parts(suite) for test in part], ["test_c", "test_a", "test_b"])


if __name__ == "__main__":
    support.main()
