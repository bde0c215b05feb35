"""Tests how a failed job ends: the exit code, the processes that are ended, and the last lines of stderr."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import support
from promises import DEADLINE, ENDS, FAILURE, FAKE_HOSTS, FILES, HERE, KILL, LOSES_NOTHING, NAMES_FIRST, ORPHANS, START, promise
from support import Case, SANITIZED, TELL_PID, program, sh, until_ended, until_there, wait_until

REST_SLEEPS = "; exec sleep 1000"


def lines(data):
    return data.decode(errors="replace").splitlines()


class Failures(Case):
    @promise(NAMES_FIRST, mode=FAILURE)
    def test_summary_names_the_first_failure_then_its_last_lines(self):
        result = self.run_dlaunch("-n", 4, "--fake-devices", 4, *sh(
            'if [ "$RANK_ID" = 2 ]; then echo "pid $$"; for i in 1 2 3; do echo "word $i" >&2; done; exit 3; fi' + REST_SLEEPS))
        self.assert_exit(result, 3)
        pid = re.search(rb"pid (\d+)", result.stdout)[1].decode()
        said = lines(result.stderr)
        host = socket.gethostname()
        self.assertRegex(said[-6], rf"^dlaunch: rank 2 \(host {re.escape(host)}, pid {pid}, device 2\) exited with code 3 after ")
        self.assertEqual(said[-5:], ["dlaunch: last stderr lines of rank 2:", *(f"dlaunch:   | word {i}" for i in (1, 2, 3)),
                                     "dlaunch: stopped the 3 other ranks"])

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_summary_shows_stdout_if_stderr_is_blank(self):
        script = '[ "$RANK_ID" = 1 ] || exec sleep 1000; echo "step 1"; echo " ERROR STOP 4"; printf " \\n" >&2; exit 4'
        for options, path in ([], ""), (["--output-filename", "logs"], "logs/1/rank.1/stdout"), (["--output-filename", "logs:nocopy"], "logs/1/rank.1/stdout"), (
                ["--stdout-file", "{rank}.out"], "1.out"), (["--format", "jsonl"], ""), (["--output-filename", "{rank}.log:nocopy"], "1.log"):
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 2, *options, *sh(script))
                self.assert_exit(result, 4)
                where = f" (all in {self.dir}/{path})" if path else ""
                self.assertEqual(lines(result.stderr)[-4:], [f"dlaunch: last stdout lines of rank 1{where}:", "dlaunch:   | step 1",
                                                             "dlaunch:   |  ERROR STOP 4", "dlaunch: stopped the other rank"])

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_summary_shows_output_if_both_streams_are_one(self):
        for options in ["--merge-stderr-to-stdout"], ["--pty", "--stdin", "none"], ["--merge-stderr-to-stdout", "--output-filename", "logs:nocopy"]:
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 1, *options, *sh("echo a; echo b >&2; exit 4"))
                self.assert_exit(result, 4)
                self.assertRegex(result.stderr.decode(), r"dlaunch: last output lines of rank 0.*:\ndlaunch:   \| a\ndlaunch:   \| b\n$")

    def test_ended_ranks_are_counted_and_not_listed(self):
        result = self.run_dlaunch("-n", 8, *sh('[ "$RANK_ID" != 5 ] || exit 7' + REST_SLEEPS))
        self.assert_exit(result, 7)
        own = [line for line in lines(result.stderr) if "note:" not in line]
        self.assertEqual(len(own), 2, own)
        self.assertEqual(own[1], "dlaunch: stopped the 7 other ranks")

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_signal_of_a_killed_rank_is_named(self):
        result = self.run_dlaunch("-n", 2, *sh('ulimit -c 0; [ "$RANK_ID" != 1 ] || kill -SEGV $$' + REST_SLEEPS))
        self.assert_exit(result, 139)
        self.assertRegex(support.cause(result.stderr), r"rank 1 \(.*\) killed by signal 11 \(SIGSEGV\)")

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_rank_killed_from_outside_is_reported(self):
        with self.start("-n", 2, *sh('echo "$RANK_ID $$"' + REST_SLEEPS), stdout=-1, stderr=-1) as job:
            pids = dict(job.stdout.readline().split() for _ in range(2))
            os.kill(int(pids[b"1"]), signal.SIGKILL)
            _, err = job.communicate(timeout=support.TIMEOUT)
        self.assertEqual(job.returncode, 137, err)
        said = lines(err)
        cause = next(line for line in said if line.startswith("dlaunch: rank 1"))
        self.assertIn("killed by signal 9 (SIGKILL)", cause)
        self.assertNotIn("out of memory", cause)
        self.assertIn("dlaunch did not send SIGKILL", said[said.index(cause) + 1])

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_exit_code_is_of_the_reported_rank_if_several_fail(self):
        result = self.run_dlaunch("-n", 8, *sh("exit $((RANK_ID + 10))"))
        self.assertIn(result.returncode, range(10, 18))
        cause = re.search(r"dlaunch: rank (\d+) \(", support.cause(result.stderr))
        self.assertEqual(int(cause[1]) + 10, result.returncode)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_first_failure_by_time_is_the_cause(self):
        for _ in range(5):
            result = self.run_dlaunch("-n", 3, "--on-failure", "continue", *sh(
                f'{TELL_PID}; next=$((RANK_ID + 1)); [ $next = 3 ] || {{ {until_ended("$next")}; }}; exit $((RANK_ID + 10))'))
            for told in self.dir.glob("pid.*"):
                told.unlink()
            self.assert_exit(result, 12)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_on_failure_continue_lets_the_others_complete(self):
        result = self.run_dlaunch("-n", 4, "--on-failure", "continue",
                                  *sh(f'{TELL_PID}; case $RANK_ID in 1) exit 5 ;; 2) {until_ended(1)}; exit 6 ;; *) {until_ended(2)}; echo done ;; esac'))
        self.assert_exit(result, 5)
        self.assertEqual(result.stdout, b"done\ndone\n")
        self.assertIn("rank 1", support.cause(result.stderr))
        self.assertIn("dlaunch: 1 other rank failed (exited with code 6): rank 2", lines(result.stderr))

    @promise(ENDS, mode=(FAILURE, DEADLINE))
    def test_wait_after_first_ends_the_others_after_its_time(self):
        for code, says in ((0, b"timed out after"), (7, b"exited with code 7")):
            with self.subTest(code=code):
                begin = time.monotonic()
                result = self.run_dlaunch("-n", 3, "--on-failure", "continue", "--wait-after-first", 1,
                                          *sh(f'[ "$RANK_ID" != 2 ] || exit {code}' + REST_SLEEPS))
                self.assert_exit(result, code or 124)
                self.assertIn(says, result.stderr)
                self.assertGreater(time.monotonic() - begin, 0.9)

    @promise(LOSES_NOTHING, mode=FAILURE)
    def test_output_of_stopped_ranks_precedes_the_summary(self):
        script = (f'if [ "$RANK_ID" = 0 ]; then for rank in 1 2 3; do {until_there("ready.$rank")}; done; echo broken >&2; exit 3; fi; '
                  'trap "printf \'farewell %s\' $RANK_ID >&2; exit 1" TERM; : >ready.$RANK_ID; while :; do sleep 0.05; done')
        result = self.run_dlaunch("-n", 4, *sh(script))
        self.assert_exit(result, 3)
        said = result.stderr.decode()
        summary = said.index("dlaunch: rank 0 (host")
        for rank in (1, 2, 3):
            self.assertGreater(summary, said.index(f"farewell {rank}"))
        self.assertEqual(lines(result.stderr)[-1], "dlaunch: stopped the 3 other ranks")


class NotStarted(Case):
    def refused(self, code, *args, **options):
        """The stderr of a job that could not start its program."""
        result = self.run_dlaunch("-n", 2, *args, **options)
        self.assert_exit(result, code)
        self.assertEqual(result.stdout, b"")
        self.assertRegex(support.cause(result.stderr), '^dlaunch: (program "|cannot run program |ranks? .* did not start: )')
        consequence = "dlaunch: stopped the other rank"  # if the other rank was not as far
        own = [line for line in lines(support.without_notes(result.stderr)) if line != consequence]
        self.assertLessEqual(len(own), 2, "the cause and a hint")
        return result.stderr.decode()

    def file(self, name, text, mode=0o755):
        path = self.dir / name
        path.write_text(text)
        path.chmod(mode)
        return f"./{name}"

    @promise(NAMES_FIRST, mode=START)
    def test_missing_program_is_named(self):
        said = self.refused(127, "no-such-program-anywhere")
        self.assertIn(f'program "no-such-program-anywhere": not found on {socket.gethostname()}\n', said)

    @promise(NAMES_FIRST, mode=START)
    def test_missing_relative_program_names_the_directory(self):
        self.assertIn(str(self.dir), self.refused(127, "./no-such-program"))

    def test_program_in_the_working_directory_gets_a_hint(self):
        self.file("mine", "#!/bin/sh\n")
        self.assertIn("./mine", self.refused(127, "mine"))

    def test_file_without_execute_permission_gets_a_hint(self):
        self.assertIn("chmod +x", self.refused(126, self.file("data", "x", 0o644)))

    def test_directory_is_not_a_program(self):
        (self.dir / "folder").mkdir()
        self.assertIn("Is a directory", self.refused(126, "./folder"))

    def test_script_without_interpreter_line_gets_a_hint(self):
        self.assertIn("#!", self.refused(126, self.file("script", "echo hello\n")))

    @promise(NAMES_FIRST, mode=START)
    def test_missing_interpreter_is_named(self):
        for first, name in (("#!/no/such/interpreter -x", "/no/such/interpreter"), ("#! no-such", "no-such"), ("#!/bin/sh\r", "/bin/sh\\x0d")):
            said = self.refused(127, self.file("script", first + "\n"))
            self.assertIn(f"cannot execute ./script: missing interpreter {name}", said)

    def test_missing_interpreter_of_a_program_in_path_is_named(self):
        self.file("script", "#!/no/such/interpreter\n")
        said = self.refused(127, "script", env={"PATH": f"{self.dir}:{os.environ['PATH']}"})
        self.assertIn("/no/such/interpreter", said)
        self.assertNotIn("PATH", said)

    @promise(NAMES_FIRST, mode=START)
    def test_missing_working_directory_is_named(self):
        said = self.refused(127, "-wdir", "/no/such/place", "true")
        self.assertIn("working directory /no/such/place", said)
        self.assertNotIn("PATH", said)

    def test_file_as_working_directory_is_rejected(self):
        said = self.refused(126, "-wdir", "/etc/passwd", "true")
        self.assertIn("/etc/passwd", said)
        self.assertIn("Not a directory", said)

    def test_deleted_working_directory_is_reported(self):
        gone = self.dir / "gone"
        gone.mkdir()

        def leave():
            os.chdir(gone)
            gone.rmdir()

        result = self.run_dlaunch("-n", 2, "pwd", preexec_fn=leave)
        self.assert_exit(result, 2)
        self.assertIn(b"the working directory does not exist", result.stderr)
        gone.mkdir()
        self.assertEqual(self.assert_succeeds("-n", 1, "-wdir", "/usr", "pwd", preexec_fn=leave), b"/usr\n")

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_missing_program_of_two_fails_the_job(self):
        result = self.run_dlaunch("-n", 2, "sleep", 1000, ":", "-n", 1, "./no-such-program")
        self.assert_exit(result, 127)
        self.assertIn('program "./no-such-program": not found on ', support.cause(result.stderr))


class Timeouts(Case):
    @promise(ENDS, mode=DEADLINE)
    def test_timeout_ends_the_job(self):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 3, "--timeout", "0.5", "sleep", "1000")
        self.assertLess(time.monotonic() - start, 5)
        self.assert_exit(result, 124)
        self.assertRegex(support.cause(result.stderr), r"timed out after .*: ranks 0-2 were still running")

    def test_times_of_the_cause_and_of_the_end_are_reported(self):
        """A rank ignores the signals for the grace period."""
        deaf = sh(f'trap "" TERM INT; echo up; exec {program("ignore_term")}')
        end = r"dlaunch: all processes had ended after (2\.[5-9]|[3-9]\.\d) s\n"
        result = self.run_dlaunch("-n", 1, "--timeout", "0.5", "--grace", 2, *deaf)
        self.assert_exit(result, 124)
        self.assertRegex(result.stderr.decode(), r"dlaunch: timed out after (0\.\d\d|1\.\d) s: .*\n" + end)
        with self.start("-n", 1, "--grace", 2, *deaf, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            job.send_signal(signal.SIGINT)
            err = job.communicate(timeout=20)[1].decode()
        self.assertRegex(err, r"dlaunch: interrupted by SIGINT after (0\.\d\d|1\.\d) s: .*\ndlaunch: all processes had ended after [2-9]\.\d s\n")

    def test_timeout_that_is_not_reached_has_no_effect(self):
        self.assert_succeeds("-n", 2, "--timeout", "20", "true")

    @promise(ENDS, mode=FAILURE)
    def test_rank_that_ignores_sigterm_is_killed_after_the_grace(self):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 3, "--grace", "1", *sh(
            f'if [ "$RANK_ID" = 0 ]; then {until_there("1.ready")}; {until_there("2.ready")}; exit 3; fi; '
            f'trap "" TERM; : >$RANK_ID.ready; exec {program("ignore_term")}'))
        took = time.monotonic() - start
        self.assert_exit(result, 3)
        self.assertGreater(took, 1)
        self.assertLess(took, 6)
        self.assertIn("stopped the 2 other ranks (2 needed KILL)", result.stderr.decode())

    @promise(ENDS, mode=DEADLINE)
    def test_timeout_reports_ranks_that_needed_sigkill(self):
        result = self.run_dlaunch("-n", 1, "--timeout", "0.5", "--grace", "0.3", program("ignore_term"))
        self.assert_exit(result, 124)
        self.assertIn("1 needed KILL", support.cause(result.stderr))

    @promise(ENDS, mode=ORPHANS)
    def test_child_that_keeps_the_pipe_open_does_not_block_the_end(self):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 2, program("hold_pipe"))
        self.assert_exit(result, 0)
        self.assertLess(time.monotonic() - start, 5)

    @promise(ENDS, mode=(ORPHANS, FAILURE))
    def test_child_that_keeps_the_pipe_open_does_not_block_a_failure(self):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 2, *sh("sleep 1000 & echo here; exit 3"))
        self.assert_exit(result, 3)
        self.assertLess(time.monotonic() - start, 5)

    @promise(LOSES_NOTHING, mode=FAILURE)
    def test_last_byte_is_never_lost(self):
        for run in range(200):
            result = self.run_dlaunch("-n", 1, *sh("printf x; exit 3"))
            self.assertEqual((result.returncode, result.stdout), (3, b"x"), f"run {run}: {result.stderr!r}")


class OutOfMemory(Case):
    limit = 512 if SANITIZED else 64  # MiB; enough for dlaunch itself

    def memory_group(self):
        """A new memory cgroup with that limit. Returns the file into which a process writes its pid to join."""
        for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            group = pathlib.Path(base) / f"dlaunch-e2e-{self.marker}"
            with contextlib.suppress(OSError):
                group.mkdir()
                self.addCleanup(lambda: wait_until(lambda: not remove_group(group), 5))
                (group / limit).write_text(str(self.limit << 20))
                return group / "cgroup.procs"
        return None

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_out_of_memory_is_reported(self):
        if procs := self.memory_group():
            result = self.run_dlaunch("-n", 1, program("allocate"), 4 * self.limit,
                                      preexec_fn=lambda: procs.write_text(str(os.getpid())))
        elif os.geteuid() == 0:
            result = self.killed_beside_a_counter("$$")
        else:
            self.skipTest("no memory cgroup can be made here: needs root")
        self.assert_exit(result, 137)
        self.assertIn("out of memory", result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=KILL, place=(HERE, FAKE_HOSTS))
    def test_killed_child_of_dlaunch_is_named_with_the_reason(self):
        """dlaunch itself: the worker and the guardian of the agent, and the process that writes files."""
        if os.geteuid() != 0:
            self.skipTest("the kernel's counter cannot be replaced here: needs root")
        parents = "read -r _ _ _ guardian _ </proc/$PPID/stat; read -r _ _ _ launcher _ </proc/$guardian/stat; "
        files = 'for child in $(cat /proc/$launcher/task/*/children); do read -r name </proc/$child/comm; [ "$name" != dlaunch-files ] || victim=$child; done; '
        oom = ", out of memory (its cgroup counted an oom_kill)"
        for victim, words, code, said in (
                ("$PPID", (), 125, f"lost the connection to the agent{oom}\n"),
                ("$PPID", ("--fake-hosts", "1x1"), 125, f": dlaunch-agent killed by signal 9 (SIGKILL){oom}\n"),
                ("$guardian", (), 125, f"lost the connection to the agent{oom}\n"),
                ("$victim", ("--output-filename", "logs"), 1, f"the process that writes the ranks' files was killed{oom}\n")):
            with self.subTest(victim):
                result = self.killed_beside_a_counter(victim, *words, before=parents + (files if victim == "$victim" else ""), after="; sleep 5")
                self.assertIn(said, result.stderr.decode())
                self.assert_exit(result, code)

    def kill_file_process(self, job):
        """After the claims of the job. An ended process that was not reaped has no command line."""
        children = b" ".join(path.read_bytes() for path in pathlib.Path(f"/proc/{job.pid}/task").glob("*/children")).split()
        process, = (int(pid) for pid in children if support.of_process(int(pid), "comm") == b"dlaunch-files\n" and support.of_process(int(pid), "cmdline"))
        os.kill(process, signal.SIGKILL)

    @promise(LOSES_NOTHING, mode=(KILL, FILES))
    def test_killed_process_with_the_locks_is_reported(self):
        """The ranks write the files themselves; another job could now truncate them."""
        job = self.start("--output-filename", "logs/{rank}.{stream}:nocopy", "-n", 1, *sh(f": > up; {until_there('end')}"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertTrue(wait_until((self.dir / "up").exists))
        self.kill_file_process(job)
        (self.dir / "end").touch()
        _, err = job.communicate(timeout=support.TIMEOUT)
        self.assertEqual(job.returncode, 1, err)
        self.assertIn(f"cannot lock {self.dir}/logs/0.stdout: the process that writes the ranks' files was killed\n", err.decode())

    @promise(ENDS, LOSES_NOTHING, mode=(KILL, START, FILES))
    def test_process_that_is_killed_before_it_changes_files_prevents_the_start(self):
        (self.dir / "way").write_text(f': > {self.dir}/claimed; {until_there(self.dir / "go")}; exec "$@"')
        for number, (options, name) in enumerate(((("--keep-logs", "2"), "logs"), ((), "logs:nocopy"), ((), "logs"))):
            with self.subTest(options, name=name):
                for each in ("go", "claimed"):
                    (self.dir / each).unlink(missing_ok=True)
                job = self.start("--exec", f"sh {self.dir}/way", "-H", "other:1", *options, "--output-filename", f"{number}{name}",
                                 "-n", 1, *sh(": > ran"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.assertTrue(wait_until((self.dir / "claimed").exists))
                self.kill_file_process(job)
                (self.dir / "go").touch()
                _, err = job.communicate(timeout=support.TIMEOUT)
                self.assertIn(b"the process that writes the ranks' files was killed\n", err)
                self.assertNotEqual(job.returncode, 0)
                self.assertFalse((self.dir / "ran").exists())

    def killed_beside_a_counter(self, victim, *words, before="", after=""):
        """For machines without a memory controller: the rank increments the kernel's counter before it kills `victim`."""
        own = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
        file = f"/sys/fs/cgroup{own['']}/memory.events" if "" in own else f"/sys/fs/cgroup/memory{own['memory']}/memory.oom_control"
        rank = f"{before}echo 'oom_kill 1' >{file}; kill -9 {victim}{after}"
        script = f"mount -t tmpfs none /sys/fs/cgroup; mkdir -p ${{0%/*}}; echo 'oom_kill 0' >$0; rank=$1; shift; exec {support.DLAUNCH} -n 1 \"$@\" sh -c \"$rank\""
        return subprocess.run(["unshare", "--mount", *sh(script), file, rank, *words], env=self.env, cwd=self.dir,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=support.TIMEOUT, check=False)


def remove_group(group):
    with contextlib.suppress(OSError):
        group.rmdir()
    return group.exists()


class DroppedLogin(Case):
    """sshd drops a login without a reason, as it does above MaxStartups; then OpenSSH's client prints this message."""

    def reached(self, said, drops):
        (self.dir / "way").write_text(
            f'i=0; until mkdir try$i 2>/dev/null; do i=$((i + 1)); done\n'
            f'[ $i -ge {drops} ] || {{ echo "{said}" >&2; exit 255; }}\nexec "$@"\n')
        return self.run_dlaunch("--exec", f"sh {self.dir}/way", "-H", "other:1", "echo", "there")

    def test_dropped_login_is_tried_again(self):
        result = self.reached("Connection closed by 10.77.0.2 port 22", 1)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"there\n")

    def test_rejected_login_is_not_tried_again(self):
        result = self.reached("Permission denied (publickey).", 1)
        self.assert_exit(result, 125)
        self.assertFalse((self.dir / "try1").exists())


if __name__ == "__main__":
    support.main()
