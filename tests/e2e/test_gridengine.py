"""Tests jobs of a real Grid Engine: agents and ranks are tasks of the job, defects of qrsh have no effect, and no
process is left."""
import json
import os
import signal
import subprocess

from hosts_case import PATIENCE, HostsCase, lines
from manager_case import MIB, ROWS, SLEEPERS, ManagerCase
from promises import KILL, LEAVES_NOTHING, LOSES_NOTHING, ONLY_SSHD, ORPHANS, READER, RUN, SGE, promise
from side_by_side import takes_long
from support import DLAUNCH, Case, main, sh, wait_until

import gridengine  # of the testbed, by hosts_case's path
import testbed

WHY_NOT = testbed.why_not() or gridengine.why_not()


class GridEngineCase(HostsCase):
    """All tests of a class share a testbed, its Grid Engine and its jobs, because each takes seconds to start."""

    place = SGE
    leaves = clean_within = 60

    @classmethod
    def setUpClass(cls):
        if WHY_NOT:
            return
        cls.shared = testbed.Testbed(cls.count)
        cls.addClassCleanup(cls.shared.close)
        cls.shared.__enter__()
        cls.engine = gridengine.GridEngine(cls.shared)
        cls.addClassCleanup(cls.engine.close)
        cls.engine.__enter__()

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        Case.setUp(self)
        self.bed = self.shared
        self.env |= self.engine.environment()

    def tearDown(self):
        super().tearDown()
        self.assertTrue(wait_until(lambda: not self.engine.tasks(), PATIENCE), f"tasks are left: {self.engine.tasks()}")

    def in_job(self, job, *words, by=(), **options):
        """Runs dlaunch to its end as a child of the job's script; `by`: a command line that starts dlaunch."""
        return self.run_dlaunch(*words, before=[*job.enter, *by], timeout=PATIENCE, **options)

    def start_in_job(self, job, *words):
        started = self.start(*words, before=job.enter, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(started.stdout.close)
        self.addCleanup(started.stderr.close)
        return started

    def running(self, beginning, host=None):
        hosts = [host] if host else self.bed.hosts.values()
        return [pid for each in hosts for pid, line in each.strangers().items() if line.startswith(beginning)]


class JobCase(GridEngineCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if WHY_NOT:
            return
        cls.job = cls.engine.submit(4)
        cls.first = cls.engine.submit(2, "first")


class InAJob(JobCase):
    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_are_in_the_job_without_ssh(self):
        """Grid Engine identifies the processes of a job or task on a host by an additional group."""
        for host in self.bed.hosts.values():
            host.kill_sshd()
        self.addCleanup(lambda: [host.start_sshd() for host in self.bed.hosts.values()])
        done = self.in_job(self.job, "--label", *sh('id -G | tr " " "\\n" | grep -cx "$(cat "$SGE_JOB_SPOOL_DIR/addgrpid")"'))
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(sorted(lines(done.stdout)), [f"[{rank}] 1" for rank in range(4)])

    def test_ranks_have_the_variables_of_their_own_node(self):
        show = 'for place in "$SGE_JOB_SPOOL_DIR" "$TMP"; do case $place in */$(hostname)/*) ;; *) echo "not ours: $place" ;; esac; done'
        done = self.in_job(self.job, "--label", *sh(show + '; echo "$JOB_ID $NHOSTS,$NSLOTS ${PE_HOSTFILE-none} $QUEUE"'))
        self.assert_exit(done, 0)
        number = self.job.number
        self.assertEqual(sorted(lines(done.stdout)), [f"[{rank}] {number} {'2,4' if rank < 2 else '1,2'} none all.q" for rank in range(4)])

    def test_slots_are_those_of_the_host_file(self):
        done = self.in_job(self.job, "hosts", "--format", "json")
        self.assert_exit(done, 0)
        self.assertEqual([(host["slots"], host["slots_from"]) for host in json.loads(done.stdout)["hosts"]], [(2, "PE_HOSTFILE")] * 2)

    def test_unreadable_host_file_is_an_error(self):
        done = self.in_job(self.job, "true", by=["env", "PE_HOSTFILE=/no/such"])
        self.assert_told(done, 2, "PE_HOSTFILE", "/no/such")

    def test_job_whose_script_counts_as_a_task(self):
        """The first host of the job has no slot for a task of qrsh."""
        done = self.in_job(self.first, "hostname")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["node1", "node2"])

    @promise(LOSES_NOTHING, mode=READER)
    def test_output_is_complete_for_a_slow_reader(self):
        done = self.in_job(self.job, "-N", "1", *sh(f"yes 1234567 | head -c {8 * MIB}"),
                           by=["sh", "-c", '"$@" | (sleep 1; wc -c)', "sh"])
        self.assertEqual(done.stdout.strip(), str(2 * 8 * MIB).encode())


class OwnJobs(GridEngineCase):
    """Each test has its own job of Grid Engine; all jobs are submitted at once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if WHY_NOT:
            return
        cls.jobs = [cls.engine.submit(4) for name in dir(cls) if name.startswith("test_") and callable(getattr(cls, name))]

    def setUp(self):
        super().setUp()
        self.job = self.jobs.pop()

    def assert_gone(self):
        self.assertTrue(wait_until(lambda: not self.running("sleep "), PATIENCE), "sleepers are left")
        self.assert_hosts_clean()


@takes_long
class Promises(ManagerCase, OwnJobs):
    row = ROWS[SGE]

    def enter(self):
        return self.job.enter

    def hosts(self):
        first = self.bed.head.run([*self.job.enter, "hostname"]).stdout.strip()
        other, = {"node1", "node2"} - {first}
        return first, first, other, other

    def told(self):
        return f"Grid Engine job {self.job.number}: 2 nodes × 2 slots"

    def launchers_of(self, job):
        return self.running(DLAUNCH)

    def without_sshd(self):
        super().without_sshd()
        self.addCleanup(lambda: [host.start_sshd() for host in self.bed.hosts.values()])

    def break_command(self):
        self.job = self.engine.submit(4, "loose")
        return "executing task of job", "didn't accept task"

    def commands(self):
        return self.running(str(self.engine.dir / "bin"))

    def cancel(self, job):
        self.job.delete()

    def before_output(self):
        self.bed[self.hosts()[-1]].sh("rm -rf /root/.cache/dlaunch")

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_command_leaves_no_process(self):
        """Grid Engine may end the whole job before dlaunch does."""
        self.start_sleepers()
        self.signal_all(self.commands(), signal.SIGKILL)
        self.assert_gone()

    def assert_others_end(self, job):
        """The job of Grid Engine continues."""
        super().assert_others_end(job)
        self.assert_gone()
        self.assertEqual(self.bed.head.run([*self.job.enter, "echo", "on"]).stdout, "on\n")
        self.assertFalse(self.job.is_over())


class Ends(OwnJobs):
    def started(self, *words, count=8):
        """A running dlaunch job, after `count` processes sleep."""
        started = self.start_in_job(self.job, *words)
        self.assertTrue(wait_until(lambda: len(self.running("sleep ")) == count, PATIENCE), self.running(""))
        return started

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_child_of_a_shepherd_does_not_fail_the_job(self):
        """The shepherd's child is the parent of the agent. It is not needed any more."""
        end = self.dir / "end"
        started = self.started(*sh(f"sleep 1000 & setsid sleep 1000 & until [ -e {end} ]; do /bin/sleep 0.1; done"))
        starter = self.running(f"{self.engine.dir}/utilbin")
        self.assertEqual(len(starter), 1)
        os.kill(starter[0], signal.SIGKILL)
        end.touch()
        _, said = started.communicate(timeout=PATIENCE)
        self.assertEqual(started.returncode, 0, said)
        self.assert_gone()

    def kill_agent(self, which):
        """Kills a process of node2's agent; the worker is the child of the guardian. Grid Engine or dlaunch may end the
        whole job."""
        self.started(*SLEEPERS)
        agents = sorted(self.running("/root/.cache/dlaunch"))
        self.assertEqual(len(agents), 2)
        os.kill(agents[which], signal.SIGKILL)
        self.assert_gone()

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_worker_leaves_no_process(self):
        self.kill_agent(1)

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_guardian_leaves_no_process(self):
        self.kill_agent(0)

    def test_ranks_are_in_the_accounting(self):
        self.assert_exit(self.in_job(self.job, *sh("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done")), 0)
        self.job.delete()
        accounts = self.engine.dir / "default/common/accounting"

        def hosts():
            rows = [row.split(":") for row in accounts.read_text().splitlines() if not row.startswith("#")] if accounts.exists() else []
            return {row[1] for row in rows if row[5] == self.job.number}

        self.assertTrue(wait_until(lambda: hosts() == {"node1", "node2"}, PATIENCE), hosts())


if __name__ == "__main__":
    main(side_by_side=2)
