"""Tests jobs on a terminal: --pty, window sizes, the status line, Ctrl-C and Ctrl-Z, and a terminal that is closed."""
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import termios
import threading
import time

import support
from promises import ENDS, FAILURE, LEAVES_NOTHING, LOSES_NOTHING, PTY, SIGNAL, STDIN, promise
from support import CLEAR, Case, program, screen, sh, until_there, wait_until

STOPPED = {"T", "D"}  # D: a shell in vfork() whose child was stopped before its exec
PATIENCE = 0.3  # seconds: a shorter start or end shows no status line


class Pty(Case):
    def test_ranks_have_no_terminal_by_default(self):
        with self.under_pty("-n", 1, program("tty_info")) as terminal:
            code, shown = terminal.finish()
        self.assertEqual((code, screen(shown)), (0, [b"tty 0 0 0", b""]))

    def test_pty_gives_ranks_a_terminal(self):
        self.assertEqual(self.assert_succeeds("-n", 2, "--pty", "--stdin", "none", program("tty_info")).count(b"tty 0 1 1"), 2)

    def test_window_size_is_forwarded(self):
        with self.under_pty("-n", 1, "--pty", program("tty_info"), rows=41, columns=123) as terminal:
            code, shown = terminal.finish()
        self.assertEqual((code, screen(shown)), (0, [b"tty 1 1 1", b"size 41 123", b""]))

    def test_summary_does_not_repeat_the_session_of_a_single_rank(self):
        with self.under_pty("-n", 1, "--pty", *sh("echo seen; exit 3")) as terminal:
            code, shown = terminal.finish()
        self.assertEqual(code, 3)
        self.assertEqual(shown.count(b"seen"), 1, shown)
        self.assertIn(b"exited with code 3", shown)

    def test_window_size_is_forwarded_if_stdout_is_a_pipe(self):
        piped = ("sh", "-c", '"$@" | cat', "sh")
        with self.under_pty("-n", 1, "--pty", "stty", "size", rows=41, columns=123, before=piped) as terminal:
            self.assertIn(b"41 123", terminal.finish()[1])

    def test_window_size_changes_are_forwarded(self):
        script = "trap 'stty size <&1' WINCH; echo ready; while :; do sleep 0.05; done"
        with self.under_pty("-n", 2, "--pty", "--label", "--color", "never", *sh(script)) as terminal:
            for rank in b"01":
                terminal.read_until(b"[%c] ready" % rank)
            terminal.resize(50, 150)  # the kernel signals the foreground group
            for rank in b"01":
                terminal.read_until(b"[%c] 50 150" % rank)
            terminal.type(b"\x03")
            self.assertEqual(terminal.finish()[0], 130)

    @promise(LOSES_NOTHING, mode=PTY)
    def test_output_is_exact(self):
        data = b"a\nb\r\nc\td\x1b[1mbold\x1b[0m \xe2\x82\xac \xff end\n" * 2000
        (self.dir / "data").write_bytes(data)
        self.assertEqual(self.assert_succeeds("-n", 1, "--pty", "cat", "data"), data)

    @promise(LOSES_NOTHING, mode=(PTY, FAILURE))
    def test_last_output_is_not_lost(self):
        for _ in range(10):
            result = self.run_dlaunch("-n", 1, "--pty", *sh("seq 2000; printf end; exit 3"))
            self.assert_exit(result, 3)
            self.assertTrue(result.stdout.endswith(b"2000\nend"), result.stdout[-50:])

    @promise(LOSES_NOTHING, mode=(PTY, STDIN))
    def test_input_and_its_end_are_forwarded(self):
        out = self.assert_succeeds("-n", 1, "--pty", *sh("cat; echo over"), input=b"one\ntwo\n")
        self.assertEqual(out, b"one\ntwo\nover\n")

    @promise(LOSES_NOTHING, mode=(PTY, STDIN))
    def test_typed_input_reaches_the_rank(self):
        with self.under_pty("-n", 1, "--pty", *sh('printf "name? "; read name; echo "hello $name"')) as terminal:
            terminal.read_until(b"name? ")
            terminal.type(b"you\n")
            code, shown = terminal.finish()
        self.assertEqual((code, screen(shown)), (0, [b"name? you", b"hello you", b""]))


class Keys(Case):
    @promise(ENDS, LEAVES_NOTHING, mode=(PTY, SIGNAL))
    def test_interrupt_ends_the_job(self):
        for options in [], ["--pty", "--stdin", "none"]:
            with self.subTest(options=options), self.under_pty("-n", 2, *options, *sh("echo ready; exec sleep 100")) as terminal:
                terminal.read_until(b"ready", times=2)
                terminal.type(b"\x03")
                code, shown = terminal.finish(10)
                self.assertEqual(code, 130)
                self.assertIn(b"interrupted by SIGINT", shown)
                self.assert_nothing_left()

    @promise(ENDS, mode=(PTY, SIGNAL))
    def test_second_interrupt_kills_a_rank_that_ignores_the_first(self):
        with self.under_pty("-n", 1, "--grace", "60", *sh("trap '' INT TERM; echo ready; while :; do sleep 1; done")) as terminal:
            terminal.read_until(b"ready")
            terminal.type(b"\x03")
            terminal.read_until(b"waiting for 1 rank")  # the status line, after a while
            terminal.type(b"\x03")
            self.assertEqual(terminal.finish(10)[0], 130)

    @promise(ENDS, mode=(PTY, SIGNAL))
    def test_quit_ends_the_job(self):
        with self.under_pty("-n", 1, *sh("echo ready; exec sleep 100")) as terminal:
            terminal.read_until(b"ready")
            terminal.type(b"\x1c")
            self.assertEqual(terminal.finish(10)[0], 131)

    def test_stop_key_stops_launcher_and_ranks(self):
        with self.under_pty("-n", 2, *sh('echo ready; while [ ! -e go ]; do sleep 0.02; done; echo "over $RANK_ID"')) as terminal:
            terminal.read_until(b"ready", times=2)
            terminal.type(b"\x1a")
            launcher = self.launcher()
            self.assertTrue(wait_until(lambda: state_of(launcher) == "T"))
            wait_until(lambda: self.states_of_ranks(launcher) <= STOPPED)
            self.assertLessEqual(self.states_of_ranks(launcher), STOPPED)
            (self.dir / "go").touch()
            time.sleep(0.3)  # a rank that is not stopped would continue in this time
            self.assertNotIn(b"over", terminal.seen)
            os.kill(launcher, signal.SIGCONT)
            terminal.read_until(b"over 0")
            terminal.read_until(b"over 1")
            self.assertEqual(terminal.finish()[0], 0)

    def states_of_ranks(self, launcher):
        return {state_of(pid) for pid in self.find("over $RANK_ID") if pid != launcher} - {""}

    def launcher(self):
        return min(self.find(os.path.basename(support.DLAUNCH) + " -n"))


class TypedKeys(Case):
    """With --pty, the terminal is raw while a rank reads from it."""

    def modes(self, terminal):
        return termios.tcgetattr(terminal.master)

    def assert_raw(self, terminal):
        self.assertTrue(wait_until(lambda: not self.modes(terminal)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)))

    @promise(ENDS, LEAVES_NOTHING, mode=(PTY, STDIN))
    def test_terminal_is_raw_during_the_job_and_restored_after_it(self):
        for script, code in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)):
            with self.subTest(script=script), self.under_pty("-n", 1, "--pty", *sh("echo ready; read go; " + script)) as terminal:
                terminal.read_until(b"ready")
                self.assert_raw(terminal)
                terminal.type(b"\r")
                self.assertEqual(terminal.finish()[0], code)
                self.assertEqual(self.modes(terminal), terminal.modes)

    @promise(LOSES_NOTHING, mode=(PTY, STDIN))
    def test_each_key_reaches_the_rank_as_it_is_typed(self):
        script = ("import sys, tty; tty.setraw(0); print('ready', flush=True)\n"
                  "while (key := sys.stdin.buffer.raw.read(1)) != b'q': print(key, end=' ', flush=True)")
        for options in [], ["--fake-hosts", "1"]:
            with self.subTest(options=options), self.under_pty(*options, "-n", 1, "--pty", "python3", "-c", script) as terminal:
                terminal.read_until(b"ready")
                for key in b"a\x03\x1a\x1c\x04\r\n\x7f~":
                    terminal.type(bytes([key]))
                    terminal.read_until(repr(bytes([key])).encode() if key != ord("~") else b"b'\\x7f'")
                terminal.type(b"xq")  # ~x is not a command
                code, shown = terminal.finish()
                self.assertEqual(code, 0)
                self.assertIn(b"b'~' b'x'", shown)

    @promise(LOSES_NOTHING, mode=(PTY, STDIN))
    def test_pasted_bytes_with_the_escape_key_are_not_lost(self):
        """The key that is held back must fit into the credit of the rank."""
        script = ("import os, sys, time, tty; tty.setraw(0); print('ready', flush=True); time.sleep(1)\n"
                  "pasted = b''\nwhile not pasted.endswith(b'q'): pasted += os.read(0, 65536)\n"
                  "print(len(pasted), flush=True)")
        pasted = b"\r~x" * 100000 + b"q"
        with self.under_pty("-n", 1, "--pty", "python3", "-c", script) as terminal:
            terminal.read_until(b"ready")
            self.assert_raw(terminal)
            typist = threading.Thread(target=lambda: [terminal.type(pasted[at:at + 4096]) for at in range(0, len(pasted), 4096)])
            typist.start()
            terminal.read_until(b"%d" % len(pasted))
            typist.join()
            self.assertEqual(terminal.finish()[0], 0)

    @promise(LEAVES_NOTHING, mode=(PTY, SIGNAL))
    def test_interrupt_key_interrupts_only_the_rank(self):
        script = "trap 'echo interrupted' INT; echo ready; while ! read line; do :; done; echo \"over $line\""
        with self.under_pty("-n", 1, "--pty", "bash", "-c", script) as terminal:
            terminal.read_until(b"ready")
            terminal.type(b"\x03")
            terminal.read_until(b"interrupted")
            terminal.type(b"now\r")
            terminal.read_until(b"over now")
            self.assertEqual(terminal.finish()[0], 0)

    def test_every_rank_has_a_terminal_and_only_one_gets_the_keys(self):
        script = 'test -t 0 && echo "terminal $RANK_ID"; test $RANK_ID = 1 || exec sleep 100; read line; echo "got $line"; kill 0'
        with self.under_pty("-n", 3, "--pty", "--stdin", "1", "--label", "--color", "never", *sh(script)) as terminal:
            for rank in b"012":
                terminal.read_until(b"terminal %c" % rank)
            terminal.type(b"hello\r")
            terminal.read_until(b"got hello")
            terminal.finish()

    @promise(ENDS, LEAVES_NOTHING, mode=(PTY, STDIN))
    def test_escape_ends_the_job(self):
        with self.under_pty("-n", 2, "--pty", *sh("echo ready; exec sleep 100")) as terminal:
            terminal.read_until(b"ready", times=2)
            self.assert_raw(terminal)
            terminal.type(b"\r~?")
            terminal.read_until(b"end the job")
            terminal.type(b"~.")
            code, shown = terminal.finish(10)
            self.assertEqual((code, self.modes(terminal)), (129, terminal.modes))
            self.assertIn(b"dlaunch: interrupted by SIGHUP", shown)
            self.assert_nothing_left()

    def test_escape_can_be_changed_and_disabled(self):
        for key in "^", "none":
            with self.subTest(key=key), self.under_pty("-n", 1, "--pty", "--escape", key, *sh("echo ready; read line; echo \"<$line>\"")) as terminal:
                terminal.read_until(b"ready")
                self.assert_raw(terminal)
                terminal.type(b"~.\r" if key == "none" else b"^?~.\r")
                code, shown = terminal.finish(10)
                self.assertEqual(code, 0)
                self.assertIn(b"<~.>", shown)
                self.assertEqual(b"end the job" in shown, key == "^")

    def test_escape_suspends_and_the_terminal_is_restored_meanwhile(self):
        with self.under_pty("-n", 1, "--pty", *sh("echo ready; read line; echo \"over $line\"")) as terminal:
            terminal.read_until(b"ready")
            self.assert_raw(terminal)
            terminal.type(b"~\x1a")
            self.assertTrue(wait_until(lambda: state_of(terminal.job.pid) == "T"))
            self.assertEqual(self.modes(terminal), terminal.modes)
            os.kill(terminal.job.pid, signal.SIGCONT)
            self.assert_raw(terminal)
            terminal.type(b"now\r")
            terminal.read_until(b"over now")
            self.assertEqual((terminal.finish()[0], self.modes(terminal)), (0, terminal.modes))

    @promise(LEAVES_NOTHING, mode=(PTY, FAILURE))
    def test_terminal_is_restored_after_the_launcher_is_killed(self):
        with self.under_pty("-n", 1, "--pty", *sh("echo ready; exec sleep 100")) as terminal:
            slave = os.open(os.readlink(f"/proc/{terminal.job.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)
            self.addCleanup(os.close, slave)
            terminal.read_until(b"ready")
            self.assert_raw(terminal)
            terminal.job.kill()
            self.assertTrue(wait_until(lambda: self.modes(terminal) == terminal.modes))
            self.assert_nothing_left()

    def test_reader_of_the_output_can_write_lines_to_the_terminal(self):
        """Such as less."""
        script = "echo ready; read line; echo \"over $line\""
        with self.under_pty("-n", 1, "--pty", *sh(script), before=["sh", "-c", '"$@" | cat -u | tr -d "\\r"', "sh"]) as terminal:
            terminal.read_until(b"\n")
            self.assert_raw(terminal)
            self.assertEqual(self.modes(terminal)[1], terminal.modes[1])
            terminal.type(b"now\r")
            code, shown = terminal.finish()
        self.assertEqual((code, shown), (0, b"ready\r\nnow\r\nover now\r\n"))

    def test_messages_start_in_the_first_column(self):
        with self.under_pty("-v", "-n", 1, "--pty", *sh("echo ready; read line")) as terminal:
            terminal.read_until(b"ready")
            self.assert_raw(terminal)
            os.kill(terminal.job.pid, signal.SIGUSR1)
            terminal.read_until(b"received SIGUSR1")
            terminal.type(b"\r")
            _, shown = terminal.finish()
        self.assertNotRegex(shown, rb"[^\r]\n")

    def test_input_that_is_not_a_terminal_passes_unchanged(self):
        out = self.assert_succeeds("-n", 1, "--pty", "cat", input=b"~.\n~?\nx\n")
        self.assertEqual(out, b"~.\n~?\nx\n")


class StatusLine(Case):
    def test_quick_job_shows_no_status_line(self):
        """On a busy machine, several attempts may be necessary until a job is quick."""
        for _ in range(20):
            began = time.monotonic()
            with self.under_pty("-n", 2, "echo", "x") as terminal:
                code, shown = terminal.finish()
            self.assertEqual((code, screen(shown)), (0, [b"x", b"x", b""]))
            if time.monotonic() < began + PATIENCE:
                self.assertEqual(shown, b"x\r\nx\r\n")
                break

    def test_running_job_shows_no_status_line(self):
        with self.under_pty("-n", 1, *sh("echo up; sleep 1; echo over")) as terminal:
            code, shown = terminal.finish()
        self.assertEqual(code, 0)
        self.assertIn(b"up\r\nover\r\n", shown)

    def test_quiet_job_shows_and_erases_a_status_line(self):
        script = f"echo up; {until_there('told')}; echo over"
        for words, hosts in (([], b""), (["--fake-hosts", 2, "-n", 2], b" \xc2\xb7 2 hosts")):
            (self.dir / "told").unlink(missing_ok=True)
            with self.under_pty(*words, "--status", 0.5, *sh(script)) as terminal:
                terminal.read_until(b" running \xc2\xb7 00:0")
                if hosts:
                    terminal.read_until(hosts)
                (self.dir / "told").touch()
                code, shown = terminal.finish()
            self.assertEqual(code, 0, shown)
            self.assertEqual([line for line in screen(shown) if b"running" in line], [], shown)
            self.assertIn(b"over", screen(shown))

    def test_status_line_is_erased_at_the_end_of_a_job_without_a_console(self):
        with self.under_pty("-n", 1, "--status", 0.3, "--output-filename", "logs:nocopy", "sleep", 1.5) as terminal:
            terminal.read_until(b" running ")
            code, shown = terminal.finish()
        self.assertEqual((code, [line for line in screen(shown) if line]), (0, []), shown)

    def test_status_line_can_be_switched_off(self):
        for words, env in ((["--status", "off"], {}), (["--status", 0], {"TERM": "dumb"})):
            with self.under_pty("-n", 1, *words, *sh("echo up; sleep 1; echo over"), env=env) as terminal:
                code, shown = terminal.finish()
            self.assertEqual((code, shown), (0, b"up\r\nover\r\n"))

    def test_typed_input_ends_the_status_line_of_running_ranks(self):
        with self.under_pty("-n", 1, "--status", 0.3, "cat") as terminal:
            terminal.read_until(b"1/1 running")
            terminal.type(b"one\n")
            terminal.read_until(b"one\r\n" + CLEAR + b"one\r\n")
            before = len(terminal.seen)
            time.sleep(1)
            terminal.type(b"\x04")
            code, shown = terminal.finish()
        self.assertEqual((code, shown[before:].count(b"running")), (0, 0), shown)

    def test_slow_end_shows_and_erases_the_status_line(self):
        script = f"trap '{until_there('told')}; exit 3' TERM INT; echo ready; while :; do sleep 0.05; done"
        with self.under_pty("-n", 1, *sh(script)) as terminal:
            terminal.read_until(b"ready")
            terminal.type(b"\x03")
            terminal.read_until(b"ending: ")
            (self.dir / "told").touch()
            code, shown = terminal.finish()
        self.assertEqual(code, 130)
        status, after = shown.rsplit(CLEAR, 1)
        self.assertIn(b"ending: waiting for 1 rank (INT sent, KILL in ", status)
        self.assertTrue(after.startswith(b"dlaunch: interrupted by SIGINT"), after)

    @promise(LOSES_NOTHING, mode=PTY)
    def test_output_is_not_mixed_with_the_status_line(self):
        """Output of a rank during the status line is on its own line and remains."""
        script = (f"trap '{until_there('told')}; echo $RANK_ID last words; {until_there('told-again')}; exit 3' TERM INT; echo ready; "
                  "while :; do sleep 0.05; done")
        with self.under_pty("-n", 2, *sh(script)) as terminal:
            terminal.read_until(b"ready", times=2)
            terminal.type(b"\x03")
            terminal.read_until(b"ending: ")
            (self.dir / "told").touch()
            terminal.read_until(b"0 last words")
            terminal.read_until(b"1 last words")
            terminal.read_until(b"ending: ", after=b"last words")
            (self.dir / "told-again").touch()
            code, shown = terminal.finish()
        self.assertEqual(code, 130)
        self.assertIn(b"ending: waiting", shown)
        self.assertEqual(sum(line.endswith(b"last words") for line in screen(shown)), 2, shown)
        self.assertEqual([line for line in screen(shown) if b"ending:" in line], [], shown)

    def test_suspended_job_shows_no_status_line(self):
        with self.under_pty("-n", 1, "--status", 0.3, "sleep", 100) as terminal:
            terminal.read_until(b"1/1 running")
            terminal.type(b"\x1a")
            self.assertTrue(wait_until(lambda: state_of(terminal.job.pid) == "T"))
            os.kill(terminal.job.pid, signal.SIGKILL)
            _, shown = terminal.finish()
        self.assertEqual([line for line in screen(shown) if b"running" in line], [], shown)

    def test_status_line_needs_a_terminal(self):
        # A terminal would show the status line within a second.
        script = "trap 'sleep 1; exit 3' TERM INT; echo ready; while :; do sleep 0.05; done"
        with self.start("-n", 1, *sh(script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            job.stdout.readline()
            job.send_signal(signal.SIGINT)
            said = job.stderr.read()
        self.assertEqual(job.wait(), 130)
        self.assertRegex(said, rb"^dlaunch: interrupted by SIGINT after .*: stopped 1 rank\n(?:dlaunch: all processes had ended after .*\n)?$")


class UnterminatedLine(Case):
    def test_summary_begins_on_a_new_line(self):
        for ranks, options in ((1, []), (2, []), (2, ["--label"]), (1, ["--raw"])):
            with self.subTest(ranks=ranks, options=options):
                with self.under_pty("-n", ranks, *options, *sh('printf "half a line"; exit 3')) as terminal:
                    code, shown = terminal.finish()
                self.assertEqual(code, 3)
                lines = screen(shown)
                self.assertTrue(lines[0].endswith(b"half a line"), shown)
                self.assertTrue(all(line.startswith((b"dlaunch: ", b"[", b"\x1b", b"half")) or not line for line in lines), shown)
                self.assertTrue(any(line.startswith(b"dlaunch: rank ") for line in lines), shown)

    def test_summary_in_the_same_pipe_begins_on_a_new_line(self):
        result = self.run_dlaunch("-n", 1, *sh('printf "half a line"; exit 3'), stderr=subprocess.STDOUT)
        self.assertTrue(result.stdout.startswith(b"half a line\ndlaunch: rank 0 "), result.stdout)

    def test_stdout_alone_gets_no_newline(self):
        self.assertEqual(self.run_dlaunch("-n", 1, *sh('printf "half a line"; exit 3')).stdout, b"half a line")


class ClosedTerminal(Case):
    def sleepers(self, command):
        return [pid for pid, line in self.processes().items() if line.startswith(command)]

    @promise(LEAVES_NOTHING, mode=PTY)
    def test_hangup_ends_the_ranks(self):
        with self.under_pty("-n", 2, *sh("trap '' HUP; echo ready; exec sleep 100")) as terminal:
            terminal.read_until(b"ready", times=2)
            os.close(terminal.master)
            terminal.master = os.open("/dev/null", os.O_RDWR)  # under_pty closes it
            self.assertTrue(wait_until(lambda: not self.processes(), 15), self.processes())

    @promise(LEAVES_NOTHING, mode=PTY)
    def test_closed_tmux_pane_ends_the_ranks(self):
        if not shutil.which("tmux"):
            self.skipTest("there is no tmux here")
        tmux = ["tmux", "-S", str(self.dir / "tmux"), "-f", "/dev/null"]
        self.addCleanup(subprocess.run, [*tmux, "kill-server"], capture_output=True, check=False)
        command = f"exec {support.DLAUNCH} -n 2 sh -c ': > ready.$RANK_ID; exec sleep 1000'"
        subprocess.run([*tmux, "new-session", "-d", "-s", "s", "-x", "80", "-y", "24", "cat"], env=self.env, check=True)
        subprocess.run([*tmux, "new-window", "-c", self.dir, "-n", "job", command], env=self.env, cwd=self.dir, check=True)
        self.assertTrue(wait_until(lambda: len(list(self.dir.glob("ready.*"))) == 2))
        self.assertTrue(wait_until(lambda: len(self.sleepers("sleep 1000")) == 2))
        subprocess.run([*tmux, "kill-window", "-t", "s:job"], env=self.env, check=True)
        self.assertTrue(wait_until(lambda: not self.sleepers("sleep 1000"), 10), self.processes())
        subprocess.run([*tmux, "kill-server"], check=True)


def state_of(pid):
    """The state of a process (R, S, T, …); empty if it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0].decode()
    except OSError:
        return ""


if __name__ == "__main__":
    support.main()
