"""Shared by all end-to-end tests: runs the binary under a time limit, on pipes or under a pty, and checks that no
process of the job is left. DLAUNCH is the binary, PROGRAMS the folder of tests/programs, SANITIZE the sanitizers of the
build."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import uuid

from promises import HERE
from side_by_side import SideBySide  # adds tests/testbed to the path

import processes  # noqa: E402

DLAUNCH = os.environ["DLAUNCH"]
PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
SANITIZED = bool(os.environ.get("SANITIZE"))
MARKER = "E2E_MARKER"  # in the environment of every process that a test starts; unique per test
INTERRUPTED_REPORT = re.compile(r"==\S+==Unable to get registers from thread \d+\.\s*")
REPORTS = PROGRAMS.parent.parent / "sanitizer-reports"  # cmake/sanitizer_options.cpp sets this folder
TIMEOUT = 60 if SANITIZED else 30
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
SKIPPED = 77  # exit code that ctest shows as skipped
NO_SKIP = bool(os.environ.get("NO_SKIP"))  # scripts/test has installed everything that a test may need
# The reasons that NO_SKIP permits: of the kernel, which no package changes, and of tests/testbed/debian.
MAY_SKIP = "|".join(filter(None, ["the kernel ", os.environ.get("MAY_SKIP")]))


def of_process(pid, file):
    """The content of a file in /proc/PID, or b"" if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def program(name):
    """The path of a test program (tests/programs)."""
    return str(PROGRAMS / name)


def sh(script):
    """The command line that runs a shell script as the rank's program."""
    return ["sh", "-c", script]


def open_files(pid):
    """The targets of the process's descriptors. Descriptors that the process closes meanwhile may be missing."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


class Job(processes.Job):
    def __exit__(self, failure, *rest):
        if failure:
            self.kill()  # else Popen waits for the job
        super().__exit__(failure, *rest)


class Case(unittest.TestCase):
    """One test: a scratch directory as cwd and home, a clean environment, and no process left at the end."""

    place = HERE
    leaves = 10  # seconds until the job's processes must be gone

    def setUp(self):
        self.marker = uuid.uuid4().hex
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="dlaunch-e2e-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.addCleanup(self.kill_leftovers)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DLAUNCH") and k != "NO_COLOR"}
        self.env = kept | {"HOME": str(self.dir), MARKER: self.marker}

    def tearDown(self):
        self.assert_nothing_left()
        self.assert_no_reports()

    def run_dlaunch(self, *args, timeout=TIMEOUT, env=None, **options):
        """Runs dlaunch to its end. Returns a subprocess.CompletedProcess with bytes. stdin is /dev/null without `input`
        and `stdin`."""
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        for stream in ("stdout", "stderr"):
            options.setdefault(stream, subprocess.PIPE)
        with self.start(*args, env=env, stdin=subprocess.PIPE if "input" in options else options.pop("stdin"),
                        **{k: v for k, v in options.items() if k != "input"}) as job:
            try:
                out, err = job.communicate(options.get("input"), timeout)
            except subprocess.TimeoutExpired:
                job.kill()
                self.kill_leftovers()  # else they keep the pipes open
                out, err = job.communicate()
                self.fail(f"hung for {timeout} s: dlaunch {args}\nstdout: {out!r}\nstderr: {err!r}")
        return subprocess.CompletedProcess(args, job.returncode, out, err)

    def start(self, *args, env=None, before=(), **options):
        """Starts a job. A job that still runs at the end of the test is killed. `before`: a command line that starts
        dlaunch."""
        options.setdefault("cwd", self.dir)
        job = Job([*map(str, before), DLAUNCH, *map(str, args)], env=self.env | (env or {}), **options)
        self.addCleanup(lambda: job.poll() is None and (job.kill(), job.wait()))
        return job

    def assert_exit(self, result, code):
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout: {result.stdout!r}\nstderr: {result.stderr!r}")

    def assert_succeeds(self, *args, **options):
        """Requires exit code 0 and an empty stderr. Returns stdout."""
        result = self.run_dlaunch(*args, **options)
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        return result.stdout

    # ---- processes ----

    def processes(self):
        """The processes of this test: {pid: command line}. Zombies are missing because they have no environment."""
        mark = f"{MARKER}={self.marker}".encode()
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found[int(pid)] = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return found

    def assert_nothing_left(self, within=None):
        wait_until(lambda: not self.processes(), self.leaves if within is None else within)
        left = self.processes()
        self.assertEqual(left, {}, "processes of the job are left")

    def assert_no_reports(self):
        """No report of a sanitizer exists. A report may belong to a test that runs at the same time."""
        found = {report.name: report.read_text(errors="replace") for report in REPORTS.glob("*")}
        for name in found:
            (REPORTS / name).unlink(missing_ok=True)
        # The leak checker prints this text if its process is killed while it runs.
        found = {name: text for name, text in found.items() if not INTERRUPTED_REPORT.fullmatch(text)}
        self.assertEqual(found, {}, "\n".join(found.values()))

    def mount_small_disk(self):
        """Mounts a file system of 256 KiB until the end of the test. Returns its directory."""
        disk = self.dir / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "dlaunch-e2e", disk],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        return disk

    def kill_leftovers(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def find(self, part):
        """The pids of the test's processes whose command line contains `part`."""
        return [pid for pid, command in self.processes().items() if part in command]

    @contextlib.contextmanager
    def under_pty(self, *args, rows=24, columns=80, env=None, before=()):
        """Runs a job with a controlling terminal for its three streams. Yields a Terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        modes = termios.tcgetattr(slave)

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        job = self.start(*args, env=env, before=before, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                         preexec_fn=take_terminal)
        os.close(slave)
        try:
            yield Terminal(job, master, modes)
        finally:
            os.close(master)
            if job.poll() is None:
                job.kill()
            job.wait()


class Terminal:
    """The user's side of a pty."""

    def __init__(self, job, master, modes):
        self.job = job
        self.master = master
        self.modes = modes  # before the job
        self.seen = b""

    def type(self, data):
        os.write(self.master, data)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted, timeout=TIMEOUT, after=b"", times=1):
        """Returns the output so far once `wanted` appears `times` times after the last `after`, or the job has closed
        its side."""
        deadline = time.monotonic() + timeout
        while wanted is None or self.seen[self.seen.rindex(after) if after else 0:].count(wanted) < times:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {wanted!r} within {timeout} s, only {self.seen!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: no process has the other side open
                data = b""
            if not data:
                break
            self.seen += data
        return self.seen

    def finish(self, timeout=TIMEOUT):
        """The job's exit code and its complete output."""
        self.read_until(None, timeout)
        return self.job.wait(timeout), self.seen


CLEAR = b"\x1b[J"  # erases a status line, which is below the cursor
STATUS = re.compile(re.escape(CLEAR + b"\x1bD\x1b[A\x1b7\x1bE") + b"(.*?)" + re.escape(b"\x1b8"), re.S)


def screen(shown):
    """The lines that remain visible, without erased text. A busy machine shows status lines that a quiet one does not
    show."""
    last = list(STATUS.finditer(shown))[-1:]
    status = [m[1] for m in last if CLEAR not in shown[m.end():]]
    return STATUS.sub(b"", shown).replace(CLEAR, b"").split(b"\r\n") + status


CAUSE = re.compile(r"^dlaunch: (?:rank \S+ \(host .*\) |ranks .* did not start|program \"|cannot run program |timed out after|hung after|interrupted by|"
                   r"preempted by|a host was lost|\d+ hosts were lost|cannot use |(?:in|out)put failed).*$", re.M)


def cause(stderr):
    """The line of the summary that names the cause; the last lines of the rank and the consequences follow it."""
    found = [line for line in CAUSE.findall(stderr.decode(errors="replace")) if "; stacks of " not in line and "; restart " not in line]
    assert found, stderr
    return found[-1]


def without_notes(stderr):
    """Removes dlaunch's notes, for example on more ranks than CPUs, which depend on the machine."""
    return b"".join(line for line in stderr.splitlines(True) if not line.startswith(b"dlaunch: note: "))


def wait_until(condition, timeout=TIMEOUT, every=0.02):
    """Whether the condition became true in time. A slow condition, such as a scan of all processes, is tested less
    often, because the awaited event needs the processors, too."""
    deadline = time.monotonic() + timeout
    while True:
        asked = time.monotonic()
        if condition():
            return True
        now = time.monotonic()
        if now >= deadline:
            return False
        time.sleep(max(every, min(3 * (now - asked), 0.2)))


def settle(value, still=0.3, timeout=TIMEOUT, every=0.05):
    """Whether `value` stayed the same for `still` seconds before the timeout."""
    seen, since, deadline = value(), time.monotonic(), time.monotonic() + timeout
    while time.monotonic() < since + still:
        if time.monotonic() >= deadline:
            return False
        time.sleep(every)
        if (now := value()) != seen:
            seen, since = now, time.monotonic()
    return True


def until_there(name):
    """Shell code for a rank: wait for a file."""
    return f"while [ ! -e {name} ]; do sleep 0.02; done"


TELL_PID = "echo $$ >pid.$RANK_ID"


def until_ended(rank):
    """Shell code for a rank: wait until another rank, whose script begins with TELL_PID, has ended and is reaped."""
    return f"while [ ! -s pid.{rank} ] || kill -0 $(cat pid.{rank}) 2>/dev/null; do sleep 0.02; done"


def left_since(before, listed):
    """The new entries of `listed` since `before` that remain. Tests that run at the same time may add some, which
    disappear."""
    new = listed() - before
    wait_until(lambda: not new & listed(), 30, every=0.1)
    return new & listed()


def oldest_first(pids):
    """Parents before their children: guardians before workers. The numbers of pids start again at some time."""
    def age(pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        parent, start = int(fields[1]), int(fields[19])
        return start, parent in pids
    pids = set(pids)
    return sorted(pids, key=age)


def kill_together(*pids):
    """Kills all processes at once: each is stopped first, so that it cannot react to the end of another."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the end of another process ended it
            os.kill(pid, signal.SIGKILL)


def signals_taken(pid):
    """Whether the process has no pending signal. A further signal of the same kind counts only then."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return all(int(mask, 16) == 0 for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.M))


def unread(pipe):
    """The number of bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def written(pids):
    """The number of bytes that the processes have written. Ended processes are not counted."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(re.search(r"^wchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M)[1])
    return total


def resident_bytes(pid):
    """The resident memory of a process in bytes; 0 if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def fnv1a64(data):
    """The hash that tests/programs/stdin_sum prints. It is slow: keep the data small, or repeat a block whose hash is
    known."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main(side_by_side=1):
    """Runs the tests of the file, `side_by_side` at a time (at most 2 with sanitizers, because these use much CPU
    time). Exits with 77 after printing the reasons if all tests were skipped. With NO_SKIP, a skipped test is a
    failure, except for a reason of MAY_SKIP."""
    side_by_side = min(side_by_side, 2) if SANITIZED else side_by_side
    runner = SideBySide(side_by_side) if side_by_side > 1 else unittest.TextTestRunner(verbosity=2)
    run = unittest.main(module="__main__", testRunner=runner, exit=False).result
    wrong = [(test, why) for test, why in run.skipped if NO_SKIP and not re.match(MAY_SKIP, why)]
    for test, why in wrong:
        print(f"FAIL: {test} was skipped, and nothing may be here: {why}", file=sys.stderr)
    if not run.wasSuccessful() or wrong:
        sys.exit(1)
    if run.testsRun and len(run.skipped) == run.testsRun:
        sys.exit(SKIPPED)
