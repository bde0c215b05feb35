"""Shared by the tests of silent and frozen hosts: ways to silence a host, and jobs that write to files."""
import contextlib
import os
import re
import signal
import subprocess
import time

from hosts_case import HostsCase
from support import sh, wait_until

# Seconds from the cut to the first line of the next round: 20 s, --grace (5 s) and 5 s (docs/restart-after-failure.md),
# and the start of the ranks on a busy machine.
FIRST_LINE = 20 + 5 + 5 + 1


class Silence:
    """One way to silence a host. `logins`: a new login to the host works during the silence."""
    logins = False

    def __init__(self, bed, number):
        self.bed, self.host = bed, bed[f"node{number}"]
        self.begin()

    def begin(self):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError


class CutOff(Silence):
    """The network drops all packets of the host."""

    def begin(self):
        self.bed.head.drop_both_ways(self.host)

    def end(self):
        self.bed.head.deliver(self.host)


class CutConnections(Silence):
    """The network drops the packets of the connections that exist now."""
    logins = True

    def begin(self):
        head = self.bed.head
        there = head.sh(f"ss -Htn state established dst {self.host.address} dport = :22")
        self.rules = []
        for port in re.findall(r":(\d+)\s+\S+:22\b", there):
            self.rules += [(self.host, f"ipproto tcp sport 22 dport {port} blackhole"),
                           (head, f"ipproto tcp sport {port} dport 22 blackhole")]
        if not self.rules:
            raise RuntimeError(f"no connection to {self.host.name}: {there}")
        for host, rule in self.rules:
            host.sh(f"ip rule add {rule}")

    def end(self):
        for host, rule in self.rules:
            host.sh(f"ip rule del {rule}")


class FrozenSession(Silence):
    """All processes of the job and its connection are stopped."""
    logins = True

    def begin(self):
        self.pids = []
        while new := [pid for pid in self.targets() if pid not in self.pids]:
            self.pids += new
            self.send(new, signal.SIGSTOP)

    def targets(self):
        return self.host.strangers()

    def end(self):
        self.send(self.pids, signal.SIGCONT)

    @staticmethod
    def send(pids, number):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


class FrozenHost(FrozenSession):
    """All processes of the host are stopped, also sshd."""
    logins = False

    def targets(self):
        return [pid for pid in self.host.processes() if pid != self.host.pid]


class SilentCase(HostsCase):
    count = 4
    clean_within = 15

    def setUp(self):
        super().setUp()
        # A shell's background job ignores SIGINT, and the jobs would inherit this.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.silences = []

    def tearDown(self):
        for silence in self.silences:
            silence.end()
        for host in self.bed.hosts.values():  # connections that were cut wait for TCP to time out
            host.kill_sshd()
        super().tearDown()

    def silence(self, way, number):
        made = way(self.bed, number)
        self.silences.append(made)
        return made

    def restore(self, silence):
        self.silences.remove(silence)
        silence.end()

    def job(self, name, *args):
        """Starts a job whose streams are the files name.out and name.err."""
        out, err = ((self.dir / f"{name}.{stream}").open("wb") for stream in ("out", "err"))
        with out, err:
            job = self.start(*args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        job.name = name
        return job

    def text(self, job, stream="out"):
        return (self.dir / f"{job.name}.{stream}").read_text(errors="replace")

    def told(self, job):
        return f"{self.text(job)}\n{self.text(job, 'err')}"

    def wait_for(self, job, part, within=60, stream="out", times=1):
        """Waits until the job printed the text. Returns the time."""
        there = wait_until(lambda: self.text(job, stream).count(part) >= times or job.poll() is not None, within)
        self.assertTrue(there and self.text(job, stream).count(part) >= times, f"no {part!r} within {within} s: {self.told(job)}")
        return time.monotonic()

    def ended(self, job, code, within=60):
        try:
            job.wait(within)
        except subprocess.TimeoutExpired:
            self.fail(f"the job did not end within {within} s: {self.told(job)}")
        self.assertEqual(job.returncode, code, self.told(job))
        self.assertNotIn("did not end after SIGKILL", self.text(job, "err"))

    def left_of_job(self, number, agents=True):
        """Ranks and agents on the host."""
        names = ("sleep ", "dlaunch-agent") if agents else ("sleep ",)
        return {pid: line for pid, line in self.host(number).strangers().items() if any(name in line for name in names)}

    def assert_none_left(self, job, number, within=0, agents=True):
        wait_until(lambda: not self.left_of_job(number, agents), within, every=0.1)
        self.assertEqual(self.left_of_job(number, agents), {}, f"node{number}: {self.told(job)}")

    def assert_ended_by_the_command(self, job, number, silence):
        """After the silence, the command that dlaunch printed for the host ends all ranks there."""
        err = self.text(job, "err")
        self.assertRegex(err, rf"processes of the job may still run on .*node{number}.*; this command kills them")
        command = re.search(rf"^dlaunch: +(echo .* \| ssh node{number} sh)$", err, re.M)
        self.assertTrue(command, err)
        self.restore(silence)
        done = self.bed.head.run(["sh", "-c", command[1]])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_none_left(job, number, 5, agents=False)


def sleeping():
    return sh("echo up; exec sleep 1000")
