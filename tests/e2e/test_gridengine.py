"""In a real Grid Engine's jobs: agents and ranks are tasks of the job, qrsh's traps harm nobody, and nothing is left."""
import json
import os
import signal
import subprocess

from hosts_case import PATIENCE, HostsCase, lines
from side_by_side import takes_long
from support import DLAUNCH, Case, main, sh, wait_until

import gridengine  # of the testbed, by hosts_case's path
import testbed

WHY_NOT = testbed.why_not() or gridengine.why_not()
MIB = 1 << 20
TIMES = int(os.environ.get("GRIDENGINE_TIMES", "3"))
SLEEPERS = sh("setsid sleep 1000 & exec sleep 1000")


class GridEngineCase(HostsCase):
    """All tests of a class share a testbed and its Grid Engine, which take seconds to come up, and jobs, which do, too."""

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
        """dlaunch among the children of the job's script, run to its end; `by`: what starts it there."""
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
        cls.loose = cls.engine.submit(4, "loose")
        cls.first = cls.engine.submit(2, "first")


class InAJob(JobCase):
    def test_ranks_are_in_the_job_and_nothing_goes_over_ssh(self):
        """Grid Engine knows all that is in a job or its task on a host by a group of its own."""
        for host in self.bed.hosts.values():
            host.kill_sshd()
        self.addCleanup(lambda: [host.start_sshd() for host in self.bed.hosts.values()])
        done = self.in_job(self.job, "--label", *sh('id -G | tr " " "\\n" | grep -cx "$(cat "$SGE_JOB_SPOOL_DIR/addgrpid")"'))
        self.assert_exit(done, 0)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(sorted(lines(done.stdout)), [f"[{rank}] 1" for rank in range(4)])

    def test_ranks_see_what_grid_engine_says_of_their_own_node(self):
        show = 'for place in "$SGE_JOB_SPOOL_DIR" "$TMP"; do case $place in */$(hostname)/*) ;; *) echo "not ours: $place" ;; esac; done'
        done = self.in_job(self.job, "--label", *sh(show + '; echo "$JOB_ID $NHOSTS,$NSLOTS ${PE_HOSTFILE-none} $QUEUE"'))
        self.assert_exit(done, 0)
        number = self.job.number
        self.assertEqual(sorted(lines(done.stdout)), [f"[{rank}] {number} {'2,4' if rank < 2 else '1,2'} none all.q" for rank in range(4)])

    def test_slots_are_those_of_the_host_file(self):
        done = self.in_job(self.job, "hosts", "--format", "json")
        self.assert_exit(done, 0)
        self.assertEqual([(host["slots"], host["slots_from"]) for host in json.loads(done.stdout)["hosts"]], [(2, "PE_HOSTFILE")] * 2)

    def test_it_says_which_way_it_takes(self):
        told = f"Grid Engine job {self.job.number}: 2 nodes × 2, by ".encode()
        self.assertIn(told + b"qrsh", self.in_job(self.job, "hosts").stdout)
        self.assertIn(told + b"qrsh", self.in_job(self.job, "--dry-run", "true").stdout)
        self.assertIn(told + b"qrsh", self.in_job(self.job, "-v", "true").stderr)
        self.assertIn(told + b"ssh", self.in_job(self.job, "--dry-run", "--transport", "ssh", "true").stdout)
        self.assertIn(told + b"--exec", self.in_job(self.job, "--dry-run", "--exec", "x {host}", "true").stdout)

    def test_insisting_on_qrsh_where_there_is_no_job(self):
        self.assert_told(self.run_dlaunch("--transport", "sge", "true"), 2, "--transport sge", "no job of a parallel environment")

    def test_a_host_file_that_cannot_be_read_is_an_error(self):
        done = self.in_job(self.job, "true", by=["env", "PE_HOSTFILE=/no/such"])
        self.assert_told(done, 2, "PE_HOSTFILE", "/no/such")

    def test_a_job_whose_script_counts_as_a_task(self):
        """There the first host has no slot for a task of qrsh's."""
        done = self.in_job(self.first, "hostname")
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["node1", "node2"])

    def test_what_qrsh_says_is_the_reason(self):
        done = self.in_job(self.loose, "true")
        self.assert_told(done, 125, "executing task of job", "didn't accept task")
        self.assertIn(b"control_slaves", done.stderr)


@takes_long
class Streams(JobCase):
    def other(self):
        """The host that is not the job's first."""
        first = self.bed.head.run([*self.job.enter, "hostname"]).stdout.strip()
        return next(host for name, host in self.bed.hosts.items() if name != first)

    def test_output_is_whole_with_the_agent_sent_and_kept(self):
        """What comes right before the end of a task of qrsh's can be lost on the way."""
        self.other().sh("rm -rf /root/.cache/dlaunch")
        for _ in range(TIMES):
            done = self.in_job(self.job, "-N", "1", *sh(f"yes 1234567 | head -c {64 * MIB}"))
            self.assert_exit(done, 0)
            self.assertEqual((len(done.stdout), done.stderr), (2 * 64 * MIB, b""))
            self.assertEqual(done.stdout.count(b"1234567\n"), 2 * 8 * MIB)

    def test_output_is_whole_for_a_slow_reader(self):
        done = self.in_job(self.job, "-N", "1", *sh(f"yes 1234567 | head -c {8 * MIB}"),
                           by=["sh", "-c", '"$@" | (sleep 1; wc -c)', "sh"])
        self.assertEqual(done.stdout.strip(), str(2 * 8 * MIB).encode())

    def test_stdin_is_whole(self):
        done = self.in_job(self.job, "--stdin", "3", "sh", "-c", "[ $RANK_ID != 3 ] || wc -c", input=b"x" * 8 * MIB)
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout.strip(), str(8 * MIB).encode())


class Ends(GridEngineCase):
    """A job each, all submitted at once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if WHY_NOT:
            return
        cls.jobs = [cls.engine.submit(4) for name in dir(cls) if name.startswith("test_")]

    def started(self, *words, count=8):
        """A job of Grid Engine's, and a running one of dlaunch's in it, once so many processes sleep."""
        job = self.jobs.pop()
        started = self.start_in_job(job, *words)
        self.assertTrue(wait_until(lambda: len(self.running("sleep ")) == count, PATIENCE), self.running(""))
        return job, started

    def assert_all_gone(self):
        self.assertTrue(wait_until(lambda: not self.running("sleep "), PATIENCE), "sleepers are left")
        self.assert_hosts_clean()

    def test_a_deleted_job_leaves_nothing(self):
        job, _ = self.started(*SLEEPERS)
        job.delete()
        self.assert_all_gone()

    def test_a_killed_launcher_leaves_nothing_but_the_job(self):
        job, _ = self.started(*sh("setsid sleep 1000 & sleep 1000 & exec yes"))
        for pid in self.running(DLAUNCH):
            os.kill(pid, signal.SIGKILL)
        self.assert_all_gone()
        self.assertEqual(self.bed.head.run([*job.enter, "echo", "on"]).stdout, "on\n")
        self.assertFalse(job.is_over())

    def test_a_killed_qrsh_leaves_nothing(self):
        self.started(*SLEEPERS)
        for pid in self.running(str(self.engine.dir / "bin")):
            os.kill(pid, signal.SIGKILL)
        self.assert_all_gone()

    def test_what_a_shepherd_started_may_be_killed(self):
        """Its own child, which our agent is a child of, has nothing more to do."""
        end = self.dir / "end"
        _, started = self.started(*sh(f"sleep 1000 & setsid sleep 1000 & until [ -e {end} ]; do /bin/sleep 0.1; done"))
        starter = self.running(f"{self.engine.dir}/utilbin")
        self.assertEqual(len(starter), 1)
        os.kill(starter[0], signal.SIGKILL)
        end.touch()
        _, said = started.communicate(timeout=PATIENCE)
        self.assertEqual(started.returncode, 0, said)
        self.assert_all_gone()

    def kill_agent(self, which):
        """Of node2's; the worker is its guardian's child. Grid Engine may end the whole job for it, dlaunch as well."""
        self.started(*SLEEPERS)
        agents = sorted(self.running("/root/.cache/dlaunch"))
        self.assertEqual(len(agents), 2)
        os.kill(agents[which], signal.SIGKILL)
        self.assert_all_gone()

    def test_a_killed_worker_leaves_nothing(self):
        self.kill_agent(1)

    def test_a_killed_guardian_leaves_nothing(self):
        self.kill_agent(0)

    def test_ranks_are_in_the_accounts(self):
        job = self.jobs.pop()
        self.assert_exit(self.in_job(job, *sh("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done")), 0)
        job.delete()
        accounts = self.engine.dir / "default/common/accounting"

        def hosts():
            rows = [row.split(":") for row in accounts.read_text().splitlines() if not row.startswith("#")] if accounts.exists() else []
            return {row[1] for row in rows if row[5] == job.number}

        self.assertTrue(wait_until(lambda: hosts() == {"node1", "node2"}, PATIENCE), hosts())


if __name__ == "__main__":
    main(side_by_side=2)
