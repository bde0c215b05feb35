"""Tests dlaunch stacks PID: the report shows the state and the Python frames of a process, without its help and without
harm."""
import glob
import os
import re
import subprocess
import sys

from promises import LOSES_NOTHING, QUERY, promise
from support import Case, DLAUNCH, TIMEOUT, main, wait_until

PYTHON = "/usr/bin/python3"
RELEASES = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
NO_MPI4PY = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, text=True, check=False).stderr
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]

# Code that hangs, in a function `inner` called by `step`, and the state in the stack report.
HANGS = {
    "a sleep": ("import time", "time.sleep(1000)", "blocked"),
    "a lock taken twice": ("import threading; lock = threading.Lock(); lock.acquire()", "lock.acquire()", "blocked"),
    "a socket that nobody writes to": ("import socket; a, b = socket.socketpair()", "a.recv(1)", "blocked"),
    "a C function without the GIL": ("import ctypes; c = ctypes.CDLL(None)", "c.pause()", "blocked"),
    "a C function that holds the GIL": ("import ctypes; c = ctypes.PyDLL(None)", "c.pause()", "blocked"),
    "a regular expression that never ends": ("import re", "re.match('(a?){40}a{40}', 'a' * 40)", "running"),
}


# Three threads wait for a lock. The main thread is in a recursion, below a generator, in lines with large distances.
SEVERAL = """import threading, time
lock = threading.Lock()
lock.acquire()
def wait():
    lock.acquire()
def down(n):
    return (down(n - 1) if n else
            time.sleep(
                1000))
def numbers():
    yield 1
    for _ in range(1):
%s
        down(
            9)
for _ in range(3):
    threading.Thread(target=wait, daemon=True).start()
for number in numbers():
    pass
""" % ("        # nothing\n" * 299 + "        #")


def pythons(release):
    """The installed interpreters of a release: from pyenv and from tests/newer/make."""
    places = [f"/root/.pyenv/versions/{release}.*/bin/python3"]
    if os.geteuid() == 0:  # for its chroot
        places.append(f"/tmp/python{release}/python3")
    return [python for place in places for python in glob.glob(place) if os.access(python, os.X_OK)]


def hanging(prepare, hang):
    return f"{prepare}\ndef inner():\n    {hang}\ndef step():\n    inner()\nstep()\n"


def frames(text):
    """The functions and lines of the Python frames of the first thread in the report."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("  thread main")), len(lines))
    found = []
    for line in lines[first + 1:]:
        if not line.startswith("    "):
            break
        python = re.fullmatch(r"    (\S+) \(.*?([^/]*):(\d+)\)(?: x \d+)?", line)
        if python:
            found.append(python.groups())
    return found


class Stacks(Case):
    def setUp(self):
        super().setUp()
        self.targets = []

    def tearDown(self):
        for process in self.targets:
            process.kill()
            process.wait()
        self.kill_leftovers()  # child processes of the targets
        super().tearDown()

    def target(self, command, **options):
        self.targets.append(subprocess.Popen(command, env=self.env, cwd=self.dir, **options))
        return self.targets[-1]

    def run_python(self, script, python=(PYTHON,), before=(), **options):
        name = self.dir / "script.py"
        name.write_text(script)
        return self.target([*before, *python, str(name)], **options)

    def report(self, pid, *options, before=()):
        result = self.run_dlaunch("stacks", pid, *options, before=before)
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        return result.stdout.decode()

    def run_dlaunch(self, *args, before=(), **options):
        if not before:
            return super().run_dlaunch(*args, **options)
        return subprocess.run([*before, DLAUNCH, *map(str, args)], env=self.env, capture_output=True, timeout=TIMEOUT, check=False)

    def until_seen(self, pid, wanted, *options, before=()):
        """Repeats the report until wanted(report) is true. Returns the report."""
        seen = []
        wait_until(lambda: seen.append(self.report(pid, *options, before=before)) or wanted(seen[-1]), every=0.1)
        self.assertTrue(wanted(seen[-1]), seen[-1])
        return seen[-1]

    def assert_hangs_are_seen(self, python, before=(), hangs=None):
        for name in hangs or HANGS:
            prepare, hang, state = HANGS[name]
            with self.subTest(name, python=python):
                process = self.run_python(hanging(prepare, hang), python, before)
                wanted = [("inner", "script.py", "3"), ("step", "script.py", "5"), ("<module>", "script.py", "6")]
                told = self.until_seen(process.pid, lambda text: frames(text)[-3:] == wanted and f"thread main, {state}" in text,
                                       before=before)
                self.assertNotIn("cannot be read", told)
                self.assertIsNone(process.poll())

    def test_each_hang_is_shown(self):
        self.assert_hangs_are_seen([PYTHON])

    def test_each_hang_is_shown_to_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("this test is an ordinary user's already, as the one before")
        self.dir.chmod(0o755)
        self.assert_hangs_are_seen([PYTHON], NOBODY)

    def test_isolated_and_virtual_environments_are_shown(self):
        self.assert_hangs_are_seen([PYTHON, "-I", "-S"], hangs=["a sleep"])
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(self.dir / "venv")], check=True, timeout=TIMEOUT)
        self.assert_hangs_are_seen([str(self.dir / "venv/bin/python")], hangs=["a sleep"])

    def test_installed_python_releases_are_shown(self):
        """The releases on this machine; Debian 12 itself has one."""
        for release in RELEASES:
            found = pythons(release)
            if not found:
                print(f"not on this machine: Python {release} of pyenv or tests/newer/make", file=sys.stderr)
            for python in found:
                self.assert_hangs_are_seen([python], hangs=("a sleep", "a lock taken twice", "a C function that holds the GIL"))
                with self.subTest("several threads", python=python):
                    self.assert_several_threads_are_seen(python)

    def assert_several_threads_are_seen(self, python):
        process = self.run_python(SEVERAL, [python])
        wanted = [("down", "script.py", "8"), ("down", "script.py", "7"), ("numbers", "script.py", "313"),
                  ("<module>", "script.py", "317")]
        # Threads with one name form a group; Python 3.14 gives each thread a name.
        waiting = r"\n  (3 threads|thread).*\n    wait \(\S+:5\)\n"
        told = self.until_seen(process.pid, lambda text: frames(text) == wanted and
                               re.findall(waiting, text) in (["3 threads"], ["thread"] * 3), "--all")
        self.assertRegex(told, r"\n    down \(\S+:7\) x 9\n")

    def test_local_variables_show_progress_in_each_release(self):
        """The process uses little CPU time and writes no output, and its stack is the same in each sample."""
        loop = "end = time.monotonic() + 5\nstep = 1000\nwhile time.monotonic() < end:\n    step += 1\n    time.sleep(0.1)\n"
        main = "def main():\n" + "".join(f"    {line}\n" for line in loop.splitlines()) + "main()\n"
        closure = main.replace("step = 1000", "step = 1000; tell = lambda: step")
        found = [PYTHON, *(python for release in RELEASES for python in pythons(release))]
        jobs = {(python, of): self.start("-n", 1, "--hang-after", 3, "--on-hang", "end", python, "-c", f"import time\n{script}",
                                         stderr=subprocess.PIPE)
                for python in found for of, script in (("a function", main), ("a closure", closure), ("a script", loop))}
        for name, job in jobs.items():
            with self.subTest(name), job:
                _, err = job.communicate(timeout=TIMEOUT)
                self.assertEqual((job.returncode, err), (0, b""))

    def test_equal_threads_are_one_group(self):
        process = self.run_python(
            "import threading\nlock = threading.Lock()\nlock.acquire()\ndef wait():\n    lock.acquire()\n"
            "for _ in range(5):\n    threading.Thread(target=wait, daemon=True).start()\nlock.acquire()\n")
        told = self.until_seen(process.pid, lambda text: "5 threads" in text and frames(text) == [("<module>", "script.py", "8")],
                               "--all")
        self.assertIn("    wait (", told.split("5 threads")[1])

    def test_names_with_non_ascii_letters(self):
        process = self.run_python("import time\ndef größe_日本_𝔘():\n    time.sleep(1000)\ngröße_日本_𝔘()\n")
        wanted = ("größe_日本_U", "script.py", "3")  # Python normalises 𝔘
        self.until_seen(process.pid, lambda text: wanted in frames(text))

    def test_deep_recursion_is_two_lines(self):
        process = self.run_python("import sys, time\nsys.setrecursionlimit(5000)\ndef down(n):\n    down(n - 1) if n else time.sleep(1000)\n"
                                  "down(3000)\n")
        self.until_seen(process.pid, lambda text: re.search(r"    down \(\S+:4\) x 256\n", text))

    def test_shell_and_its_python_child_are_both_shown(self):
        script = self.dir / "script.py"
        script.write_text(hanging(*HANGS["a sleep"][:2]))
        shell = self.target(["sh", "-c", f"{PYTHON} {script}; true"])
        told = self.until_seen(shell.pid, lambda text: "inner (" in text)
        self.assertEqual(told.count("pid "), 2, told)

    def test_program_without_python_has_a_state(self):
        process = self.target(["sleep", "1000"])
        told = self.until_seen(process.pid, lambda text: "sleep 1000" in text and "thread main, blocked" in text)
        self.assertRegex(told, rf"^pid {process.pid}: sleep 1000, \d+\.\d s CPU\n  thread main, blocked")

    def compiled(self, source, *options):
        (self.dir / "program.c").write_text(source)
        subprocess.run(["gcc", *options, "-o", self.dir / "program", self.dir / "program.c"], check=True, timeout=TIMEOUT)
        return self.target([str(self.dir / "program")])

    def test_native_frames_of_a_program(self):
        """With and without a frame pointer, with -static, blocked and running, and after the program file was removed.
        """
        source = "#include <poll.h>\nvolatile int go = 1;\nvoid inner(void) {{ {}; }}\nvoid outer(void) {{ inner(); go = 2; }}\n" \
            "int main(void) {{ outer(); return go; }}\n"
        self.dir.chmod(0o755)
        plain = ["-O2", "-fno-inline", "-fno-optimize-sibling-calls"]
        for options in (["-O0"], plain, [*plain, "-static"]):
            for wait, state in (("poll(0, 0, -1)", "blocked"), ("while (go) ;", "running")):
                with self.subTest(wait, options=options):
                    process = self.compiled(source.format(wait), *options)
                    told = self.until_seen(process.pid, lambda text: "main (" in text and f"thread main, {state}" in text)
                    names = re.findall(r"^    (\S+) \(\S*/program\)$", told, re.M)
                    self.assertEqual(names[-3:], ["inner", "outer", "main"], told)
                    (self.dir / "program").unlink()
                    self.until_seen(process.pid, lambda text: "outer (" in text)
                    self.assertIsNone(process.poll())

    def test_native_frames_as_an_ordinary_user(self):
        if os.geteuid() != 0:
            self.skipTest("this test is an ordinary user's already, as those before")
        process = self.target([*NOBODY, "sleep", "1000"])
        told = self.until_seen(process.pid, lambda text: "nanosleep (" in text, before=NOBODY)
        self.assertIn("/usr/bin/sleep)", told)

    def test_unreadable_process_names_the_reason(self):
        if os.geteuid() != 0:
            self.skipTest("it takes root to have processes of two users")
        process = self.run_python(hanging(*HANGS["a sleep"][:2]))
        told = self.report(process.pid, before=NOBODY)
        self.assertIn("cannot be read: the process belongs to user 0: run this command as that user or as root", told)
        self.dir.chmod(0o755)
        closed = self.run_python("import ctypes, time\nctypes.CDLL(None).prctl(4, 0)\nprint(flush=True)\ntime.sleep(1000)\n",
                                 before=NOBODY, stdout=subprocess.PIPE)
        closed.stdout.readline()
        closed.stdout.close()
        self.assertIn("cannot be read:", self.report(closed.pid, before=NOBODY))

    def test_missing_process_is_rejected(self):
        result = self.run_dlaunch("stacks", 1 << 29)
        self.assert_exit(result, 1)
        self.assertIn(b"not found", result.stderr)
        self.assert_exit(self.run_dlaunch("stacks", "train.py"), 2)

    def test_exec_exit_and_fork_during_a_sample(self):
        """The command succeeds whatever the processes do."""
        shell = self.target(["sh", "-c", f"while :; do {PYTHON} -I -S -c 'import os; os.fork()' & "
                             f"sh -c 'exec {PYTHON} -I -S -c pass'; wait; done"])
        for _ in range(3):
            result = self.run_dlaunch("stacks", *[shell.pid] * 10, "--all")
            self.assert_exit(result, 0)
        self.assertIsNone(shell.poll())

    @promise(LOSES_NOTHING, mode=QUERY)
    def test_sampling_a_busy_program_loses_no_output(self):
        lines = 200_000
        out = self.dir / "out"
        with open(out, "wb") as file:
            process = self.run_python(f"def write(i):\n    print(i)\nfor i in range({lines}):\n    write(i)\n", stdout=file)
            looks = 0
            while process.poll() is None and looks < 100:
                result = self.run_dlaunch("stacks", *[process.pid] * 20)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                looks += 20
            self.assertEqual(process.wait(TIMEOUT), 0)
        self.assertEqual(out.read_bytes(), b"".join(b"%d\n" % i for i in range(lines)))

    def test_missing_mpi_message_is_shown(self):
        if NO_MPI4PY:
            self.skipTest("no mpi4py: scripts/install-packages mpi")
        script = self.dir / "recv.py"
        script.write_text("import os, time\nfrom mpi4py import MPI\nprint(os.getpid(), flush=True)\ndef take():\n"
                          "    MPI.COMM_WORLD.recv(source=1)\ntake() if MPI.COMM_WORLD.rank == 0 else time.sleep(1000)\n")
        job = self.start("-n", 2, "--label", PYTHON, script, stdout=subprocess.PIPE)
        pids = dict(job.stdout.readline().decode().split() for _ in range(2))
        told = self.until_seen(pids["[0]"], lambda text: "take (" in text)
        self.assertEqual(frames(told)[-2:], [("take", "recv.py", "5"), ("<module>", "recv.py", "6")])
        job.terminate()
        job.wait(TIMEOUT)
        job.stdout.close()


if __name__ == "__main__":
    main()
