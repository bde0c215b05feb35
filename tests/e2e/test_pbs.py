"""Tests jobs inside a PBS job, with fake pbs_tmrsh and pbsdsh commands (tests/testbed/pbs.py)."""
import os
import re
import signal
import subprocess

from hosts_case import HostsCase, lines
from promises import ENDS, FAILURE, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, ORPHANS, PBS, RUN, SIGNAL, START, promise
from support import DLAUNCH, TIMEOUT, main, of_process, sh, wait_until

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

    def start_sleepers(self, *options):
        job = self.start(*options, *sh("setsid sleep 1000 & exec sleep 1000"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.assertTrue(wait_until(lambda: sum(len(host.find("sleep 1000")) for host in self.bed.hosts.values()) >= 6, TIMEOUT))
        return job


class ByPbsTmrsh(PbsCase):
    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_run_where_the_job_has_slots(self):
        for _ in ("the agent is sent", "it is there"):
            done = self.run_dlaunch("--label", *sh("echo $(hostname) $PBS_JOBID; cat"), input=b"")
            self.assert_exit(done, 0)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(sorted(lines(done.stdout)),
                             ["[0] head 12.server", "[1] node1 12.server", "[2] node1 12.server", "[3] node2 12.server"])

    @promise(ONLY_SSHD, mode=RUN)
    def test_hosts_with_a_shared_home_start(self):
        """All hosts write the agent to the shared home at the same time."""
        for host in self.bed.hosts.values():
            host.sh(f"mkdir -p /root/.cache && mount --bind '{self.pbs.shared}' /root/.cache")
        self.assert_exit(self.run_dlaunch("true"), 0)

    def test_transport_is_reported(self):
        self.assertIn(b"PBS job 12.server: 3 nodes of 4 slots, by pbs_tmrsh", self.run_dlaunch("--dry-run", "true").stdout)
        self.assertIn(b"PBS job 12.server: 3 nodes of 4 slots, by pbs_tmrsh", self.run_dlaunch("hosts").stdout)
        self.assertIn(b"PBS job 12.server: 3 nodes of 4 slots, by ssh", self.run_dlaunch("--dry-run", "--transport", "ssh", "true").stdout)
        done = self.run_dlaunch("-v", "--transport", "pbs", "true")
        self.assert_exit(done, 0)
        self.assertRegex(done.stderr, rb"agents of node\[1-2\] connect to ")

    def test_transport_pbs_outside_a_job_is_rejected(self):
        self.assert_told(self.run_dlaunch("--transport", "pbs", "true", env={"PBS_NODEFILE": ""}), 2, "--transport pbs", "not in a PBS job")
        self.assert_told(self.run_dlaunch("--transport", "pals", "true"), 2, "--transport pals", "program \"aprun\": not found")

    @promise(NAMES_FIRST, mode=START)
    def test_error_of_pbs_is_reported(self):
        (self.dir / "nodes").write_text("head\nnode1\n")
        program = self.pbs.dir / "pbs_tmrsh"
        program.write_text(program.read_text().replace('open(os.environ["PBS_NODEFILE"])', f'open("{self.dir}/nodes")'))
        self.assert_told(self.run_dlaunch("true"), 125, "node2", 'host "node2" is not a node in job <12.server>')

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

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        done = self.run_dlaunch("-n", "4", *sh("yes 1234567 | head -c 16777216"))
        self.assert_exit(done, 0)
        self.assertEqual(len(done.stdout), 64 << 20)
        self.assertEqual(done.stdout.count(b"1234567\n"), len(done.stdout) // 8)

    @promise(ENDS, NAMES_FIRST, mode=FAILURE)
    def test_first_failure_is_named(self):
        self.assert_told(self.run_dlaunch(*sh("[ $RANK_ID != 3 ] || exit 7; exec sleep 1000")), 7, "rank 3", "node2")

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

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_leaves_no_process(self):
        job = self.start_sleepers()
        os.kill(job.pid, signal.SIGKILL)
        job.communicate(timeout=TIMEOUT)
        self.assert_hosts_clean()

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

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_pbs_tmrsh_ends_no_task(self):
        """As with the real pbs_tmrsh: the task is a child of MoM."""
        job = self.start_sleepers()
        for pid in self.bed.head.find("pbs_tmrsh"):
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not self.bed.head.find("pbs_tmrsh"), TIMEOUT))
        self.assertIsNone(job.poll())
        job.terminate()
        job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 143)
        self.assert_hosts_clean()

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_host_of_a_killed_agent_is_named(self):
        job = self.start_sleepers()
        carrier, = [pid for pid, line in self.bed["node2"].strangers().items() if " --dial " in line and "nsenter" not in line]
        os.kill(carrier, signal.SIGKILL)
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125)
        self.assertIn(b"node2", err)
        self.assertNotIn(b"may still run", err)
        self.assert_hosts_clean()

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_qdel_of_the_tasks_leaves_no_process(self):
        job = self.start_sleepers()
        self.pbs.qdel()
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertNotEqual(job.returncode, 0)
        self.assert_hosts_clean()


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
