"""Runs tests in parallel, each in its own process: for files whose tests mostly wait for timeouts and grace periods.
Not for tests that need the processors or measure speed."""
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import namespaces  # noqa: E402


def takes_long(test):
    """Decorates a class or a test that starts before the others."""
    test.takes_long = True
    return test


class SideBySide:
    """A runner for unittest.main(). The tests of a class with setUpClass() run in one process, one after the other."""

    def __init__(self, at_once):
        self.at_once = at_once

    def run(self, suite):
        """Prints the output of each test when it has ended. If a process dies, its test has failed."""
        result = unittest.TestResult()
        waiting, running = parts(suite), {}
        start = time.monotonic()
        while waiting or running:
            while waiting and len(running) < self.at_once:
                part = Part(waiting.pop(0))
                running[part.pid] = part
            pid, status = os.wait()
            running.pop(pid).finish(status, result)
        took = f"{result.testsRun} tests, up to {self.at_once} at a time, in {time.monotonic() - start:.1f} s"
        print(f"{took}: {'OK' if result.wasSuccessful() else 'FAILED'}", file=sys.stderr, flush=True)
        return result


class Part:
    """A process that runs a suite; finish() collects the result."""

    def __init__(self, suite):
        self.suite = suite
        self.said, self.told = tempfile.TemporaryFile(), tempfile.TemporaryFile("w+")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._be()

    def _be(self):
        """Runs the suite and never returns. Does not run the parent's code (such as atexit handlers)."""
        code = 1
        try:
            namespaces.die_with_parent()
            for stream in (1, 2):
                os.dup2(self.said.fileno(), stream)
            sys.stdout = open(1, "w", buffering=1, closefd=False)
            sys.stderr = open(2, "w", buffering=1, closefd=False)
            done = unittest.TextTestRunner(verbosity=2).run(self.suite)
            skipped = [(str(test), why) for test, why in done.skipped]
            json.dump({"run": done.testsRun, "skipped": skipped, "successful": done.wasSuccessful()}, self.told)
            self.told.flush()
            sys.stdout.flush()
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)

    def finish(self, status, result):
        self.said.seek(0)
        sys.stderr.write(self.said.read().decode(errors="replace"))
        sys.stderr.flush()
        self.told.seek(0)
        text = self.told.read()
        told = json.loads(text or '{"run": 1, "skipped": [], "successful": false}')
        if not text:
            print(f"FAIL: its process ended with status {status}: {self.suite}", file=sys.stderr, flush=True)
        result.testsRun += told["run"]
        result.skipped += told["skipped"]
        if not told["successful"]:
            result.failures.append((self.suite, "printed above"))
        self.said.close()
        self.told.close()


def parts(suite):
    """The suites that can run in parallel; long ones first."""
    found = {}
    for test in flat(suite):
        alone = type(test).setUpClass.__func__ is unittest.TestCase.setUpClass.__func__
        found.setdefault(test.id() if alone else type(test), []).append(test)
    ordered = sorted(found.values(), key=lambda tests: not any(map(is_long, tests)))
    return [unittest.TestSuite(tests) for tests in ordered]


def is_long(test):
    return hasattr(test, "takes_long") or hasattr(getattr(test, test.id().rpartition(".")[2], None), "takes_long")


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test
