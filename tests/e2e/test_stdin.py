"""Tests the launcher's stdin: which ranks get it, that every byte is forwarded, and that the file itself is left
unchanged."""
import contextlib
import fcntl
import json
import mmap
import os
import pty
import signal
import subprocess
import sys
import termios
import time

import support
from promises import ENDS, FAKE_HOSTS, HERE, LOSES_NOTHING, PTY, READER, START, STDIN, promise
from support import Case, SANITIZED, fnv1a64, program, settle, sh, unread, until_there, wait_until

BIG = (4 if SANITIZED else 100) << 20


def state_of(pid):
    """The state of a process (R, S, T, …); empty if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0].decode()
    except OSError:
        return ""


class Receivers(Case):
    def who_read(self, *options):
        out = self.assert_succeeds("-n", 3, *options, *sh('echo "$RANK_ID $(cat)"'), input=b"word\n")
        return sorted(out.decode().splitlines())

    def test_rank_0_gets_stdin_by_default(self):
        self.assertEqual(self.who_read(), ["0 word", "1 ", "2 "])

    def test_stdin_none_is_empty(self):
        self.assertEqual(self.who_read("--stdin", "none"), ["0 ", "1 ", "2 "])

    def test_stdin_of_a_given_rank(self):
        self.assertEqual(self.who_read("--stdin", "1"), ["0 ", "1 word", "2 "])

    def test_stdin_all_reaches_every_rank(self):
        self.assertEqual(self.who_read("--stdin", "all"), ["0 word", "1 word", "2 word"])

    def test_unknown_rank_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--stdin", "7", "cat")
        self.assert_exit(result, 2)
        self.assertIn(b"--stdin", result.stderr)


class Bytes(Case):
    def random_file(self, size):
        path = self.dir / "random"
        with open(path, "wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
        return path

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_100_mb_through_cat_are_exact(self):
        path = self.random_file(BIG)
        start = time.monotonic()
        with open(path, "rb") as source, open(self.dir / "copy", "wb") as copy:
            self.assert_exit(self.run_dlaunch("-n", 1, "cat", stdin=source, stdout=copy), 0)
        print(f"{BIG >> 20} MiB in {time.monotonic() - start:.2f} s", end=" ", file=sys.stderr)
        self.assertEqual(subprocess.run(["cmp", path, self.dir / "copy"], check=False).returncode, 0)

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_every_rank_gets_every_byte(self):
        """The test program computes the expected sum, because this is slow in Python."""
        path = self.random_file(4 << 20)
        content = path.read_bytes()
        with open(path, "rb") as source:
            expected = subprocess.run([program("stdin_sum")], stdin=source, capture_output=True, check=True).stdout
        self.assertEqual(int(expected.split()[0]), len(content))
        for stdin in ("file", "pipe"):
            with self.subTest(stdin=stdin), open(path, "rb") as source:
                options = {"stdin": source} if stdin == "file" else {"input": content}
                out = self.assert_succeeds("-n", 3, "--stdin", "all", program("stdin_sum"), **options)
                self.assertEqual(out, expected * 3)

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_slow_rank_of_several_loses_nothing(self):
        content = os.urandom(2 << 20)
        (self.dir / "input").write_bytes(content)
        with open(self.dir / "input", "rb", buffering=0) as source:
            with self.start("-n", 3, "--stdin", "all", *sh(f"[ $RANK_ID = 1 ] && {until_there('go')}; exec {program('stdin_sum')}"),
                            stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                self.assertTrue(wait_until(lambda: source.tell() > 0))  # the offset of the job in the file, too
                self.assertTrue(settle(source.tell))
                (self.dir / "go").touch()
                out, said = job.communicate(timeout=support.TIMEOUT)
        self.assertEqual((job.returncode, said), (0, b""))
        self.assertEqual(len(set(out.splitlines())), 1)
        self.assertEqual([int(line.split()[0]) for line in out.splitlines()], [len(content)] * 3)

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_small_input_is_exact(self):
        data = bytes(range(256)) + b"\x04\r\n\0end"
        self.assertEqual(self.assert_succeeds("-n", 1, "cat", input=data), data)
        self.assertEqual(self.assert_succeeds("-n", 1, program("stdin_sum"), input=data).split()[1].decode(), fnv1a64(data))


class End(Case):
    @promise(LOSES_NOTHING, mode=STDIN)
    def test_end_of_file_is_forwarded(self):
        self.assertEqual(self.assert_succeeds("-n", 1, program("stdin_sum"), input=b""), b"0 cbf29ce484222325\n")

    @promise(ENDS, mode=STDIN)
    def test_rank_that_reads_little_does_not_block_the_writer(self):
        """The rank closes its stdin and continues for a while, or exits: the rest is discarded, and the writer gets a
        closed pipe."""
        for script in ("exec head -c 5", "exec 0<&-; sleep 0.3; echo done", "exit 0"):
            with self.subTest(script=script):
                with open("/dev/zero", "rb") as endless:
                    self.assert_exit(self.run_dlaunch("-n", 2, *sh(script), stdin=endless, timeout=10), 0)

    @promise(ENDS, mode=STDIN)
    def test_endless_writer_ends_with_the_job(self):
        line = f"yes | {support.DLAUNCH} -n 1 head -n 1; echo ${{PIPESTATUS[0]}} ${{PIPESTATUS[1]}}"
        out = subprocess.run(["bash", "-c", line], capture_output=True, env=self.env, timeout=10, check=False)
        self.assertEqual((out.stdout, out.stderr), (b"y\n141 0\n", b""))

    @promise(LOSES_NOTHING, mode=(STDIN, START))
    def test_rank_that_never_starts_does_not_stop_the_others(self):
        result = self.run_dlaunch("--on-failure", "continue", "--stdin", "all", "-n", 1, "./no-such-program", ":", "-n", 1, "cat",
                                  input=b"all of it")
        self.assert_exit(result, 127)
        self.assertEqual(result.stdout, b"all of it")

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_rank_that_ends_early_does_not_stop_the_others(self):
        content = os.urandom(1 << 20)
        out = self.assert_succeeds("-n", 3, "--stdin", "all",
                                   *sh(f"[ $RANK_ID != 1 ] || exit 0; exec {program('stdin_sum')}"), input=content)
        self.assertEqual([int(line.split()[0]) for line in out.splitlines()], [len(content)] * 2)

    @promise(ENDS, mode=STDIN)
    def test_rank_that_ignores_its_stdin_does_not_block_the_job(self):
        with open("/dev/zero", "rb") as endless:
            self.assert_succeeds("-n", 1, "sleep", "0.5", stdin=endless, timeout=10)

    @promise(ENDS, mode=STDIN)
    def test_writer_that_never_ends_does_not_block_the_job(self):
        """The job ends with its ranks, not with its input."""
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        with os.fdopen(read, "rb") as source:
            self.assert_succeeds("-n", 2, *sh("echo x > /dev/null"), stdin=source, timeout=10)


class Shells(Case):
    def shell(self, line, **options):
        return subprocess.run(["bash", "-c", line, support.DLAUNCH], env=self.env, cwd=self.dir, capture_output=True,
                              timeout=support.TIMEOUT, check=False, **options)

    def test_shell_loop_over_a_list(self):
        (self.dir / "list").write_text("one\ntwo\nthree\n")
        result = self.shell('while read h; do "$0" -n 2 --stdin none echo $h; done < list')
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"one\n" * 2 + b"two\n" * 2 + b"three\n" * 2, b""))

    def test_stdin_none_reads_nothing(self):
        """With --stdin none, the next program still gets the bytes in the pipe."""
        result = self.shell('"$0" -n 1 --stdin none true; cat', input=b"mine\n")
        self.assertEqual(result.stdout, b"mine\n")

    def test_failed_job_reads_nothing(self):
        result = self.shell('"$0" -n 1 ./no-such-program; cat', input=b"mine\n")
        self.assertEqual(result.stdout, b"mine\n")

    def test_every_kind_of_redirection(self):
        (self.dir / "file").write_text("x\n")
        for redirection, seen in (("< file", b"x\n"), ("< /dev/null", b""), ("<&-", b""), ("<<< here", b"here\n"),
                                  ("< <(echo piped)", b"piped\n"), ("0<>file", b"x\n")):
            with self.subTest(redirection=redirection):
                result = self.shell(f'"$0" -n 2 cat {redirection}', stdin=subprocess.DEVNULL)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, seen, b""))

    def test_stdin_under_nohup_is_empty(self):
        """nohup replaces a terminal by /dev/null, open for writing only."""
        result = self.shell('"$0" -n 2 cat 0>/dev/null', stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))


class Unreadable(Case):
    """A read error of stdin is not its end."""

    def check_fails(self, source, why):
        """`source` opens a file that cannot be read to its end."""
        for options, receivers in ((["-n", 1], [0]), (["-n", 3, "--stdin", "all"], [0, 1, 2]),
                                   (["--fake-hosts", "2x1", "--stdin", 1], [1])):
            with self.subTest(options=options):
                stdin = source()
                result = self.run_dlaunch("--report", "r.json", *options, *sh("cat > /dev/null && : > ended.$RANK_ID"),
                                          stdin=stdin, timeout=10)
                os.close(stdin)
                self.assert_exit(result, 1)
                self.assertEqual(support.cause(result.stderr).split(": ", 2)[2], f"cannot read stdin: {why}")
                record = json.loads((self.dir / "r.json").read_text())
                self.assertEqual((record["cause"], record["exit_code"]), ("input_failed", 1))
                self.assertEqual([rank for rank in receivers if (self.dir / f"ended.{rank}").exists()], [])

    @promise(ENDS, LOSES_NOTHING, mode=STDIN, place=(HERE, FAKE_HOSTS))
    def test_directory_ends_the_job(self):
        self.check_fails(lambda: os.open("/", os.O_RDONLY), "Is a directory")

    @promise(ENDS, LOSES_NOTHING, mode=STDIN, place=(HERE, FAKE_HOSTS))
    def test_error_after_some_bytes_ends_the_job(self):
        """The memory of a process is a file that fails after the end of a mapping."""
        page = mmap.PAGESIZE
        end = max(int(line.split()[0].split("-")[1], 16) for line in open("/proc/self/maps") if "[stack]" in line)

        def memory():
            fd = os.open("/proc/self/mem", os.O_RDONLY)
            os.lseek(fd, end - 2 * page, os.SEEK_SET)
            return fd

        self.check_fails(memory, "Input/output error")

    @promise(ENDS, mode=(STDIN, PTY))
    def test_lost_terminal_ends_stdin_with_a_note(self):
        """The user ignores SIGHUP, so the job survives its terminal."""
        master, slave = pty.openpty()
        job = self.start("-n", 1, *sh("echo ready; cat; echo end"), stdin=slave, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True,
                         before=["sh", "-c", """trap "" HUP; exec "$@" """, "sh"],
                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        with job:
            self.assertEqual(job.stdout.readline(), b"ready\n")
            os.write(master, b"typed\n")
            self.assertEqual(job.stdout.readline(), b"typed\n")
            os.close(master)
            out, err = job.communicate(timeout=support.TIMEOUT)
        self.assertEqual((job.returncode, out), (0, b"end\n"))
        self.assertEqual(err, b"dlaunch: note: stdin ended: the terminal was closed\n")


class StreamFlags(Case):
    """O_NONBLOCK belongs to the open file, which the shell shares."""

    def check_flags(self, fds, **options):
        """Checks the flags repeatedly while the job runs."""
        before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds]
        with self.start("-n", 2, *sh("echo x; sleep 0.2; seq 1000"), stdin=fds[0], stdout=fds[1], stderr=fds[2],
                        **options) as job:
            while_running = set()
            drained = []
            for fd in {fds[3], fds[4]} - {None}:
                os.set_blocking(fd, False)
                drained.append(fd)
            while job.poll() is None:
                while_running.add(tuple(fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds[:3]))
                for fd in drained:
                    with contextlib.suppress(OSError):
                        os.read(fd, 65536)
                time.sleep(0.01)
        self.assertEqual(job.returncode, 0)
        self.assertEqual([fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds[:3]], before[:3])
        self.assertEqual(while_running, {tuple(before[:3])})

    def test_flags_of_pipes_are_unchanged(self):
        pairs = [os.pipe() for _ in range(3)]
        for fd in sum(map(list, pairs), []):
            self.addCleanup(os.close, fd)
        self.check_flags([pairs[0][0], pairs[1][1], pairs[2][1], pairs[1][0], pairs[2][0]])

    def test_flags_of_a_terminal_are_unchanged(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        before = termios.tcgetattr(slave)
        os.write(master, b"typed\n")
        for options in {}, {"start_new_session": True, "preexec_fn": lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}:
            with self.subTest(foreground=bool(options)):
                self.check_flags([slave, slave, slave, master, master], **options)
                self.assertEqual(termios.tcgetattr(slave), before)

    @promise(LOSES_NOTHING, mode=READER)
    def test_non_blocking_streams_lose_nothing(self):
        """Some parents leave streams non-blocking: ssh, node, some shells."""
        read, write = os.pipe()
        os.set_blocking(write, False)
        with self.start("-n", 2, *sh("seq 100000"), stdin=subprocess.DEVNULL, stdout=write,
                        stderr=subprocess.PIPE) as job, os.fdopen(read, "rb") as out:
            os.close(write)
            self.assertTrue(wait_until(lambda: unread(out) > 0))
            self.assertTrue(settle(lambda: unread(out)))
            self.assertEqual(len(out.read().split()), 200000)
            self.assertEqual(job.stderr.read(), b"")
            self.assertEqual(job.wait(support.TIMEOUT), 0)


class Background(Case):
    def test_background_job_is_not_stopped_by_its_terminal(self):
        self.check_background_then_foreground("os.killpg(job.pid, signal.SIGCONT)")

    def test_background_job_notices_the_foreground_without_a_signal(self):
        self.check_background_then_foreground("pass  # bash's fg continues only what was stopped")

    def check_background_then_foreground(self, continue_it):
        """Runs `dlaunch … &` from a shell with job control, then `fg`."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        script = """
import fcntl, os, signal, subprocess, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
restore = lambda: (signal.signal(signal.SIGTTOU, signal.SIG_DFL), os.setpgid(0, 0))
job = subprocess.Popen(sys.argv[1:], preexec_fn=restore)
print("started", job.pid, flush=True)
while not os.path.exists("to-foreground"):
    time.sleep(0.02)
os.tcsetpgrp(0, job.pid)
""" + continue_it + """
code = job.wait()
os.tcsetpgrp(0, os.getpgrp())
print("code", code, flush=True)
"""
        shell = subprocess.Popen([sys.executable, "-c", script, support.DLAUNCH, "-n", "1", "sh", "-c",
                                  "echo begun; read x; echo got $x"],
                                 stdin=slave, stdout=slave, stderr=slave, env=self.env, cwd=self.dir, start_new_session=True)
        os.close(slave)
        self.addCleanup(lambda: shell.poll() is None and (shell.kill(), shell.wait()))
        terminal = support.Terminal(shell, master, termios.tcgetattr(master))
        for wanted, after in ((b"begun", b""), (b"started ", b""), (b"\n", b"started ")):  # of two processes, in any order
            terminal.read_until(wanted, after=after)
        pid = int(terminal.seen.split(b"started ")[1].split()[0])
        terminal.type(b"typed\n")
        time.sleep(0.5)  # a job that reads would be stopped in this time
        self.assertNotEqual(state_of(pid), "T")
        self.assertNotIn(b"got", terminal.seen)
        (self.dir / "to-foreground").touch()
        terminal.read_until(b"got typed")
        terminal.read_until(b"code 0")
        shell.wait(support.TIMEOUT)


if __name__ == "__main__":
    support.main()
