"""Tests each kind of hang, and each kind of work that resembles a hang, in each environment: one host and four hosts,
as root and as an ordinary user. The jobs of an environment run at the same time. HANG_LOOPS is the number of runs of
each test (docs/CONTRIBUTING.md)."""
import json
import os
import select
import signal
import subprocess
import time

from hosts_case import HostsCase, lines
from promises import ENDS, FAKE_HOSTS, HANG, promise
from support import Case, NOBODY, TIMEOUT, cause, main

PYTHON = "/usr/bin/python3"
LOOPS = int(os.environ.get("HANG_LOOPS", 1))
WINDOW = 3
FIRST = 'os.environ["DLAUNCH_RANK"] == "0"'

NO_MEETINGS = subprocess.run([PYTHON, "-c", "import torch.distributed, mpi4py"], capture_output=True, text=True, check=False).stderr

# Code that hangs, in a function `inner`.
WAITS = {
    "a sleep": ("import time", "time.sleep(1000)"),
    "a lock taken twice": ("import threading; lock = threading.Lock(); lock.acquire()", "lock.acquire()"),
    "a socket that nobody writes to": ("import socket; a, b = socket.socketpair()", "a.recv(1)"),
}
# Rank 0 does not take part in a collective call of the other ranks.
MEETINGS = {
    "a barrier of torch.distributed": ("import time, torch.distributed as d; d.init_process_group('gloo')",
                                       f"time.sleep(1000) if {FIRST} else d.barrier()"),
    "a message of MPI": ("import time; from mpi4py import MPI",
                         f"time.sleep(1000) if {FIRST} else MPI.COMM_WORLD.recv(source=0)"),
}
# Rank 0 uses a processor without end, as a computation does; the other ranks wait.
SPINS = {
    "C without the GIL": ("import hashlib", "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 2**31 - 1)"),
    "C with the GIL": ("", "sum(range(10**12))"),
    "a regular expression": ("import re", "re.match('(a?){40}a{40}', 'a' * 40)"),
}
# Work that is not a hang. `step` is repeated.
STEPS = {
    "a step of training in one native call": ("import hashlib", "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 200000)"),
    "data that is loaded": ("import time", "open('/dev/zero', 'rb').read(1 << 20); time.sleep(0.3)"),
    "a checkpoint that is written": ("import tempfile, time; file = tempfile.TemporaryFile()",
                                     "file.seek(0); file.write(bytes(1 << 20)); file.flush(); time.sleep(0.3)"),
    "a child that compiles": ("import subprocess", "subprocess.run(['sh', '-c', 'while :; do :; done & sleep 6; kill $!'])"),
    "an attempt after the other": ("import time", "time.sleep(0.4)"),
    "attempts in a function": ("import time\ndef tried():\n    for attempt in range(1000, 1004):\n        time.sleep(0.4)", "tried()"),
}


def hanging(prepare, hang):
    return f"import os\n{prepare}\ndef inner():\n    {hang}\ninner()\n"


def spinning(prepare, spin):
    return hanging(f"import time\n{prepare}", f"{spin} if {FIRST} else time.sleep(1000)")


def going_on(prepare, step):
    return f"import time\n{prepare}\nend = time.monotonic() + {3 * WINDOW}\ncount = 0\nwhile time.monotonic() < end:\n    count += 1\n    {step}\n"


class HangTests:
    """The tests of each environment: `ranks` ranks with the options `where`."""
    where = ("-n", 2)
    ranks = 2
    before = ()

    def begin(self, name, script, *options):
        report = self.dir / f"{name}.json"
        job = self.start(*self.where, "--hang-after", WINDOW, "--on-hang", "end", "--report", report, *options, PYTHON, "-c", script,
                         before=self.before, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         bufsize=0)  # unbuffered, so that communicate() returns the output after readline()
        self.addCleanup(job.stderr.close)
        return job, report

    def begun(self, rows, made, *options):
        return {name: self.begin(name.replace(" ", "-"), made(*row), *options) for name, row in rows.items()}

    def looped(self):
        for loop in range(LOOPS):
            with self.subTest(loop=loop):
                yield

    @promise(ENDS, mode=HANG)
    def test_each_hang_ends_the_job(self):
        for _ in self.looped():
            self.assert_hangs(self.begun(WAITS, hanging))

    @promise(ENDS, mode=HANG)
    def test_each_hang_in_a_collective_call_ends_the_job(self):
        if NO_MEETINGS:
            self.skipTest(f"{PYTHON}: {NO_MEETINGS.splitlines()[-1]}: scripts/install-packages torch mpi")
        for _ in self.looped():
            self.assert_hangs(self.begun(MEETINGS, hanging, "--env-for", "torch"))

    def assert_hangs(self, jobs):
        for name, (job, report) in jobs.items():
            with self.subTest(name):
                _, err = job.communicate(timeout=3 * TIMEOUT)
                self.assertEqual(job.returncode, 124, err)
                self.assertRegex(cause(err), r"^dlaunch: hung after ")
                record = json.loads(report.read_text())
                self.assertEqual(record["cause"], "hung")
                self.assertTrue(record["hangs"][-1]["every_rank"])
                self.assertIn("      inner (<string>:4)", lines(err))

    def test_spinning_rank_is_reported_as_running_and_the_job_continues(self):
        for _ in self.looped():
            jobs = {name: job for name, (job, _) in self.begun(SPINS, spinning).items()}
            seen = {}
            for name, job in jobs.items():
                with self.subTest(name):
                    seen[name] = self.wait_for_report(job)
            time.sleep(WINDOW)
            for name, job in jobs.items():
                with self.subTest(name):
                    self.assert_job_continued(job, seen[name])

    def wait_for_report(self, job):
        """Returns the lines until the report that rank 0 runs."""
        others = "rank 1 waits" if self.ranks == 2 else f"ranks 1-{self.ranks - 1} wait"
        seen = []
        deadline = time.monotonic() + 3 * TIMEOUT
        while not any(f"{others}; rank 0 is running" in line for line in seen):
            ready, _, _ = select.select([job.stderr], [], [], max(0, deadline - time.monotonic()))
            line = job.stderr.readline() if ready else b""
            self.assertTrue(line, seen)
            seen.append(line.decode())
        return seen

    def assert_job_continued(self, job, seen):
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGTERM)
        _, rest = job.communicate(timeout=TIMEOUT)
        seen += lines(rest)
        self.assertEqual(job.returncode, 143, seen)
        self.assertFalse([line for line in seen if "no rank makes progress" in line], seen)
        self.assertTrue([line for line in seen if "inner (<string>:5)" in line], seen)

    def test_repeated_work_is_not_a_hang(self):
        for _ in self.looped():
            for name, (job, report) in self.begun(STEPS, going_on).items():
                with self.subTest(name):
                    _, err = job.communicate(timeout=3 * TIMEOUT)
                    self.assertEqual(job.returncode, 0, err)
                    self.assertEqual(json.loads(report.read_text()).get("hangs", []), [])


class OneHost(HangTests, Case):
    pass


class OneHostForAnOrdinaryUser(HangTests, Case):
    before = NOBODY

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("this test is an ordinary user's already, as the one before")
        self.dir.chmod(0o755)
        os.chown(self.dir, 65534, 65534)


class FourFakeHostsForAnOrdinaryUser(OneHostForAnOrdinaryUser):
    place = FAKE_HOSTS
    where = ("--fake-hosts", "4x1")
    ranks = 4


class FourHosts(HangTests, HostsCase):
    count = 4
    where = ("-H", "node1,node2,node3,node4", "-N", 1)
    ranks = 4


if __name__ == "__main__":
    main(side_by_side=2)
