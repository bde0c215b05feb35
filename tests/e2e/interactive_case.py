"""Interactive programs under --pty in a real terminal (tmux), at any place. A suite has a class with InteractiveCase and
the case of its place; the place overrides the methods before the tests.

The user's shell is dash: bash restores the terminal after a program that a signal ended, and would hide a fault."""
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import support
from promises import ENDS, FAILURE, KILL, LEAVES_NOTHING, LOSES_NOTHING, PTY, SIGNAL, promise
from support import SANITIZED, kill_together, of_process, oldest_first, wait_until

PATIENCE = 30
PROMPT = re.compile(r"(?:^|[$# ])code=(\d+) \$$")


class Pane:
    """A terminal of tmux with a shell. The server of tmux runs in the job, if `before` enters one."""

    def __init__(self, case, before=(), rows=24, columns=80):
        self.case = case
        self.tmux = ["tmux", "-S", str(case.dir / "tmux"), "-f", "/dev/null"]
        words = [*self.tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(case.dir), "sh -i"]
        # tmux starts the shell with the variables of its server
        case.run_in_place([*before, "env", f"{support.MARKER}={case.marker}", "ENV=", "EDITOR=vi", "TERM=xterm-256color", *words])

    def start_shell(self, command):
        """`command` starts another shell; empty: none. A shell may drop or repeat the words typed before its prompt."""
        if command:
            self.until(re.compile("^[$#]$"))
            self.type(command + "\n")
            self.until(re.escape(command))
        self.until(re.compile("^[$#]$"))
        self.type("PS1='code=$? $ '\n")
        self.until(PROMPT)
        self.modes = self.shell("stty -g | cksum")

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, check=False)

    def tell(self, *words):
        return subprocess.run([*self.tmux, *words], capture_output=True, text=True, check=True).stdout

    def screen(self):
        return [line.rstrip() for line in self.tell("capture-pane", "-p").splitlines()]

    def type(self, text):
        self.tell("send-keys", "-l", "--", text)

    def key(self, *names):
        self.tell("send-keys", *names)

    def resize(self, rows, columns):
        self.tell("resize-window", "-x", str(columns), "-y", str(rows))

    def until(self, wanted, timeout=PATIENCE):
        """Waits for a line of the screen that matches a regular expression; a compiled one must match the last line."""
        found = None

        def there():
            nonlocal found
            lines = [line for line in self.screen() if line]
            if isinstance(wanted, re.Pattern):
                found = lines and wanted.search(lines[-1])
            else:
                found = next((match for line in lines if (match := re.search(wanted, line))), None)
            return found
        if not wait_until(there, timeout, every=0.05):
            screen = "\n".join(self.screen())
            raise AssertionError(f"no {wanted!r} on the screen:\n{screen}\n{self.case.reason()}")
        return found

    def shell(self, line):
        """Runs a command in the user's shell. Returns its output, which has one line."""
        self.type(f"clear; echo \"=$({line})=\"\n")
        return self.until("^=(.+)=$")[1]

    def finish(self):
        """Waits for the user's shell. Returns the exit code, and requires the terminal's modes from before."""
        code = int(self.until(PROMPT)[1])
        self.case.assertEqual(self.shell("stty -g | cksum"), self.modes)
        return code


# ---- the programs: each types keys, resizes the terminal, and ends the program ----

def top(pane):
    pane.until("load average")
    pane.resize(30, 100)
    titles = re.compile("^(?=.{100}$) *PID ", re.M)  # top's line of titles has the width of the terminal
    pane.case.assertTrue(wait_until(lambda: titles.search(pane.tell("capture-pane", "-pN")), PATIENCE))
    pane.type("q")
    return 0


def vi(pane):
    pane.until("^~")
    pane.type("ihello")
    pane.until("^hello")
    pane.key("C-c")  # ends vi's insert mode
    pane.key("Escape")
    pane.resize(30, 100)
    pane.case.assertTrue(wait_until(lambda: pane.screen().count("~") == 28, PATIENCE), pane.screen())
    pane.type(":w! typed\n")
    pane.until('typed.* 1L, 6')
    pane.type(":q!\n")
    return 0


def gdb(pane):
    pane.until(r"^\(gdb\)")
    pane.type("run\n")
    pane.until("Starting program")
    pane.case.assertTrue(wait_until(lambda: pane.case.rank_processes("sleep 1000"), PATIENCE))
    time.sleep(0.3)  # gdb gives the terminal to the program
    pane.key("C-c")
    pane.until("received signal SIGINT")
    pane.until(re.compile(r"^\(gdb\)$"))
    pane.resize(30, 100)
    pane.type("printt")
    pane.key("BSpace", "Space")
    pane.type("6*7\n")  # line editing
    pane.until(r"= 42")
    pane.type("shell while test \"$(stty size)\" != '30 100'; do :; done; sleep 0.1\n")
    pane.type("show width\n")
    pane.until("is 100")
    pane.type("kill\n")
    pane.until("y or n")
    pane.type("y\n")
    pane.until("killed")
    pane.key("C-d")
    return 0


def python(pane):
    pane.until("^>>>")
    pane.type("print(6*8)")
    pane.key("Left", "BSpace")
    pane.type("7\n")
    pane.until("^42")
    pane.type("import time; time.sleep(1000)\n")
    time.sleep(0.2)
    pane.key("C-c")
    pane.until("KeyboardInterrupt")
    pane.resize(30, 100)
    pane.type("import os\n")
    pane.type("os.get_termina")
    pane.key("Tab")
    pane.until(r"get_terminal_size\(")
    pane.key("C-u")
    pane.type("while os.get_terminal_size() != (100, 30): pass\n\n")
    pane.type("6*7+100\n")
    pane.until("^142")
    pane.key("Up")
    pane.until(r">>> 6\*7\+100$")
    pane.key("C-u", "C-d")
    return 0


def bash(pane):
    pane.until(r"^ranksh\$$")
    pane.type("sleep 1000\n")
    pane.case.assertTrue(wait_until(lambda: pane.case.rank_processes("sleep 1000"), PATIENCE))
    pane.key("C-z")
    pane.until("Stopped")
    pane.type("fg\n")
    pane.until(r"^sleep 1000$")
    pane.key("C-c")
    pane.case.assertTrue(wait_until(lambda: not pane.case.rank_processes("sleep 1000"), PATIENCE))
    pane.resize(30, 100)
    pane.type("while test \"$(stty size)\" != '30 100'; do :; done; echo size $((40 + 2))\n")
    pane.until("^size 42")
    pane.key("C-d")  # an end of input on an empty line
    return 0


def escapes(pane):
    pane.until(r"^ranksh\$$")
    pane.key("Enter")
    pane.type("~?")
    pane.until("end the job")
    pane.key("Enter")
    pane.type("~")
    pane.key("C-z")
    pane.until(PROMPT)
    pane.case.assertEqual(pane.shell("stty -g | cksum"), pane.modes)
    pane.type("fg\n")
    pane.until(r"/dlaunch ")
    pane.key("Enter")
    pane.until(r"^ranksh\$$")
    pane.type("echo $((40 + 2))\n")
    pane.until("^42")
    pane.type("~.")
    return 129


BASH = ["env", r"PS1=rank\163h$ ", "bash", "--norc", "--noprofile", "-i"]
PROGRAMS = {
    "top": (["top", "-d", "1"], top),
    "vi": (["vim", "-u", "NONE", "-N"] if shutil.which("vim") else ["busybox", "vi"], vi),
    "gdb": (["gdb", "-nx", "-q", "--args", "sleep", "1000"], gdb),
    "python3": (["/usr/bin/python3", "-q"], python),
    "bash": (BASH, bash),
    "escapes": (BASH, escapes),
}


# ---- the ends of a job: each returns the exit codes that it may have ----

def by_itself(pane):
    pane.type("exit 0\n")
    return [0]


def by_an_error(pane):
    pane.type("exit 3\n")
    return [3]


def by_a_signal_of_the_rank(pane):
    pane.type("kill -KILL $$\n")
    return [137]


def by_a_signal_to_the_launcher(pane):
    os.kill(pane.case.launcher(), signal.SIGTERM)
    return [143]


def by_a_killed_launcher(pane):
    os.kill(pane.case.launcher(), signal.SIGKILL)
    return [137]


def by_a_lost_agent(pane):
    kill_together(*pane.case.agents())
    return pane.case.lost


def by_a_lost_host(pane):
    pane.case.host(1).kill_sshd()
    return pane.case.lost


ENDS_OF_JOBS = [by_itself, by_an_error, by_a_signal_of_the_rank, by_a_signal_to_the_launcher, by_a_killed_launcher, by_a_lost_agent]


class InteractiveCase:
    """A mixin for a Case."""
    options = ()  # of dlaunch
    shell = ""  # a command of the user's shell that starts the shell which starts dlaunch
    ends = ENDS_OF_JOBS
    lost = (125,)  # exit codes after all processes of the agent are killed

    def run_in_place(self, words):
        subprocess.run(words, env=self.env, cwd=self.dir, check=True)

    def enter(self):
        """The command line that runs words in the job."""
        return ()

    def reason(self):
        """More text for the message of a failed test."""
        return ""

    def setUp(self):
        if not shutil.which("tmux"):
            self.skipTest("tmux is not installed")
        super().setUp()

    def start_in(self, pane, words):
        pane.type(shlex.join([support.DLAUNCH, "--pty", "--status", "off", *self.options, "-n", "1", *words]) + "\n")

    def rank_processes(self, part):
        return [pid for pid, line in self.everywhere().items() if line.strip().endswith(part)]

    def everywhere(self):
        return {pid: line.strip() for pid, line in self.processes().items()}

    def launcher(self):
        """The parent of dlaunch's other processes."""
        return oldest_first([pid for pid, line in self.everywhere().items() if line.startswith(support.DLAUNCH)])[0]

    def agents(self):
        """The processes of the agents: descendants of the launcher."""
        found, parents = [], [self.launcher()]
        while parents:
            parents = [int(pid) for parent in parents for pid in of_process(parent, f"task/{parent}/children").split()]
            parents = [pid for pid in parents if b"dlaunch-agent" in of_process(pid, "cmdline").split(b"\0")[0]]
            found += parents
        return found

    @contextlib.contextmanager
    def pane_with(self, words):
        """A new terminal in which a rank runs a program."""
        pane = Pane(self, self.enter())
        try:
            pane.start_shell(self.shell)
            self.start_in(pane, words)
            yield pane
        finally:
            pane.close()

    @promise(LOSES_NOTHING, mode=PTY)
    def test_interactive_programs(self):
        for name, (words, use) in PROGRAMS.items():
            if name == "gdb" and (SANITIZED or not shutil.which("gdb")):
                continue
            with self.subTest(name), self.pane_with(words) as pane:
                code = use(pane)
                self.assertEqual(pane.finish(), code)
            self.assert_gone()

    @promise(ENDS, LEAVES_NOTHING, mode=(PTY, SIGNAL, KILL, FAILURE))
    def test_terminal_is_restored_at_each_end(self):
        for end in self.ends:
            with self.subTest(end.__name__), self.pane_with(BASH) as pane:
                pane.until(r"^ranksh\$$")
                codes = end(pane)
                self.assertIn(pane.finish(), codes)
            self.assert_gone()

    def assert_gone(self):
        self.assert_nothing_left()


class InteractiveHosts(InteractiveCase):
    """A mixin for a HostsCase."""

    def run_in_place(self, words):
        return subprocess.run(words, env=self.env, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=self.bed.head.enter(self.dir)).stdout

    def everywhere(self):
        return {pid: line for host in (self.bed.head, *self.bed.hosts.values()) for pid, line in host.strangers().items()}

    def agents(self):
        return oldest_first([pid for pid, line in self.everywhere().items() if "dlaunch-agent" in line])

    def assert_gone(self):
        super().assert_gone()
        self.assert_hosts_clean()
