"""Tests that no process of a job outlives it, whichever process dies, and that other processes are not touched."""
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import support
from promises import COMMAND, ENDS, FAILURE, FAKE_HOSTS, HERE, KILL, LEAVES_NOTHING, ORPHANS, RUN, SIGNAL, SILENCE, promise
from support import DLAUNCH, MARKER, Case, kill_together, left_since, sh, signals_taken, until_there, wait_until

# Each rank has a child in its own session, and a daemon that ignores SIGTERM.
DAEMONS = '(trap "" HUP TERM INT; setsid sleep 1000 &); setsid sleep 1000 & echo up; '
LIVES = DAEMONS + "sleep 1000"


NOBODY = 65534


def oom_score_adj(pid):
    return int(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text())


def become(user, own):
    """A preexec_fn: sets the user and the oom_score_adj."""
    pathlib.Path("/proc/self/oom_score_adj").write_text(str(own))
    if user != os.geteuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def stat_fields(pid):
    """State and parent of a process; None if it has ended."""
    with contextlib.suppress(OSError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], int(fields[1])
    return None


def sleeping(seconds):
    """The pids of `sleep SECONDS`, also without the test's environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(pid))
    return found


def end_daemons(seconds):
    for pid in sleeping(seconds):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children(pid):
    """{pid: state}, including zombies."""
    found = {int(p): stat_fields(p) for p in os.listdir("/proc") if p.isdigit()}
    return {p: facts[0] for p, facts in found.items() if facts and facts[1] == pid}


class Cleanup(Case):
    def job(self, *args, ranks=2, wait=True, **options):
        """A running job whose ranks have printed "up", and the pids of its agent: guardian and worker."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        job = self.start("-n", ranks, "--grace", 1, *args, **options)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        for _ in range(ranks):
            self.assertEqual(job.stdout.readline(), b"up\n")
        guardian, = (pid for pid in children(job.pid) if is_agent(pid))
        worker, = (pid for pid in children(guardian) if is_agent(pid))
        return job, guardian, worker

    def assert_gone(self, job, *pids, code=None):
        if code is not None:
            self.assertEqual(job.wait(support.TIMEOUT), code)
        self.assert_nothing_left()
        job.wait(self.leaves)
        self.assertTrue(wait_until(lambda: not any(map(is_agent, pids)), self.leaves), "an agent is left")

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, SIGNAL))
    def test_signalled_launcher_leaves_no_process(self):
        for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)):
            with self.subTest(signal=number.name):
                job, *agents = self.job(*sh(LIVES))
                job.send_signal(number)
                self.assert_gone(job, *agents, code=code)

    @promise(ENDS, LEAVES_NOTHING, mode=ORPHANS, place=(HERE, COMMAND))
    def test_daemon_that_prints_forever_does_not_block_the_job(self):
        for way in ((), ("--exec", "env X={host}", "-H", "elsewhere")):
            with self.subTest(way=way):
                result = self.run_dlaunch(*way, "-n", 1, *sh('setsid sh -c "while :; do echo more; sleep 0.05; done" & echo mine'))
                self.assert_exit(result, 0)
                self.assertIn(b"mine\n", result.stdout)
                self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_second_interrupt_kills_the_ranks(self):
        job = self.start("-n", 2, "--grace", 60, *sh('trap "echo told" INT; trap "" TERM; ' + DAEMONS + "while :; do sleep 0.05; done"), stdout=subprocess.PIPE)
        with job:
            self.assertEqual(job.stdout.readline() + job.stdout.readline(), b"up\nup\n")
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.stdout.readline() + job.stdout.readline(), b"told\ntold\n")
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(5), 130)
            self.assertEqual(self.processes(), {})

    @promise(ENDS, LEAVES_NOTHING, mode=(ORPHANS, SIGNAL))
    def test_interrupt_skips_the_grace_of_daemons(self):
        """The ranks have succeeded. An interrupt ends the wait for the grace period of the daemons that they left."""
        job = self.start("-n", 1, "--grace", 60, *sh(DAEMONS), stdout=subprocess.PIPE)
        with job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            # The launcher and the daemon that ignores SIGTERM
            self.assertTrue(wait_until(lambda: len(self.processes()) == 2))
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(5), 0)
            self.assertEqual(self.processes(), {})

    @promise(ENDS, LEAVES_NOTHING, mode=SILENCE)
    def test_agent_that_does_not_answer_ends_with_its_ranks(self):
        job, guardian, worker = self.job(*sh(LIVES))
        os.kill(worker, signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        for _ in range(3):
            job.send_signal(signal.SIGINT)
            self.assertTrue(wait_until(lambda: job.poll() is not None or signals_taken(job.pid)))
        self.assertEqual(job.wait(support.TIMEOUT), 130)
        self.assertEqual(self.processes(), {})
        self.assertFalse(is_agent(worker))

    @promise(ENDS, LEAVES_NOTHING, mode=SILENCE)
    def test_stopped_worker_ends_if_its_guardian_gets_sigterm(self):
        """The launcher sends the SIGTERM when it has given up the host and ends the command that led to it."""
        job, guardian, worker = self.job(*sh(LIVES))
        os.kill(worker, signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: stat_fields(worker)[0] == "T"))
        os.kill(guardian, signal.SIGTERM)
        self.assert_gone(job, guardian, worker, code=125)

    @promise(LEAVES_NOTHING, mode=SILENCE)
    def test_stopped_agent_survives_sigterm_until_continued(self):
        """A batch system may do this: it stops, signals and continues all processes."""
        job, guardian, worker = self.job(*sh(LIVES))
        for pid in (worker, guardian):
            os.kill(pid, signal.SIGSTOP)
            self.assertTrue(wait_until(lambda: stat_fields(pid)[0] == "T"))
        os.kill(guardian, signal.SIGTERM)
        for pid in (worker, guardian):
            os.kill(pid, signal.SIGCONT)
        self.assert_gone(job, guardian, worker, code=143)

    def test_kernel_kills_a_rank_first_when_memory_runs_out(self):
        """All processes start with the user's oom_score_adj. Ranks and their descendants get a higher one."""
        for user in (os.geteuid(), NOBODY) if os.geteuid() == 0 else (os.geteuid(),):
            for own, ranks in ((0, 300), (900, 1000)):
                with self.subTest(user=user, own=own):
                    job, guardian, worker = self.job(*sh("sleep 1000 & echo up; wait"), cwd="/", env={"HOME": "/"}, preexec_fn=functools.partial(become, user, own))
                    self.assertEqual([oom_score_adj(pid) for pid in (job.pid, guardian, worker)], [own] * 3)
                    of_job = self.processes().keys() - {job.pid}
                    self.assertGreaterEqual(len(of_job), 4)
                    self.assertEqual({oom_score_adj(pid) for pid in of_job}, {ranks})
                    job.terminate()
                    self.assert_gone(job, guardian, worker, code=143)

    @promise(ENDS, LEAVES_NOTHING, mode=KILL)
    def test_killed_worker_leaves_no_process(self):
        job, guardian, worker = self.job(*sh(LIVES))
        os.kill(worker, signal.SIGKILL)
        self.assert_gone(job, guardian, worker, code=125)

    @promise(ENDS, LEAVES_NOTHING, mode=KILL)
    def test_killed_guardian_leaves_no_process(self):
        job, guardian, worker = self.job(*sh(LIVES))
        os.kill(guardian, signal.SIGKILL)
        self.assert_gone(job, guardian, worker, code=125)

    @promise(ENDS, LEAVES_NOTHING, mode=KILL)
    def test_killed_agent_leaves_no_process(self):
        job, guardian, worker = self.job(*sh(LIVES))
        rank, *_ = children(worker)
        job_id = re.search(rb"DLAUNCH_JOB_ID=(\w+)", pathlib.Path(f"/proc/{rank}/environ").read_bytes())[1].decode()
        kill_together(guardian, worker)
        self.assertEqual(job.wait(support.TIMEOUT), 125)
        self.assertEqual(self.processes(), {})  # the launcher has waited for them
        self.assertEqual(list(pathlib.Path("/dev/shm").glob(f"dlaunch-kvs_{job_id}-*")), [])

    def home_of(self, user):
        """The test's directory, which only its own user may enter; else "/", which every user may enter."""
        return str(self.dir) if user == os.geteuid() else "/"

    @promise(ENDS, LEAVES_NOTHING, mode=(KILL, ORPHANS), place=(HERE, FAKE_HOSTS))
    def test_killed_agent_leaves_no_process_without_environment(self):
        """The rank starts a daemon without the job's environment, and kills both processes of its agent. An ordinary user
        has no control group that contains the daemon."""
        rank = 'env -i setsid sleep {} & echo up; sleep 0.2; read -r _ _ _ guardian _ </proc/$PPID/stat; kill -9 $guardian $PPID; sleep 1000'
        for user in (os.geteuid(), NOBODY) if os.geteuid() == 0 else (os.geteuid(),):
            here = ((), ("-H", "localhost", "--stdout-file", "/dev/null:copy"))  # a process of the launcher writes the file
            for hosts in (*here, ("--fake-hosts", "2x1")) if user == os.geteuid() else here:
                with self.subTest(user=user, hosts=hosts):
                    daemon = f"{1000 + user}.{os.getpid()}{len(hosts)}"
                    self.addCleanup(end_daemons, daemon)
                    result = self.run_dlaunch(*hosts, "-n", 1, "--grace", 1, *sh(rank.format(daemon)), cwd="/",
                                              env={"HOME": self.home_of(user)}, preexec_fn=functools.partial(become, user, 0))
                    self.assertEqual(result.stdout, b"up\n", result.stderr)
                    self.assert_exit(result, 125)
                    if hosts in here:
                        self.assertEqual(sleeping(daemon), [])
                    self.assertIn(b"no process with the job's environment or control group is left on", result.stderr)

    @promise(LEAVES_NOTHING, mode=ORPHANS, place=(HERE, FAKE_HOSTS))
    def test_process_without_its_main_thread_is_ended(self):
        """Its state in /proc is Z, its environment there is empty, and cgroup.kill does not end it."""
        (self.dir / "half.c").write_text(
            '#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n'
            'static void *stay(void *none) { for (;;) pause(); return none; }\n'
            'int main(void) { pthread_t thread; printf("%d\\n", getpid()); fflush(stdout);'
            ' pthread_create(&thread, 0, stay, 0); pthread_exit(0); }\n')
        half = self.dir / "half"
        subprocess.run(["gcc", "-pthread", "-o", half, f"{half}.c"], check=True, timeout=support.TIMEOUT)
        self.dir.chmod(0o755)
        for user in (os.geteuid(), NOBODY) if os.geteuid() == 0 else (os.geteuid(),):
            for hosts in ((), ("--fake-hosts", "1x1")) if user == os.geteuid() else ((),):
                with self.subTest(user=user, hosts=hosts):
                    result = self.run_dlaunch(*hosts, "-n", 1, "--grace", 1, *sh(f"setsid {half} & sleep 0.5"), cwd="/",
                                              env={"HOME": self.home_of(user)}, preexec_fn=functools.partial(become, user, 0))
                    pid = int(result.stdout)
                    left = stat_fields(pid)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    self.assertIsNone(left, result.stderr)
                    self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_orphan_of_a_child_from_before_exec_survives(self):
        """The orphan leaves its session and becomes a child of the launcher, which must not end it."""
        daemon = f"1234.{os.getpid()}"
        self.addCleanup(end_daemons, daemon)
        script = (f'(sleep 0.5; setsid sleep {daemon} >/dev/null 2>&1 & sleep 0.1) & exec "{DLAUNCH}" -n 1 --grace 1 '
                  'sh -c "echo up; sleep 1; read -r _ _ _ guardian _ </proc/\\$PPID/stat; kill -9 \\$guardian \\$PPID; sleep 1000"')
        result = subprocess.run(sh(script), env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=support.TIMEOUT, check=False)
        self.assertEqual((result.returncode, result.stdout), (125, b"up\n"), result.stderr)
        self.assertEqual(len(sleeping(daemon)), 1)
        end_daemons(daemon)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_killed_launcher_and_guardian_leave_no_process(self):
        job, guardian, worker = self.job(*sh(LIVES))
        kill_together(job.pid, guardian)
        self.assert_gone(job, guardian, worker)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_killed_launcher_and_worker_leave_no_process(self):
        job, guardian, worker = self.job(*sh(LIVES))
        kill_together(job.pid, worker)
        self.assert_gone(job, guardian, worker)

    @promise(LEAVES_NOTHING, mode=ORPHANS)
    def test_successful_job_ends_its_daemons(self):
        job, *agents = self.job(*sh(DAEMONS + until_there("go")))
        (self.dir / "go").touch()
        self.assertEqual(job.wait(support.TIMEOUT), 0)
        self.assertEqual(self.processes(), {})
        self.assertEqual([pid for pid in agents if is_agent(pid)], [], "an agent is left right after the end")

    @promise(LEAVES_NOTHING, mode=(ORPHANS, FAILURE))
    def test_failed_job_ends_its_daemons(self):
        job, *agents = self.job(*sh(DAEMONS + '[ "$RANK_ID" = 0 ] || { ' + until_there("go") + '; exit 3; }; sleep 1000'))
        (self.dir / "go").touch()
        self.assertEqual(job.wait(support.TIMEOUT), 3)
        self.assertEqual(self.processes(), {})
        self.assertEqual([pid for pid in agents if is_agent(pid)], [], "an agent is left right after the end")

    def test_children_of_the_launcher_from_before_exec_survive(self):
        for lose_the_agents in (False, True):
            with self.subTest(lose_the_agents=lose_the_agents):
                rank = "sleep 1000" if lose_the_agents else until_there("go")
                script = f'sleep 1234 & exec "{DLAUNCH}" -n 1 --grace 1 sh -c "echo up; {rank}"'
                with support.Job(sh(script), env=self.env, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as job:
                    self.assertEqual(job.stdout.readline(), b"up\n")
                    if lose_the_agents:
                        guardian, = (pid for pid in children(job.pid) if is_agent(pid))
                        kill_together(guardian, *(pid for pid in children(guardian) if is_agent(pid)))
                    (self.dir / "go").touch()
                    self.assertEqual(job.wait(support.TIMEOUT), 125 if lose_the_agents else 0)
                    self.assertEqual(list(self.processes().values()), ["sleep 1234 "])
                    self.kill_leftovers()

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_killed_job_does_not_touch_another_job(self):
        one, *agents = self.job(*sh(LIVES))
        os.mkfifo(self.dir / "go")
        other, *_ = self.job(*sh("echo up; read word <go; echo alive"))
        mine = len(self.processes())
        one.kill()
        self.assertTrue(wait_until(lambda: len(self.processes()) == 3, 10), f"{mine}: {self.processes()}")
        with open(self.dir / "go", "w") as go:
            print("go\ngo", file=go, flush=True)
            self.assertEqual(other.stdout.read(), b"alive\nalive\n")
        self.assertEqual(other.wait(support.TIMEOUT), 0)
        self.assert_gone(one, *agents)

    @promise(LEAVES_NOTHING, mode=(RUN, FAILURE, KILL))
    def test_job_leaves_no_files(self):
        (self.dir / "tmp").mkdir()
        before = dlaunch_files()
        env = {"TMPDIR": str(self.dir / "tmp")}
        self.assert_exit(self.run_dlaunch("-n", 2, "true", env=env), 0)
        self.assert_exit(self.run_dlaunch("-n", 2, *sh("exit 3"), env=env), 3)
        job, *agents = self.job(*sh(LIVES), env=env)
        job.kill()
        self.assert_gone(job, *agents)
        self.assertEqual(os.listdir(self.dir), ["tmp"])  # the directory is also the home
        self.assertEqual(os.listdir(self.dir / "tmp"), [])
        self.assertEqual(left_since(before, dlaunch_files), set())


class AsPid1(Case):
    """dlaunch as PID 1, as in a container without an init. SIGTERM ends the jobs, because the end of PID 1 kills all
    processes of its namespace."""

    def setUp(self):
        super().setUp()
        self.unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
        if not shutil.which("unshare") or subprocess.run([*self.unshare, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no pid namespace can be made here (unshare, as root)")

    @contextlib.contextmanager
    def as_pid_1(self, script):
        job = subprocess.Popen([*self.unshare, *sh(script)], env=self.env, cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with job:
            try:
                self.assertEqual(job.stdout.readline(), b"up\n")
                yield job, next(iter(children(job.pid)))
            finally:
                self.kill_leftovers()

    @promise(LEAVES_NOTHING, mode=ORPHANS)
    def test_foreign_orphans_are_reaped(self):
        with self.as_pid_1(f'({until_there("go")} &); exec "{DLAUNCH}" -n 1 sh -c "echo up; sleep 1000"') as (job, first):
            self.assertEqual(len(children(first)), 2)
            (self.dir / "go").touch()
            self.assertTrue(wait_until(lambda: len(children(first)) == 1, 10), f"zombies: {children(first)}")
            os.kill(first, signal.SIGTERM)
            self.assertEqual(job.wait(support.TIMEOUT), 143)

    def test_signals_are_forwarded(self):
        echo = f'exec "{DLAUNCH}" -n 1 sh -c \'trap "echo usr" USR1; trap "echo term; exit" TERM; echo up; while :; do sleep 0.05; done\''
        with self.as_pid_1(echo) as (job, first):
            os.kill(first, signal.SIGUSR1)
            self.assertEqual(job.stdout.readline(), b"usr\n")
            os.kill(first, signal.SIGTERM)
            self.assertEqual(job.stdout.readline(), b"term\n")
            self.assertEqual(job.wait(support.TIMEOUT), 143)

    @promise(LEAVES_NOTHING, mode=ORPHANS)
    def test_orphans_of_ranks_leave_no_zombies(self):
        with self.as_pid_1(f'exec "{DLAUNCH}" -n 2 sh -c \'for i in 1 2 3; do (setsid sh -c ": >$RANK_ID.$i" &); done; '
                           f'[ $RANK_ID = 1 ] || echo up; sleep 1000\'') as (job, first):
            guardian, = children(first)
            worker, = children(guardian)
            self.assertTrue(wait_until(lambda: len(list(self.dir.glob("[01].[123]"))) == 6))
            self.assertTrue(wait_until(lambda: len(children(worker)) == 2, 10), children(worker))  # the ranks
            os.kill(first, signal.SIGTERM)
            self.assertEqual(job.wait(support.TIMEOUT), 143)


class ForeignProc(Case):
    """A pid namespace without its own /proc: a pid in /proc belongs to a different process of the namespace."""

    def test_no_process_is_signalled_by_a_pid_of_proc(self):
        """The control group of root ends the daemon. Without control group, dlaunch reports the daemon."""
        unshare = ["unshare", "--pid", "--fork", "--kill-child"]
        if not shutil.which("unshare") or subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no pid namespace can be made here (unshare, as root)")
        bystanders = 40  # so that a pid of /proc may be the pid of a bystander
        for user in (os.geteuid(), NOBODY):
            become_user = "" if user == os.geteuid() else f"setpriv --reuid {user} --regid {user} --clear-groups "
            script = (f'for i in $(seq {bystanders}); do {become_user}setsid sleep 1000 >/dev/null 2>&1 & pids="$pids $!"; done; '
                      f'{become_user}"{DLAUNCH}" -n 1 --grace 1 sh -c "setsid sleep 1000 >/dev/null 2>&1 & echo up"; echo "code $?"; '
                      'n=0; for pid in $pids; do kill -0 $pid && n=$((n + 1)); done; echo "alive $n"')
            with self.subTest(user=user):
                result = subprocess.run([*unshare, *sh(script)], env=self.env | {"HOME": "/"}, cwd="/", stdin=subprocess.DEVNULL,
                                        capture_output=True, timeout=2 * support.TIMEOUT, check=False)
                self.assertEqual(result.stdout.decode().splitlines(), ["up", "code 0", f"alive {bystanders}"], result.stderr)
                said = result.stderr.decode()
                self.assertEqual(said.count("/proc does not show the processes of this pid namespace"), 1, said)
                if user != os.geteuid():
                    self.assertIn("processes that /proc does not show", said)


def is_agent(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"dlaunch-agent")
    return False


def dlaunch_files():
    """Files of dlaunch in the shared directories, without those of tests."""
    return {str(path) for folder in ("/tmp", "/var/tmp", "/dev/shm") for path in pathlib.Path(folder).glob("*dlaunch*")
            if "dlaunch-e2e-" not in path.name}


if __name__ == "__main__":
    support.main(side_by_side=3)
