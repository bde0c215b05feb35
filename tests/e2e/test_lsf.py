"""Tests jobs inside an LSF job, with a fake blaunch command (tests/testbed/lsf.py)."""
import os
import signal
import subprocess

from hosts_case import HostsCase, lines
from promises import ENDS, KILL, LEAVES_NOTHING, LOSES_NOTHING, LSF, NAMES_FIRST, ONLY_SSHD, ORPHANS, RUN, START, promise
from support import TIMEOUT, main, sh, wait_until

import lsf  # of the testbed, by hosts_case's path


class ByBlaunch(HostsCase):
    place = LSF

    def setUp(self):
        super().setUp()
        self.env |= lsf.Lsf(self.bed, {"head": 1, "node1": 2, "node2": 1}).environment()
        for host in self.bed.hosts.values():
            host.kill_sshd()

    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_run_where_the_job_has_slots(self):
        for _ in ("the agent is sent", "it is there"):
            done = self.run_dlaunch("--label", *sh("echo $(hostname) $LSB_JOBID"))
            self.assert_exit(done, 0)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(sorted(lines(done.stdout)), ["[0] head 12", "[1] node1 12", "[2] node1 12", "[3] node2 12"])

    def test_transport_is_reported(self):
        self.assertIn(b"LSF job 12: 3 nodes of 4 slots, by blaunch", self.run_dlaunch("--dry-run", "true").stdout)
        self.assertIn(b"LSF job 12: 3 nodes of 4 slots, by ssh", self.run_dlaunch("--dry-run", "--transport", "ssh", "true").stdout)

    def test_ranks_are_bound_as_lsf_requires(self):
        cpus = sorted(os.sched_getaffinity(0))
        affinity = self.bed.dir / "affinity"
        order = (("node1", cpus[-1]), ("head", cpus[0]), ("node1", cpus[0]), ("node2", cpus[-1]))
        affinity.write_text("".join(f"{host} {cpu}\n" for host, cpu in order))
        show = sh("echo $(hostname) $(grep Cpus_allowed_list /proc/self/status)")
        done = self.run_dlaunch("--label", *show, env={"LSB_AFFINITY_HOSTFILE": str(affinity)})
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)),
                         [f"[{rank}] {host} Cpus_allowed_list: {cpu}" for rank, (host, cpu) in enumerate(order)])

    def test_each_rank_has_the_gpus_of_its_task(self):
        slots = {"head": 2, "node1": 2}
        job = lsf.Lsf(self.bed, slots, {"head": {"CUDA_VISIBLE_DEVICES": "0,1,3", "CUDA_VISIBLE_DEVICES1": "0,1", "CUDA_VISIBLE_DEVICES2": "3"},
                                        "node1": {"CUDA_VISIBLE_DEVICES1": "2", "CUDA_VISIBLE_DEVICES2": "5,6"}})
        self.env |= job.environment()
        show = sh("echo $CUDA_VISIBLE_DEVICES")
        done = self.run_dlaunch("--label", *show)
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["[0] 0,1", "[1] 3", "[2] 2", "[3] 5,6"])
        done = self.run_dlaunch("--label", *show, env={"LSB_MCPU_HOSTS": "head 2"})
        self.assertEqual(sorted(lines(done.stdout)), ["[0] 0,1", "[1] 3"])
        done = self.run_dlaunch("--label", "-x", "CUDA_VISIBLE_DEVICES=7", *show)
        self.assertEqual(sorted(lines(done.stdout)), [f"[{rank}] 7" for rank in range(4)])

    def test_transport_lsf_outside_a_job_is_rejected(self):
        done = self.run_dlaunch("--transport", "lsf", "true", env={"LSB_MCPU_HOSTS": ""})
        self.assert_told(done, 2, "--transport lsf", "not in an LSF job")

    @promise(NAMES_FIRST, mode=START)
    def test_error_of_blaunch_is_reported(self):
        done = self.run_dlaunch("true", env={"LSB_MCPU_HOSTS": "head 1 node9 1"})
        self.assert_told(done, 125, "node9", "Host is not allocated for this job")

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        done = self.run_dlaunch("-n", "4", *sh("yes 1234567 | head -c 8388608"))
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout.count(b"1234567\n"), 4 << 20)

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_or_blaunch_leaves_no_process(self):
        for victim in ("dlaunch", "blaunch"):
            with self.subTest(victim):
                job = self.start(*sh("setsid sleep 1000 & exec sleep 1000"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
                self.assertTrue(wait_until(lambda: sum(len(host.find("sleep 1000")) for host in self.bed.hosts.values()) >= 6))
                victims = [job.pid] if victim == "dlaunch" else self.bed.head.find("blaunch")
                for pid in victims:
                    os.kill(pid, signal.SIGKILL)
                job.wait(TIMEOUT)
                self.assert_hosts_clean(10)


if __name__ == "__main__":
    main()
