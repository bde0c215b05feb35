"""What every end-to-end test needs: run the binary under a time limit, on pipes or under a pty, and prove that nothing
of the job is left. DLAUNCH is the binary, PROGRAMS the folder of tests/programs, SANITIZE how the binary was built."""
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

from side_by_side import SideBySide

DLAUNCH = os.environ["DLAUNCH"]
PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
SANITIZED = bool(os.environ.get("SANITIZE"))
MARKER = "E2E_MARKER"  # in the environment of all that a test starts; unique to the test
INTERRUPTED_REPORT = re.compile(r"==\S+==Unable to get registers from thread \d+\.\s*")
REPORTS = PROGRAMS.parent.parent / "sanitizer-reports"  # where cmake/sanitizer_options.cpp has them written
TIMEOUT = 60 if SANITIZED else 30
SKIPPED = 77  # ctest shows an entry that ends so as skipped
NO_SKIP = bool(os.environ.get("NO_SKIP"))  # scripts/test has installed all that a test may need


def of_process(pid, file):
    """A file of /proc/PID; nothing once the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def program(name):
    """The path of one of tests/programs."""
    return str(PROGRAMS / name)


def sh(script):
    """The words that run a shell script as the rank's program."""
    return ["sh", "-c", script]


def open_files(pid):
    """What its descriptors are; one that it closes meanwhile may be missing."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


class Job(subprocess.Popen):
    def __exit__(self, failure, *rest):
        if failure:
            self.kill()  # or it would be waited for
        super().__exit__(failure, *rest)


class Case(unittest.TestCase):
    """One test: a scratch directory as cwd and home, a clean environment, and no process left when it ends."""

    leaves = 10  # seconds that the job's processes may take to be gone

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
        """Runs to the end; a subprocess.CompletedProcess with bytes. stdin is /dev/null unless `input` or `stdin` is given."""
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
                self.kill_leftovers()  # or they would hold the pipes open
                out, err = job.communicate()
                self.fail(f"hung for {timeout} s: dlaunch {args}\nstdout: {out!r}\nstderr: {err!r}")
        return subprocess.CompletedProcess(args, job.returncode, out, err)

    def start(self, *args, env=None, before=(), **options):
        """A running job; it is killed, should it live when the test ends. `before`: words of a command that starts it."""
        options.setdefault("cwd", self.dir)
        job = Job([*map(str, before), DLAUNCH, *map(str, args)], env=self.env | (env or {}), **options)
        self.addCleanup(lambda: job.poll() is None and (job.kill(), job.wait()))
        return job

    def assert_exit(self, result, code):
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout: {result.stdout!r}\nstderr: {result.stderr!r}")

    def assert_succeeds(self, *args, **options):
        """Ends with 0 and says nothing of its own; the ranks' stdout."""
        result = self.run_dlaunch(*args, **options)
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        return result.stdout

    # ---- processes ----

    def processes(self):
        """Of this test: {pid: command line}. Zombies have no environment, so they are not among them."""
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
        """Of the sanitizers. One may be of a test that runs at the same time."""
        found = {report.name: report.read_text(errors="replace") for report in REPORTS.glob("*")}
        for name in found:
            (REPORTS / name).unlink(missing_ok=True)
        # The leak checker prints this when its process is killed while it runs.
        found = {name: text for name, text in found.items() if not INTERRUPTED_REPORT.fullmatch(text)}
        self.assertEqual(found, {}, "\n".join(found.values()))

    def kill_leftovers(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def find(self, part):
        """The pids of this test's processes whose command line contains `part`."""
        return [pid for pid, command in self.processes().items() if part in command]

    @contextlib.contextmanager
    def under_pty(self, *args, rows=24, columns=80, env=None):
        """A job whose three streams are a terminal that it controls: yields a Terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        job = self.start(*args, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                         preexec_fn=take_terminal)
        os.close(slave)
        try:
            yield Terminal(job, master)
        finally:
            os.close(master)
            if job.poll() is None:
                job.kill()
            job.wait()


class Terminal:
    """The user's side of a pty."""

    def __init__(self, job, master):
        self.job = job
        self.master = master
        self.seen = b""

    def type(self, data):
        os.write(self.master, data)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, wanted, timeout=TIMEOUT, after=b"", times=1):
        """All that was shown so far, once `wanted` stands in it so many times behind the last `after`, or the job's side is closed."""
        deadline = time.monotonic() + timeout
        while wanted is None or self.seen[self.seen.rindex(after) if after else 0:].count(wanted) < times:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {wanted!r} within {timeout} s, only {self.seen!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: nobody has the other side open
                data = b""
            if not data:
                break
            self.seen += data
        return self.seen

    def finish(self, timeout=TIMEOUT):
        """The job's exit code and all that was shown."""
        self.read_until(None, timeout)
        return self.job.wait(timeout), self.seen


CLEAR = b"\r\x1b[K"  # what erases a status line


def screen(shown):
    """The lines that are left to see: what was erased is gone. A busy machine shows a status line where a quiet one does not."""
    return [line.rsplit(b"\x1b[K", 1)[-1] for line in shown.replace(CLEAR, b"\x1b[K").split(b"\r\n")]


CAUSE = re.compile(r"^dlaunch: (?:rank \S+ \(host .*\) |ranks .* did not start|program \"|cannot run program |timed out after|hung after|interrupted by|"
                   r"preempted by|a host was lost|\d+ hosts were lost|cannot use |output failed).*$", re.M)


def cause(stderr):
    """The line of the summary that names the cause; the last lines of the rank and the consequences follow it."""
    found = [line for line in CAUSE.findall(stderr.decode(errors="replace")) if "; stacks of " not in line and "; restart " not in line]
    assert found, stderr
    return found[-1]


def without_notes(stderr):
    """Without the note on more ranks than CPUs, which depends on the machine."""
    return b"".join(line for line in stderr.splitlines(True) if not line.startswith(b"dlaunch: note: "))


def wait_until(condition, timeout=TIMEOUT, every=0.02):
    """Whether the condition came true in time. One that takes long to ask, as of all processes, is asked less often: what is
    waited for needs the processors, too."""
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
    """Whether `value` came to rest in time: it has been the same for `still` seconds."""
    seen, since, deadline = value(), time.monotonic(), time.monotonic() + timeout
    while time.monotonic() < since + still:
        if time.monotonic() >= deadline:
            return False
        time.sleep(every)
        if (now := value()) != seen:
            seen, since = now, time.monotonic()
    return True


def until_there(name):
    """Shell words, for a rank: wait for a file."""
    return f"while [ ! -e {name} ]; do sleep 0.02; done"


TELL_PID = "echo $$ >pid.$RANK_ID"


def until_ended(rank):
    """Shell words, for a rank: wait until another one, whose words begin with TELL_PID, has ended and is reaped."""
    return f"while [ ! -s pid.{rank} ] || kill -0 $(cat pid.{rank}) 2>/dev/null; do sleep 0.02; done"


def left_since(before, listed):
    """What `listed` names, is new since `before`, and stays: some may be of tests that run at the same time, and end."""
    new = listed() - before
    wait_until(lambda: not new & listed(), 30, every=0.1)
    return new & listed()


def kill_together(*pids):
    """As one blow: none can act on another's end before its own."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # one that was ended because of another's end
            os.kill(pid, signal.SIGKILL)


def signals_taken(pid):
    """Whether no signal is left that the process has not seen yet: only then does one more of its kind count."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return all(int(mask, 16) == 0 for mask in re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", status, re.M))


def unread(pipe):
    """The bytes that lie in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


def written(pids):
    """The bytes that processes have written; those that are gone count for none."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += int(re.search(r"^wchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M)[1])
    return total


def resident_bytes(pid):
    """The resident memory of a process, 0 when it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def fnv1a64(data):
    """As tests/programs/stdin_sum prints it; slow, so keep the data small or repeat a block that was summed once."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main(side_by_side=1):
    """Runs the file's tests, so many at the same time, which is fewer with sanitizers: these compute. Ends with 77 when
    every one was skipped, after printing why; with NO_SKIP one is a failure."""
    side_by_side = min(side_by_side, 2) if SANITIZED else side_by_side
    runner = SideBySide(side_by_side) if side_by_side > 1 else unittest.TextTestRunner(verbosity=2)
    run = unittest.main(module="__main__", testRunner=runner, exit=False).result
    for test, why in run.skipped if NO_SKIP else []:
        print(f"FAIL: {test} was skipped, and nothing may be here: {why}", file=sys.stderr)
    if not run.wasSuccessful() or (NO_SKIP and run.skipped):
        sys.exit(1)
    if run.testsRun and len(run.skipped) == run.testsRun:
        sys.exit(SKIPPED)
