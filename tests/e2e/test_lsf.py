"""Tests jobs inside an LSF job, with a fake blaunch command (tests/testbed/lsf.py)."""
import os

from hosts_case import HostsCase, lines
from manager_case import ROWS, ManagerCase
from promises import LSF
from support import main, sh

import lsf  # of the testbed, by hosts_case's path


class LsfCase(HostsCase):
    place = LSF

    def setUp(self):
        super().setUp()
        self.env |= lsf.Lsf(self.bed, {"head": 1, "node1": 2, "node2": 1}).environment()
        for host in self.bed.hosts.values():
            host.kill_sshd()


class Promises(ManagerCase, LsfCase):
    row = ROWS[LSF]

    def break_command(self):
        self.env["LSB_MCPU_HOSTS"] = "head 1 node9 1"
        return "node9", "Host is not allocated for this job"


class Tasks(LsfCase):
    """The processors and GPUs of the job's tasks."""

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


if __name__ == "__main__":
    main()
