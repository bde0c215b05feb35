"""Tests jobs inside a PBS job, with fake pbs_tmrsh and pbsdsh commands (tests/testbed/pbs.py)."""
import os
import re
import signal
import subprocess

from hosts_case import HostsCase, lines
from manager_case import ROWS, ManagerCase
from promises import ENDS, KILL, LEAVES_NOTHING, NAMES_FIRST, ONLY_SSHD, ORPHANS, PBS, RUN, START, promise
from support import TIMEOUT, main, of_process, sh, wait_until

import pbs  # of the testbed, by hosts_case's path


class PbsCase(HostsCase):
    place = PBS
    programs = ("pbs_tmrsh",)

    def setUp(self):
        super().setUp()
        self.pbs = pbs.Pbs(self.bed, ["head", "node1", "node2", "node1"], self.programs)
        self.addCleanup(self.pbs.close)
        self.pbs.__enter__()
        self.env |= self.pbs.environment()
        for host in self.bed.hosts.values():
            host.kill_sshd()

    def tearDown(self):
        self.assertEqual([str(path) for path in self.pbs.shared.rglob("start-*")], [], "files of a start are left")
        self.assertEqual(self.pbs.output.read_bytes(), b"", "something was written to the job's output")
        super().tearDown()


class Promises(ManagerCase, PbsCase):
    """As with the real pbs_tmrsh, a task is a child of MoM and outlives its pbs_tmrsh."""

    row = ROWS[PBS]

    def break_command(self):
        (self.dir / "nodes").write_text("head\nnode1\n")
        program = self.pbs.dir / "pbs_tmrsh"
        program.write_text(program.read_text().replace('open(os.environ["PBS_NODEFILE"])', f'open("{self.dir}/nodes")'))
        return "node2", 'host "node2" is not a node in job <12.server>'

    def cancel(self, job):
        self.pbs.qdel()

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_command_leaves_no_process(self):
        job = self.start_sleepers()
        self.signal_all(self.commands(), signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.commands(), TIMEOUT))
        self.assertIsNone(job.poll())
        job.terminate()
        self.end_there(job, 143)
        self.assert_gone()


class ByPbsTmrsh(PbsCase):
    def start_sleepers(self, *options):
        job = self.start(*options, *sh("setsid sleep 1000 & exec sleep 1000"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.assertTrue(wait_until(lambda: sum(len(host.find("sleep 1000")) for host in self.bed.hosts.values()) >= 6, TIMEOUT))
        return job

    def test_transport_pals_without_aprun_is_rejected(self):
        self.assert_told(self.run_dlaunch("--transport", "pals", "true"), 2, "--transport pals", "program \"aprun\": not found")

    @promise(ONLY_SSHD, mode=RUN)
    def test_hosts_with_a_shared_home_start(self):
        """All hosts write the agent to the shared home at the same time."""
        for host in self.bed.hosts.values():
            host.sh(f"mkdir -p /root/.cache && mount --bind '{self.pbs.shared}' /root/.cache")
        self.assert_exit(self.run_dlaunch("true"), 0)

    @promise(NAMES_FIRST, mode=START)
    def test_node_without_the_shared_directory_is_reported(self):
        self.bed["node2"].sh(f"mount -t tmpfs none '{self.pbs.shared}'")
        done = self.run_dlaunch("true")
        self.assert_told(done, 125, "node2", "ended without a reply")
        self.assertIn(b"--transport ssh", done.stderr)

    def test_directory_writable_by_others_is_rejected(self):
        self.pbs.shared.chmod(0o777)
        self.assert_told(self.run_dlaunch("true"), 125, "other users can write to")
        self.pbs.shared.chmod(0o700)

    @promise(NAMES_FIRST, mode=START)
    def test_node_that_cannot_connect_is_reported(self):
        self.bed["node2"].sh(f"ip rule add ipproto tcp to {self.bed.head.address} unreachable")
        self.assert_told(self.run_dlaunch("true"), 125, "node2", "cannot connect to")

    def test_key_is_not_in_arguments_environment_or_logs(self):
        """The key has 64 hexadecimal digits, as the hash in the path of the agent."""
        job = self.start_sleepers("-vv")
        seen = []
        for host in [self.bed.head, *self.bed.hosts.values()]:
            for pid in host.strangers():
                for file in ("cmdline", "environ"):
                    seen.append(of_process(pid, file))
        self.assertTrue(any(b"--dial" in text for text in seen))
        job.terminate()
        seen += job.communicate(timeout=TIMEOUT)
        words = {word for text in seen for word in re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", text)}
        agents = {word for text in seen for word in re.findall(rb"dlaunch/([0-9a-f]{64})/dlaunch-agent", text)}
        self.assertEqual(words, agents)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_later_start_removes_files_of_a_killed_start(self):
        program = self.pbs.dir / "pbs_tmrsh"
        real = program.read_text()
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        job = self.start("true", stdin=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: len(self.bed.head.find("sleep 1000")) == 2, TIMEOUT))  # one for each host
        job.kill()
        job.wait(TIMEOUT)
        for pid in self.bed.head.find("sleep 1000"):  # their parent is PBS
            os.kill(pid, signal.SIGKILL)
        left, = self.pbs.shared.rglob("start-*")
        self.assertEqual([path for path in (left, *left.rglob("*")) if path.stat().st_mode & 0o077], [], "others may look at it")
        program.write_text(real)
        self.assert_exit(self.run_dlaunch("true"), 0)
        self.assertTrue(left.exists(), "it may be of a start that goes on")
        hour_ago = left.stat().st_mtime - 3600
        os.utime(left, (hour_ago, hour_ago))
        self.assert_exit(self.run_dlaunch("true"), 0)
        self.assertFalse(left.exists())


class ByPbsdsh(PbsCase):
    """Torque does not have pbs_tmrsh."""
    programs = ("pbsdsh",)

    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_run_where_the_job_has_slots(self):
        done = self.run_dlaunch("--label", "-v", "hostname")
        self.assert_exit(done, 0)
        self.assertIn(b"by pbsdsh", done.stderr)
        self.assertEqual(sorted(lines(done.stdout)), ["[0] head", "[1] node1", "[2] node1", "[3] node2"])


if __name__ == "__main__":
    main(side_by_side=3)
