"""Tests jobs of a real Slurm with task/cgroup and proctrack/cgroup, as most sites run Slurm: the steps of a job see only
the cores, the memory and the devices of the job."""
import contextlib
import os
import shlex
import signal
import time

from hosts_case import PATIENCE, lines
from promises import ENDS, FAILURE, KILL, LEAVES_NOTHING, NAMES_FIRST, ORPHANS, RESTARTS, SIGNAL, promise
from side_by_side import takes_long
from support import DLAUNCH, main, program, sh, wait_until
from slurm import why_no_cgroups
from test_slurm import SlurmCase

CPUS = os.cpu_count()
# HOST, the CPUs, the memory limit in MiB, and the devices that the process may open.
SHOW = sh("""group=/sys/fs/cgroup/memory$(sed -n 's/.*:memory://p' /proc/self/cgroup) least=99999
    while [ -e "$group/memory.limit_in_bytes" ]; do
        limit=$(($(cat "$group/memory.limit_in_bytes") >> 20)); [ $limit -gt $least ] || least=$limit
        group=${group%/*}
    done
    for number in 0 1 2 3; do
        case $(LC_ALL=C sh -c ": </dev/nvidia$number" 2>&1) in *"No such device"*) devices="$devices $number";; esac
    done
    echo $(hostname) $(nproc) $least: $devices""")


class ConstrainedCase(SlurmCase):
    proctrack = "cgroup"
    constraints = ("Cores", "RAMSpace", "Devices")
    cpus = {"node1": CPUS, "node2": CPUS}

    def setUp(self):
        if why := why_no_cgroups(*self.constraints):
            self.skipTest(why)
        super().setUp()

    def tearDown(self):
        self.assertTrue(wait_until(lambda: not self.groups_of_steps(), PATIENCE), f"left: {self.groups_of_steps()}")
        super().tearDown()

    def groups_of_steps(self):
        return [str(group) for place in self.slurm.groups for group in place.glob("*/uid_*/job_*/step_[0-9]*")]

    def as_lines(self, done):
        self.assert_exit(done, 0)
        return sorted(lines(done.stdout))


class Constrained(ConstrainedCase):
    def test_agents_have_the_cores_memory_and_devices_of_the_job(self):
        for options, seen in ((["-N2", "--ntasks-per-node=1", "--gpus-per-node=2", "--mem=200"], "1 200: 0 1"),
                              (["-N2", "--exclusive", "--gpus-per-node=4", "--mem=300"], f"{CPUS} 300: 0 1 2 3")):
            with self.subTest(options):
                self.assertEqual(self.as_lines(self.in_job(options, "-N", 1, *SHOW)), [f"node{node} {seen}" for node in (1, 2)])

    def test_agents_have_unevenly_distributed_devices(self):
        options = ["-N2", "--gpus=6", "--mem=200"]
        job = self.slurm.gpus(options)
        seen = self.as_lines(self.in_job(options, "-N", 1, "--oversubscribe", *SHOW))
        self.assertEqual({line.split()[0]: len(line.split(":")[1].split()) for line in seen}, job)

    def test_each_rank_may_open_its_own_device(self):
        ranks = min(4, 2 * CPUS)
        options = ["-N2", f"--ntasks={ranks}", "--gpus-per-task=1", "--mem=200"]
        show = sh('LC_ALL=C sh -c ": </dev/nvidia$DEVICE_ID" 2>&1 | grep -o "No such device"; echo $(hostname) $DEVICE_ID')
        seen = self.as_lines(self.in_job(options, *show))
        self.assertEqual((len(set(seen)), seen.count("No such device")), (1 + ranks, ranks), seen)

    def test_agents_have_all_resources_beside_a_busy_step(self):
        busy = f'srun -Q --exact -N2 -n2 -c{CPUS} --mem=300 --gpus-per-node=4 sleep 1000 & until squeue -hs | grep -q sleep; do sleep 0.1; done; "$@"'
        options = ["-N2", "--exclusive", "--gpus-per-node=4", "--mem=300"]
        seen = self.as_lines(self.in_job(options, "-N", 1, *SHOW, by=["sh", "-c", busy, "sh"]))
        self.assertEqual(seen, [f"{name} {CPUS} 300: 0 1 2 3" for name in ("node1", "node2")])

    def test_ranks_bound_to_threads_have_the_cpus_of_srun(self):
        """srun binds by default if the ranks of a node use all CPUs of the job there."""
        show = "sed -n s/^Cpus_allowed_list:/$SLURM_PROCID/p /proc/self/status"
        ways = f"srun {' '.join(map(shlex.quote, sh(show)))}; echo; {DLAUNCH} --as srun --cpu-bind=threads {' '.join(map(shlex.quote, sh(show)))}"
        done = self.bed.head.run(["salloc", "-Q", "-N2", f"--ntasks-per-node={CPUS}", "sh", "-c", ways], env=self.env)
        srun, dlaunch = (sorted(part.split("\n")) for part in done.stdout.strip().split("\n\n"))
        self.assertEqual((dlaunch, len(srun), len({line.split()[1] for line in srun})), (srun, 2 * CPUS, CPUS), done.stderr)

    def test_slurm_lists_the_ranks_as_processes_of_a_step(self):
        listed = self.as_lines(self.in_job(["-N2", "--ntasks-per-node=1"], "-N", 1, *sh('scontrol listpids "$SLURM_JOB_ID" | grep -cw $$')))
        self.assertEqual(listed, ["1", "1"])


class OutOfMemory(ConstrainedCase):
    OPTIONS = ["-N2", "--ntasks-per-node=1", "--mem=100"]
    FULL = f'[ $DLAUNCH_RANK = 1 ] && [ $DLAUNCH_ROUND = 0 ] && exec {program("allocate")} 400; exec sleep $1'
    REASON = b"rank 1 (host node2, pid "

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_rank_out_of_memory_is_reported_with_the_reason(self):
        done = self.in_job(self.OPTIONS, *sh(self.FULL.replace("$DLAUNCH_ROUND", "0").replace("$1", "1000")))
        self.assert_exit(done, 137)
        self.assertIn(self.REASON, done.stderr)
        self.assertIn(b"killed by signal 9 (SIGKILL), out of memory (its cgroup counted an oom_kill)", done.stderr)
        for wrong in (b"lost", b"connection"):
            self.assertNotIn(wrong, done.stderr)

    @promise(NAMES_FIRST, mode=(FAILURE, RESTARTS))
    def test_agent_survives_a_rank_out_of_memory(self):
        """Also if the job asks Slurm to end the whole step."""
        kill_step = [["--oom-kill-step=1"]] if self.slurm.version() >= (24, 11) else []
        for more in ([], *kill_step):
            with self.subTest(more):
                done = self.in_job([*self.OPTIONS, *more], "--restarts", 1, *sh(self.FULL.replace("$1", "0.5")))
                self.assert_exit(done, 0)
                self.assertIn(b"out of memory (its cgroup counted an oom_kill)", done.stderr)
                self.assertNotIn(b"lost", done.stderr)


class Ends(ConstrainedCase):
    DAEMONS = sh('trap "" TERM; setsid sleep 1000 & (setsid sh -c "trap : TERM HUP; sleep 1000" &); exec sleep 1000')
    OPTIONS = ["-N2", "--ntasks-per-node=1"]

    def started(self, *words):
        job = self.start_in_job(self.OPTIONS, "--grace", 1, *words)
        self.assertTrue(wait_until(lambda: len(self.sleepers()) == 6, PATIENCE))
        return job

    def assert_nothing_is_left(self, job):
        job.communicate(timeout=PATIENCE)
        self.assert_hosts_clean()
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_cancelled_job_leaves_no_process(self):
        job = self.started(*self.DAEMONS)
        self.slurm.tell("scancel", *self.slurm.jobs())
        self.assert_nothing_is_left(job)
        self.assertEqual(job.returncode, 143)

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_leaves_no_process(self):
        job = self.started(*self.DAEMONS)
        for pid in self.launchers():
            os.kill(pid, signal.SIGKILL)
        self.assert_nothing_is_left(job)

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_agents_leave_no_process(self):
        job = self.started(*self.DAEMONS)
        agents = [pid for host in self.bed.hosts.values() for pid, line in host.strangers().items() if "dlaunch-agent" in line]
        self.assertGreaterEqual(len(agents), 4)
        for pid in agents:
            with contextlib.suppress(ProcessLookupError):  # a worker ends with its guardian
                os.kill(pid, signal.SIGKILL)
        self.assert_nothing_is_left(job)
        self.assertEqual(job.returncode, 125)

    def power_off(self, host):
        """Cuts the link first, so that no process can send a last message. Control groups end with the machine."""
        self.bed.head.drop_both_ways(host)
        for pid in host.processes():
            if pid != host.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        host.daemons = []

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_lost_node_ends_the_job(self):
        job = self.started(*self.DAEMONS)
        self.power_off(self.bed.hosts["node2"])
        _, said = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 125, said)
        self.assertRegex(said.decode(), "(?m)^dlaunch: a host was lost after .*: node2: the agent stopped sending heartbeats$")
        self.assertNotIn(b"rank 0", said)
        self.assert_hosts_clean()
        self.slurm.tell("scontrol", "update", "NodeName=node2", "State=DOWN", "Reason=power")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())
        for group in self.groups_of_steps():
            for each, _, _ in os.walk(group, topdown=False):
                os.rmdir(each)  # fails if a process of the step is left

    @takes_long
    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_job_cancelled_at_any_moment_leaves_no_process(self):
        for number in range(1, 21):
            with self.subTest(number):
                job = self.start_in_job(self.OPTIONS, "--grace", 1, *self.DAEMONS)
                self.assertTrue(wait_until(self.slurm.jobs, PATIENCE))
                time.sleep(number * 0.03)
                self.slurm.tell("scancel", *self.slurm.jobs())
                self.assert_nothing_is_left(job)
                self.assertNotEqual(job.returncode, 0)


if __name__ == "__main__":
    main(side_by_side=2)
