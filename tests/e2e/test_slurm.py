"""In a real Slurm's allocations: agents and ranks are in steps of the job, and what Slurm says holds."""
import json
import os
import signal
import subprocess

from hosts_case import HostsCase, lines, own_lines
from support import DLAUNCH, TIMEOUT, main, sh, wait_until

import slurm  # of the testbed, by hosts_case's path

WHY_NOT = slurm.why_not()


class SlurmCase(HostsCase):
    scheduler = "builtin"

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()
        self.slurm = slurm.Slurm(self.bed, self.scheduler)
        self.addCleanup(self.slurm.close)
        self.slurm.__enter__()
        self.env.update(self.slurm.environment())

    def tearDown(self):
        self.assert_hosts_clean()
        self.assertTrue(wait_until(lambda: not self.slurm.steps(), 10), "steps are left")
        super().tearDown()

    def in_job(self, options, *words, by=()):
        """dlaunch in an allocation with these options of salloc, run to its end; `by`: what starts it there."""
        return self.run_dlaunch(*words, before=["salloc", "-Q", *options, *by])

    def start_in_job(self, options, *words):
        job = self.start(*words, before=["salloc", "-Q", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        return job

    def sleepers(self):
        return [pid for host in self.bed.hosts.values() for pid, line in host.strangers().items() if line.startswith("sleep ")]

    def launchers(self):
        return [pid for pid, line in self.bed.head.strangers().items() if line.startswith(DLAUNCH)]


class InAnAllocation(SlurmCase):
    def test_ranks_are_in_a_step_and_nothing_goes_over_ssh(self):
        """Slurm itself names each rank among a step's processes."""
        for host in self.bed.hosts.values():
            host.kill_sshd()
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--label", *sh("scontrol listpids $SLURM_JOB_ID | grep -w $$"))
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        found = sorted(line.split() for line in lines(done.stdout))
        self.assertEqual([row[0] for row in found], ["[0]", "[1]", "[2]", "[3]"])
        self.assertTrue(all(row[3].isdigit() for row in found), found)  # a step's number, not "batch" or "extern"

    def test_ranks_see_what_slurm_says_of_their_own_node(self):
        show = 'echo $SLURM_NODEID $SLURMD_NODENAME $SLURM_JOB_NODELIST $CUDA_VISIBLE_DEVICES; env | grep -E "^SLURM_(PROCID|LOCALID|STEP_ID|STEP_NUM|NTASKS|TASKS)"; true'
        done = self.in_job(["-N2", "--ntasks-per-node=2", "--gpus-per-node=2"], *sh(show))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["0 node1 node[1-2] 0,1"] * 2 + ["1 node2 node[1-2] 0,1"] * 2)

    def test_ranks_as_tasks_of_slurm_for_programs_that_read_it(self):
        show = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $(env | grep -c SLURM_NODEID)"
        done = self.in_job(["-N2", "--ntasks-per-node=2"], "--env-for", "slurm", *sh(show))
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["0 0 0 4 1", "1 1 0 4 1", "2 0 1 4 1", "3 1 1 4 1"])

    def test_copies_are_refused(self):
        done = self.in_job(["-N2"], "true", by=["srun", "-n2"])
        self.assert_exit(done, 2)
        self.assertEqual(sum("2 copies" in line for line in own_lines(done.stderr)), 2)

    def test_slots_are_what_the_options_mean(self):
        for options, slots in ((["-N2", "--exclusive"], "8 8"), (["-N2", "--ntasks-per-node=3"], "3 3"), (["-N2", "--ntasks-per-node=1"], "1 1"),
                               (["-N2", "--ntasks-per-node=1", "--gpus-per-node=3"], "3 3"),
                               (["-N2", "--ntasks=5", "--gpus-per-task=1"], "4 1")):
            with self.subTest(options):
                done = self.in_job(options, "hosts", "--format", "json")
                self.assert_exit(done, 0)
                hosts = json.loads(done.stdout)["hosts"]
                self.assertEqual(" ".join(str(host["slots"]) for host in hosts), slots)

    def test_one_task_a_node_lets_a_number_of_ranks_be_asked(self):
        done = self.in_job(["-N2", "--ntasks-per-node=1", "-c4"], "-N", "4", "hostname")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["node1"] * 4 + ["node2"] * 4)
        self.assert_exit(self.in_job(["-N2", "--ntasks-per-node=1", "-c4"], "-N", "5", "hostname"), 2)

    def test_it_says_which_way_it_takes(self):
        self.assertIn(b"2 hosts, by srun", self.in_job(["-N2"], "--dry-run", "true").stdout)
        self.assertIn(b"2 hosts, by ssh", self.in_job(["-N2"], "--dry-run", "--transport", "ssh", "true").stdout)
        self.assertIn(b"2 hosts, by --exec", self.in_job(["-N2"], "--dry-run", "--exec", "x {host}", "true").stdout)


class Ends(SlurmCase):
    def test_a_killed_launcher_leaves_nothing(self):
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], *sh("setsid sleep 1000 & exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 8))
        for pid in self.launchers():
            os.kill(pid, signal.SIGKILL)
        job.wait(TIMEOUT)
        self.assert_hosts_clean(5)

    def test_a_cancelled_job_ends_and_says_so(self):
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], *sh("setsid sleep 1000 & yes; exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 4))
        self.slurm.tell("scancel", "1")
        _, err = job.communicate(timeout=TIMEOUT)
        self.assert_hosts_clean(5)
        self.assertIn(b"CANCELLED", err)
        self.assertNotIn(b"may still run", err)

    def test_killed_sruns_leave_nothing(self):
        job = self.start_in_job(["-N2", "--ntasks-per-node=2"], *sh("setsid sleep 1000 & exec sleep 1000"))
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 8))
        sruns = [pid for pid, line in self.bed.head.strangers().items() if line.startswith("srun ")]
        self.assertGreaterEqual(len(sruns), 4)  # two for each node
        for pid in sruns:
            os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125)
        self.assert_hosts_clean(5)


if __name__ == "__main__":
    main()
