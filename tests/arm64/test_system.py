"""test_system.py BUILD MIXED: tests of arm64 in a virtual machine (vm.py). BUILD is the build directory for arm64, or an
installation, which has no unit tests. MIXED is a dlaunch of this machine type with the agents of both types. Prints a row
for each test and a summary. Exits with 1 if a test fails."""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import vm

MODULES = "base link topology sys stacks agent launcher".split()
# Limits of CPU time, which the emulator exceeds.
TOO_SLOW = "Jobs/Scale.*"
LINK = """#!/bin/bash
host=$1
shift
[ "$host" = arm ] || exec env HOME={home} "$@"
exec ssh -F {config} arm "$(printf '%q ' "$@")"
"""


class Tests:
    def __init__(self, machine, build, mixed, scratch):
        self.machine, self.build, self.mixed, self.scratch = machine, build, mixed, scratch
        self.rows = []
        link = scratch / "link"
        link.write_text(LINK.format(home=scratch, config=machine.config))
        link.chmod(0o755)
        self.hosts = ("--exec", f"{link} {{host}}")

    def row(self, name, passed, detail, since):
        self.rows.append((name, passed))
        print(f"{'ok  ' if passed else 'FAIL'} {name} ({time.monotonic() - since:.0f} s)", *([] if passed else [detail]), flush=True)

    def inside(self, command):
        return self.machine.ssh(command, capture_output=True, text=True, timeout=300)

    def unit(self, module):
        since = time.monotonic()
        done = self.inside(f"{self.build}/tests/unit/{module}_tests --gtest_brief=1 --gtest_filter=-{TOO_SLOW} 2>&1")
        count = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
        self.row(f"unit {module}: {count[1] if count else 'no'} tests pass", done.returncode == 0, done.stdout[-3000:], since)

    def job(self, name, words, code, expected, stderr=""):
        """A job in the machine. `expected`: the lines of the ranks, sorted."""
        since = time.monotonic()
        done = self.inside(shlex.join([f"{self.build}/bin/dlaunch", *words]))
        right = done.returncode == code and sorted(done.stdout.split("\n")[:-1]) == expected and re.search(stderr, done.stderr)
        self.row(f"job {name}", bool(right), f"{done}", since)

    def stacks(self):
        since = time.monotonic()
        done = self.inside("python3 -c 'import time; time.sleep(1000)' & pid=$!; sleep 2; "
                           f"{self.build}/bin/dlaunch stacks $pid; code=$?; kill $pid; exit $code")
        self.row("job stacks", done.returncode == 0 and "sleep" in done.stdout and "<module>" in done.stdout, f"{done}", since)

    def mixed_job(self, name, words, code, expected=None, stderr=""):
        """A job of the launcher on this machine, with an arm64 and an x86_64 host. `expected` of None: any lines."""
        since = time.monotonic()
        done = subprocess.run([self.mixed, *self.hosts, *words], env={**os.environ, "HOME": str(self.scratch)}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
        right = done.returncode == code and expected in (None, sorted(done.stdout.split("\n")[:-1])) and re.search(stderr, done.stderr)
        self.row(f"mixed {name}", bool(right), f"{done}", since)

    def nothing_left(self):
        since = time.monotonic()
        for _ in range(20):
            done = self.inside("ps -eo args | grep -E '[d]launch|[s]leep 77' | grep -v grep; ls /tmp /dev/shm")
            if not done.stdout.strip().replace("/tmp:", "").replace("/dev/shm:", "").split():
                break
            time.sleep(0.5)
        left = done.stdout.strip().replace("/tmp:", "").replace("/dev/shm:", "").split()
        self.row("mixed nothing is left in the machine", not left, done.stdout, since)

    def run(self):
        echo = ["sh", "-c", 'echo "$DLAUNCH_RANK $(uname -m)"']
        native = os.uname().machine
        self.job("two ranks", ["-n", "2", *echo], 0, ["0 aarch64", "1 aarch64"])
        self.job("failure", ["-n", "2", "sh", "-c", "exit 3"], 3, [], r"rank [01] \(host arm.*exited with code 3")
        self.job("fake hosts", ["--fake-hosts", "2x2", "sh", "-c", "echo $DLAUNCH_HOST"], 0, ["fake1", "fake1", "fake2", "fake2"])
        self.job("binding", ["-n", "2", "--bind-to", "core", "sh", "-c", "grep -o 'list.*' /proc/self/status | head -n 1"], 0,
                 ["list:\t0", "list:\t1"])
        self.stacks()
        self.mixed_job("output of both types", ["-H", "arm:2,intel:2", *echo], 0,
                       ["0 aarch64", "1 aarch64", f"2 {native}", f"3 {native}"])
        self.mixed_job("agents of the caches", ["-H", "arm:1,intel:1", *echo], 0, ["0 aarch64", f"1 {native}"])
        self.mixed_job("failure on arm64", ["-H", "intel:1,arm:1", "sh", "-c", '[ "$DLAUNCH_RANK" = 0 ] && exec sleep 77; exit 5'],
                       5, [], r"rank 1 \(host arm.*exited with code 5")
        # The agent of arm64 is lost in the first round. The spare host has another machine type.
        lose = 'echo "$DLAUNCH_ROUND $DLAUNCH_RANK $(uname -m)"; [ "$DLAUNCH_ROUND" != 0 ] || { sleep 2; [ $(uname -m) != aarch64 ] || pkill -KILL dlaunch-agent; exec sleep 77; }'
        self.mixed_job("a spare of the other type replaces a lost host",
                       ["-H", "intel:1,arm:1,other:1", "--spares", "1", "--restarts", "1", "sh", "-c", lose], 0,
                       ["0 0 " + native, "0 1 aarch64", "1 0 " + native, "1 1 " + native], r"arm: .*restart 1 of 1")
        self.nothing_left()
        for module in MODULES if os.path.exists(f"{self.build}/tests") else []:
            self.unit(module)


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # removes the machine and its files
    build, mixed = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="dlaunch-arm64-") as scratch:
        since = time.monotonic()
        with vm.machine() as machine:
            print(f"==> {machine.ssh('uname -srm', capture_output=True, text=True).stdout.strip()}: booted after "
                  f"{time.monotonic() - since:.0f} s", flush=True)
            tests = Tests(machine, build, mixed, pathlib.Path(scratch))
            tests.run()
    failed = [name for name, passed in tests.rows if not passed]
    print(f"==> {len(tests.rows) - len(failed)} of {len(tests.rows)} passed" + "".join(f"\n    failed: {name}" for name in failed))
    print(f"    not run: {TOO_SLOW}: the emulator exceeds the limits of CPU time of these tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
