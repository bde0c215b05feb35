"""Tests signals to the launcher: which signals the ranks get, how often, and how the job ends."""
import functools
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import support
from promises import ENDS, LEAVES_NOTHING, LOSES_NOTHING, PTY, SIGNAL, START, promise
from support import Case, program, sh, signals_taken, wait_until


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def ignoring(*numbers):
    """A preexec_fn that ignores signals, as nohup or `dlaunch … &` in a script does."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


class Signals(Case):
    ranks = 3

    def job(self, *args, ranks=None, **options):
        ranks = self.ranks if ranks is None else ranks
        options.setdefault("stderr", subprocess.PIPE)
        job = self.start("-n", ranks, *args, stdout=subprocess.PIPE, **options)
        self.addCleanup(job.stdout.close)
        if job.stderr:
            self.addCleanup(job.stderr.close)
        return job

    def heard(self, job, count=None):
        """`count` lines without newlines, sorted."""
        return sorted(job.stdout.readline().decode().rstrip("\n") for _ in range(self.ranks if count is None else count))

    def echo(self, **options):
        """Starts a job of signal_echo. Returns the job and the pids of the running ranks."""
        job = self.job(program("signal_echo"), **options)
        return job, [int(line.removeprefix("ready ")) for line in self.heard(job)]

    def rest(self, job, code):
        out = job.stdout.read().decode().split()
        self.assertEqual(job.wait(support.TIMEOUT), code)
        return out

    def test_each_signal_reaches_every_rank_once(self):
        job, _ = self.echo()
        for number, name in ((signal.SIGUSR1, "USR1"), (signal.SIGUSR2, "USR2"), (signal.SIGCONT, "CONT"), (signal.SIGUSR1, "USR1")):
            job.send_signal(number)
            self.assertEqual(self.heard(job), [name] * self.ranks)
        job.terminate()  # a repeated signal would arrive before SIGTERM
        self.assertEqual(self.rest(job, 143), ["TERM"] * self.ranks)

    def test_job_makes_few_system_calls(self):
        """Each job pays for these calls. A new one needs a reason, and a higher limit here."""
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        env = {**self.env, "PATH": "/usr/bin:/bin"}
        subprocess.run(["strace", "-f", "-c", "-o", "calls", support.DLAUNCH, "-n", "1", "true"], cwd=self.dir, env=env, check=True)
        table = (self.dir / "calls").read_text()
        calls = {words[-1]: int(words[3]) for words in map(str.split, table.splitlines()) if len(words) > 4 and words[3].isdigit()}
        of_sanitizer = 3000 if support.SANITIZED else 0
        self.assertLessEqual(calls["rt_sigaction"], 170 + of_sanitizer, table)
        self.assertLessEqual(sum(count for name, count in calls.items() if name != "total"), 700 + of_sanitizer, table)

    def test_interrupt_and_hangup_are_forwarded(self):
        for number, name in ((signal.SIGINT, "INT"), (signal.SIGHUP, "HUP")):
            with self.subTest(name):
                job, _ = self.echo()
                job.send_signal(number)
                self.assertEqual(self.heard(job, 2 * self.ranks), ["CONT"] * self.ranks + [name] * self.ranks)
                job.kill()  # signal_echo does not end on these signals

    @promise(ENDS, mode=SIGNAL)
    def test_exit_codes_of_ending_signals(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131),
                             (signal.SIGXCPU, 152), (signal.SIGALRM, 142)):
            with self.subTest(number.name):
                job = self.job(*sh("ulimit -c 0; echo up; exec sleep 1000"))
                self.heard(job)
                job.send_signal(number)
                self.assertEqual(self.rest(job, code), [])
                self.assertIn(f"interrupted by {number.name}", support.cause(job.stderr.read()))

    @promise(ENDS, mode=SIGNAL)
    def test_second_interrupt_kills_at_once(self):
        job = self.job("--grace", 60, *sh('trap "echo told" INT; trap "" TERM; echo up; while :; do sleep 0.05; done'))
        self.heard(job)
        job.send_signal(signal.SIGINT)
        self.assertEqual(self.heard(job), ["told"] * self.ranks)
        self.assertIsNone(job.poll())
        start = time.monotonic()
        job.send_signal(signal.SIGINT)
        self.rest(job, 130)
        self.assertLess(time.monotonic() - start, 3)
        self.assertIn("3 needed KILL", job.stderr.read().decode())

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, START))
    def test_interrupt_during_the_start_ends_the_job(self):
        for run in range(30):
            job = self.job("--grace", 60, "sleep", 1000, ranks=32)
            time.sleep(run * 0.002)  # a different time in each run
            job.send_signal(signal.SIGINT)
            # A rank that missed its signal would wait for the grace period.
            job.wait(10)
            self.assertEqual((job.returncode, job.died_of), (130, signal.SIGINT), f"run {run}")
        self.assert_nothing_left()

    @promise(ENDS, mode=(SIGNAL, START))
    def test_signal_during_a_read_before_the_job_ends_dlaunch(self):
        """The reader of a FIFO without a writer waits, like the reader of a file on a dead file server."""
        os.mkfifo(self.dir / "fifo")
        for options, env in ((["--hostfile", "fifo"], {}), ([], {"DLAUNCH_CONFIG": str(self.dir / "fifo")})):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.start("-n", 1, *options, "true", env=env, stderr=subprocess.PIPE) as job:
                    self.assertTrue(wait_until(lambda pid=job.pid: state(pid) == "S"))
                    job.send_signal(number)
                    err = job.communicate(timeout=10)[1]
                self.assertEqual((job.died_of, err), (number, b""))

    def test_time_limit_ends_a_read_before_the_job(self):
        fifo = str(self.dir / "fifo")
        os.mkfifo(fifo)
        cases = [(["-n", 1, option, fifo], {}, 124) for option in ("--hostfile", "--rankfile", "--env-file")]
        cases += [(["--app", fifo], {}, 124), (["--rank-table", fifo], {}, 124), (["-n", 1], {"DLAUNCH_CONFIG": fifo}, 124),
                  (["--as", "mpirun", "-n", 1, "--hostfile", fifo], {}, 110)]
        for options, env, code in cases:
            program = [] if "--app" in options else ["true"]
            for limit, env in ((["--timeout", 0.2], env), ([], {**env, "DLAUNCH_TIMEOUT": "0.2"})):
                if "DLAUNCH_CONFIG" in env and not limit:
                    continue  # the file may override the variable
                with self.subTest(options=options, env=env):
                    result = self.run_dlaunch(*options[:2], *limit, *options[2:], *program, env=env, timeout=10)
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertIn(f"cannot read {fifo}: the time limit of the job".encode(), result.stderr)

    @promise(LOSES_NOTHING, mode=SIGNAL)
    def test_ranks_handle_signals_before_the_end(self):
        job = self.job(*sh('trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done'))
        self.heard(job)
        job.terminate()
        self.assertEqual(self.rest(job, 143), ["bye"] * self.ranks)

    def test_job_succeeds_if_its_ranks_handle_the_signal_and_exit_with_0(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            job = self.job(*sh('trap "echo bye; exit 0" INT TERM HUP; echo up; while :; do sleep 0.05; done'))
            self.heard(job)
            job.send_signal(number)
            self.assertEqual(self.rest(job, 0), ["bye"] * self.ranks)
            self.assertEqual(job.died_of, 0)
            self.assertNotIn(b"dlaunch", job.stderr.read())

    @promise(ENDS, mode=SIGNAL)
    def test_dlaunch_dies_of_the_signal_that_interrupted_the_job(self):
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            for hosts in ([], ["--fake-hosts", 2]):
                job = self.job(*hosts, *sh("echo up; exec sleep 1000"), ranks=2)
                self.heard(job, 2)
                job.send_signal(number)
                self.rest(job, 128 + number)
                self.assertEqual(job.died_of, number)
                self.assertIn(f"interrupted by {number.name}", support.cause(job.stderr.read()))
        self.assertEqual(list(self.dir.glob("core*")), [])

    @promise(ENDS, mode=SIGNAL)
    def test_dlaunch_exits_with_a_code_if_a_batch_system_may_have_signalled_it(self):
        in_pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        handled = sh('trap "exit 0" INT TERM; echo up; while :; do sleep 0.05; done')
        for number in (signal.SIGINT, signal.SIGTERM):
            for program in (handled, sh("echo up; exec sleep 1000")):
                job = self.job(*program, env=in_pod)
                self.heard(job)
                job.send_signal(number)
                self.rest(job, 128 + number)
                self.assertEqual(job.died_of, 0)
        (self.dir / "key").write_text("a key of more than 32 characters for the nodes\n")
        (self.dir / "key").chmod(0o600)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = "127.0.0.1:%d" % free.getsockname()[1]
        for env, died in ((in_pod, 0), ({}, signal.SIGTERM)):  # node 0 waits for node 1
            with self.start("--same-line", "--nodes", 2, "--node-rank", 0, "--rendezvous", address, "--key-file", "key", "true",
                            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
                self.assertTrue(wait_until(lambda pid=job.pid: signals_taken(pid) and state(pid) == "S"))
                time.sleep(0.5)
                job.terminate()
                err = job.communicate(timeout=support.TIMEOUT)[1]
            self.assertEqual((job.returncode, job.died_of), (143, died), err)

    def test_exit_code_of_an_interrupted_rank_is_no_death_of_dlaunch(self):
        with self.start("-n", 1, *sh("kill -INT $$"), stderr=subprocess.PIPE) as job:
            job.communicate(timeout=support.TIMEOUT)
        self.assertEqual((job.returncode, job.died_of), (130, 0))

    def test_interrupt_of_a_terminal_stops_the_loop_of_a_shell(self):
        line = f'for i in 1 2 3; do {support.DLAUNCH} -n 1 sh -c "echo up; exec sleep 1000"; done; echo after'
        with subprocess.Popen(["bash", "-c", line], env=self.env, cwd=self.dir, start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shell:
            self.assertEqual(shell.stdout.readline(), b"up\n")
            os.killpg(shell.pid, signal.SIGINT)
            out = shell.communicate(timeout=support.TIMEOUT)[0]
        self.assertEqual((out, shell.returncode), (b"", -signal.SIGINT))

    def test_signals_ignored_at_the_start_stay_ignored(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number.name):
                job, _ = self.echo(preexec_fn=ignoring(number))
                job.send_signal(number)
                self.assertTrue(wait_until(lambda: signals_taken(job.pid)))
                job.terminate()
                self.assertEqual(self.rest(job, 143), ["TERM"] * self.ranks)

    @promise(ENDS, mode=SIGNAL)
    def test_sigterm_ends_the_job_of_a_parent_that_ignores_or_blocks_it(self):
        """SIGCHLD too: without its default action, the exit status of an agent would be lost."""
        mask = functools.partial(signal.pthread_sigmask, signal.SIG_BLOCK, set(signal.Signals))
        for name, inherited in (("ignored", ignoring(signal.SIGTERM, signal.SIGCHLD)), ("blocked", mask)):
            with self.subTest(name):
                job, _ = self.echo(preexec_fn=inherited)
                job.terminate()
                job.wait(support.TIMEOUT)
                self.assertEqual(self.rest(job, 143), ["TERM"] * self.ranks)
                self.assertIn("interrupted by SIGTERM", support.cause(job.stderr.read()))

    @promise(ENDS, mode=SIGNAL)
    def test_sigterm_ends_a_shell_script_that_ignores_it(self):
        with subprocess.Popen([*sh(f'trap "" TERM; exec {support.DLAUNCH} -n 1 sh -c "echo up; exec sleep 1000"')], env=self.env, cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            job.terminate()
            self.assertEqual(job.wait(support.TIMEOUT), -signal.SIGTERM)

    def test_background_job_of_a_script_ignores_an_interrupt(self):
        with subprocess.Popen([*sh(f'{support.DLAUNCH} -n 1 sh -c "echo up; exec sleep 1000" & echo $!; wait $!')], env=self.env, cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shell:
            first, second = sorted(shell.stdout.readline() for _ in range(2))
            self.assertEqual(second, b"up\n")
            pid = int(first)
            for number in (signal.SIGINT, signal.SIGQUIT):
                os.kill(pid, number)
            self.assertTrue(wait_until(lambda: signals_taken(pid)))
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(shell.wait(support.TIMEOUT), 143)

    def test_ranks_start_with_default_signal_handling(self):
        job = self.job("cat", "/proc/self/status", ranks=1,
                       preexec_fn=ignoring(signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD, signal.SIGPIPE))
        status = self.rest(job, 0)
        masks = {name: int(status[status.index(name) + 1], 16) & 0x7FFFFFFF for name in ("SigIgn:", "SigBlk:")}
        self.assertEqual(masks, {"SigIgn:": 0, "SigBlk:": 0})

    def test_stop_and_continue_are_forwarded(self):
        job, ranks = self.echo()
        job.send_signal(signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: [state(pid) for pid in [job.pid, *ranks]] == ["T"] * 4, 5))
        job.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: "T" not in [state(pid) for pid in [job.pid, *ranks]], 5))
        self.assertEqual(self.heard(job), ["CONT"] * self.ranks)
        job.terminate()
        self.assertEqual(self.rest(job, 143), ["TERM"] * self.ranks)

    @promise(ENDS, mode=SIGNAL)
    def test_stopped_rank_can_be_ended(self):
        job, ranks = self.echo()
        os.kill(ranks[0], signal.SIGSTOP)
        job.terminate()
        self.assertEqual(self.rest(job, 143), ["TERM"] * self.ranks)

    @promise(ENDS, mode=(SIGNAL, PTY))
    def test_terminal_interrupt_reaches_each_rank_once(self):
        with self.under_pty("-n", 2, *sh('trap "echo got-int; exit 1" INT; echo up; while :; do sleep 0.05; done')) as terminal:
            terminal.read_until(b"up\r\n", times=2)
            terminal.type(b"\x03")
            code, seen = terminal.finish()
            self.assertEqual(code, 130)
            self.assertEqual(seen.count(b"got-int"), 2, seen)
            self.assertIn(b"interrupted by SIGINT", seen)


if __name__ == "__main__":
    support.main()
