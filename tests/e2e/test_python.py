"""The Python package: run(), start() and call(), also from a wheel in a virtual environment without network."""
import os
import pathlib
import re
import signal
import subprocess
import sys

from promises import ENDS, FAILURE, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RUN, SIGNAL, promise
from support import DLAUNCH, TIMEOUT, Case, main, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD, CMAKE = os.environ.get("BUILD"), os.environ.get("CMAKE")
HEAD = """
import os, signal, sys, time
import dlaunch

def rank():
    return int(os.environ["DLAUNCH_RANK"])
"""


class PythonPackage(Case):
    def setUp(self):
        super().setUp()
        self.env |= {"DLAUNCH_BIN": DLAUNCH, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}

    def script(self, functions, body):
        body = "\n".join("    " + line for line in body.strip().splitlines())
        path = self.dir / "job.py"
        path.write_text(f"{HEAD}\n{functions}\n\nif __name__ == '__main__':\n{body}\n")
        return [sys.executable, str(path)]

    def run_python(self, body, functions="", code=0):
        done = subprocess.run(self.script(functions, body), env=self.env, cwd=self.dir, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_run_returns_the_ranks_and_the_first_failure(self):
        done = self.run_python("""
            result = dlaunch.run(["sh", "-c", "echo hi; [ $RANK_ID != 1 ] || exit 3; sleep 60"], ranks=3)
            print(result.code, result.first_failure.rank, result.first_failure.text, [each.code for each in result.ranks])
            try:
                result.check()
            except dlaunch.JobFailed as error:
                print(error)
        """.replace("            ", ""))
        self.assertIn("3 1 exited with code 3 [143, 3, 143]", done.stdout)
        self.assertRegex(done.stdout, r"rank 1 \(host .*\): exited with code 3\n$")
        self.assertIn("stopped the 2 other ranks", done.stderr)

    def test_run_takes_options_hosts_and_variables(self):
        done = self.run_python("""
seen = []
result = dlaunch.run(["sh", "-c", "echo $DLAUNCH_HOST $WORD; cat"], fake_hosts="2x1", env={"WORD": "a b"}, stdin_to="none",
                     label=None, quiet=True, no_env=False, on_line=seen.append)
print(sorted((line.rank, line.stream, line.text) for line in seen), result.code, result.messages)
""")
        self.assertEqual(done.stdout, "[(0, 'stdout', 'fake1 a b'), (1, 'stdout', 'fake2 a b')] 0 \n")

    def test_refused_options_raise_with_the_message_of_dlaunch(self):
        done = self.run_python("""
result = dlaunch.run(["true"], no_such_option=1, on_line=lambda line: None)
print(result.code, result.messages.splitlines()[0])
""")
        self.assertEqual(done.stdout, '2 dlaunch: unknown option "--no-such-option"\n')

    @promise(LOSES_NOTHING, mode=RUN)
    def test_lines_arrive_whole_and_in_order(self):
        done = self.run_python("""
with dlaunch.start(["sh", "-c", "seq 20000; head -c 200000 /dev/zero | tr '\\\\0' x; printf 'a\\\\377b'"], ranks=2) as job:
    lines = {0: [], 1: []}
    for line in job.lines():
        lines[line.rank].append(line.text)
    expected = [str(n) for n in range(1, 20001)] + ["x" * 200000 + "a\\ufffdb"]
    print(all(each == expected for each in lines.values()), job.wait().code)
""")
        self.assertEqual(done.stdout, "True 0\n")

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_job_ends_with_its_block(self):
        self.run_python("""
with dlaunch.start(["sh", "-c", "echo up; sleep 600"], ranks=2) as job:
    next(job.lines())
assert job.wait().code == 143
try:
    dlaunch.run(["sh", "-c", "echo up; sleep 600"], ranks=2, on_line=lambda line: 1 / 0)
except ZeroDivisionError:
    sys.exit(7)
""", code=7)
        self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_interrupted_python_ends_the_job(self):
        for call in ("dlaunch.run(['sleep', '600'], ranks=2)", "dlaunch.call(time.sleep, 600, ranks=2)"):
            with self.subTest(call):
                python = subprocess.Popen(self.script("", f"print('up', flush=True)\n{call}"), env=self.env, cwd=self.dir,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(python.kill)
                self.assertEqual(python.stdout.readline(), "up\n")
                self.assertTrue(wait_until(lambda: len(self.processes()) > 2))
                python.send_signal(signal.SIGINT)
                _, errors = python.communicate(timeout=TIMEOUT)
                self.assertIn("KeyboardInterrupt", errors)
                self.assert_nothing_left()

    def test_call_returns_the_values_in_the_order_of_ranks(self):
        done = self.run_python("""
print(dlaunch.call(f, 10, b=2, ranks=4))
print(dlaunch.call(len, bytes(1_000_000), ranks=2))
print([len(each) for each in dlaunch.call(os.urandom, 3_000_000, ranks=2)])
print(dlaunch.call(os.getcwd, hosts=None, options={"fake_hosts": "2x1"}) == [os.getcwd()] * 2)
""", """
def f(a, b):
    print("text of", rank(), end="")
    return {"sum": rank() * a + b}
""")
        large, sizes, fake = done.stdout.splitlines()[-3:]
        values = done.stdout.splitlines()[-4]
        self.assertEqual(values, "[{'sum': 2}, {'sum': 12}, {'sum': 22}, {'sum': 32}]")
        self.assertEqual((large, sizes, fake), ("[1000000, 1000000]", "[3000000, 3000000]", "True"))
        self.assertEqual(sorted(done.stdout.splitlines()[:-4]), [f"text of {rank}" for rank in range(4)])

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_call_raises_the_first_failure(self):
        done = self.run_python("""
for how in ("raise", "exit", "kill", "leave", "big", "unpicklable"):
    try:
        dlaunch.call(f, how, ranks=3)
    except dlaunch.RankFailed as error:
        print(how, error.rank, error.type_name, error.message, "1 / 0" in error.traceback, error.result.code, sep="|")
""", """
def f(how):
    if rank() != 1:
        time.sleep(0.5)
        return 0
    if how == "raise":
        1 / 0
    if how == "exit":
        sys.exit(4)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "leave":
        os._exit(0)
    return lambda: 0 if how == "unpicklable" else bytes(1)
""".replace('return lambda: 0 if how == "unpicklable" else bytes(1)', 'return (lambda: 0) if how == "unpicklable" else bytes(70 << 20)'))
        rows = [line.split("|") for line in done.stdout.splitlines()]
        self.assertEqual(rows[0], ["raise", "1", "ZeroDivisionError", "division by zero", "True", "1"])
        self.assertEqual(rows[1][:4], ["exit", "1", "SystemExit", "4"])
        self.assertEqual(rows[2], ["kill", "1", "", "killed by signal 9 (SIGKILL)", "False", "137"])
        self.assertEqual(rows[3], ["leave", "1", "", "the rank ended without a value (its stdout must reach dlaunch's stdout)", "False", "0"])
        self.assertEqual(rows[4][1:3], ["1", "ValueError"])
        self.assertRegex(rows[4][3], r"the value has \d+ bytes, the limit is 67108864")
        self.assertEqual(rows[5][1], "1")
        self.assertRegex(rows[5][3], "pickle")

    def test_call_takes_the_values_of_the_last_round(self):
        done = self.run_python("""
print(dlaunch.call(f, ranks=2, options={"restarts": 1}))
""", """
def f():
    if os.environ["DLAUNCH_ROUND"] == "0" and rank() == 1:
        time.sleep(0.5)
        sys.exit(1)
    return os.environ["DLAUNCH_ROUND"]
""")
        self.assertEqual(done.stdout.splitlines()[-1], "['1', '1']")

    @promise(ENDS, LEAVES_NOTHING, mode=KILL)
    def test_job_ends_with_python(self):
        for end in (signal.SIGKILL, signal.SIGTERM, None):
            for call in ("dlaunch.run(['sleep', '600'], ranks=2)", "dlaunch.call(time.sleep, 600, ranks=2)",
                         "job = dlaunch.start(['sleep', '600'], ranks=2)\ntime.sleep(1)\nsys.exit(0)"):
                if (end is None) != ("sys.exit" in call):
                    continue
                with self.subTest(call, end=end):
                    python = subprocess.Popen(self.script("", f"print('up', flush=True)\n{call}"), env=self.env, cwd=self.dir,
                                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                    self.addCleanup(python.kill)
                    self.assertEqual(python.stdout.readline(), "up\n")
                    self.assertTrue(wait_until(lambda: len(self.processes()) > 2))
                    if end:
                        python.send_signal(end)
                    python.stdout.close()
                    python.wait(TIMEOUT)
                    self.assert_nothing_left()

    @promise(ENDS, LOSES_NOTHING, mode=RUN)
    def test_lines_continue_after_a_wait_that_timed_out(self):
        done = self.run_python("""
for n in ("6", "100000"):
    job = dlaunch.start(["sh", "-c", f"for i in 1 2 3 4; do sleep 0.4; echo $i; done; seq {n}"], ranks=1)
    try:
        job.wait(timeout=0.6)
    except subprocess.TimeoutExpired:
        pass
    lines = [line.text for line in job.lines()]
    print(lines[-1], lines[0] in ("2", "3", "4"), lines[lines.index("4"):][1:4], job.wait().code)
job = dlaunch.start(["seq", "100000"], ranks=1)
try:
    job.wait(timeout=0.001)
except subprocess.TimeoutExpired:
    pass
print(job.wait().code)
""", "import subprocess")
        self.assertEqual(done.stdout.splitlines(), ["6 True ['1', '2', '3'] 0", "100000 True ['1', '2', '3'] 0", "0"])

    @promise(ENDS, mode=SIGNAL)
    def test_end_of_a_flood_is_quick(self):
        self.run_python("""
start = time.monotonic()
with dlaunch.start(["yes"], ranks=2) as job:
    next(job.lines())
    begun = time.monotonic()
print(time.monotonic() - begun)
assert time.monotonic() - begun < 5
""")

    def test_job_with_other_output_of_dlaunch_ends(self):
        done = self.run_python("""
print(dlaunch.start(["true"], version=True).wait().code)
os.environ["DLAUNCH_DRY_RUN"] = "1"
for run in (lambda: dlaunch.run(["true"], on_line=lambda line: None).check(), lambda: dlaunch.call(rank)):
    try:
        run()
    except dlaunch.JobFailed as error:
        print(error)
for bad in ({"format": "text"}, {"ranks": 0}, {"env": {"A": 1}}):
    try:
        dlaunch.start(["true"], **bad)
    except (TypeError, ValueError) as error:
        print(error)
""")
        self.assertIn("format: not supported if Python reads the lines", done.stdout)
        self.assertIn("ranks: invalid number 0: expected 1 or more", done.stdout)
        self.assertIn("env: invalid value 1 of A: expected a str", done.stdout)

    def test_failures_pass_through_pickle(self):
        done = self.run_python("""
import pickle
try:
    dlaunch.call(f, ranks=1)
except dlaunch.RankFailed as error:
    again = pickle.loads(pickle.dumps(error))
    print(again.rank, again.type_name, again.message, str(again) == str(error))
try:
    dlaunch.run(["false"], ranks=1).check()
except dlaunch.JobFailed as error:
    print(str(pickle.loads(pickle.dumps(error))) == str(error))
""", "def f():\n    raise KeyError('x')")
        self.assertEqual(done.stdout, "0 KeyError 'x' True\nTrue\n")

    def test_function_that_ranks_cannot_import_is_rejected(self):
        (self.dir / "cloudpickle.py").write_text("raise ImportError")
        for words, expected in ((["-c", "import dlaunch\ndef f(): pass\ndlaunch.call(f)"], "move the function into a module, or install cloudpickle"),
                                (self.script("def f():\n    pass\nimport dlaunch\ndlaunch.call(f, ranks=1)", "pass")[1:], "guard its start with")):
            done = subprocess.run([sys.executable, *words], env=self.env, cwd=self.dir, capture_output=True, text=True, timeout=TIMEOUT,
                                  check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(expected, done.stderr)

    def test_bytes_of_ranks_are_unchanged(self):
        python = self.script("def f():\n    os.write(1, b'\\x00\\xff\\xfe|')\n    sys.stdout.close()\n    return 5", "assert dlaunch.call(f, ranks=1) == [5]")
        done = subprocess.run(python, env=self.env, cwd=self.dir, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"\0\xff\xfe|\n"), done.stderr)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_thread_that_continues_after_its_function_prints_all_lines(self):
        done = self.run_python("""
seen = []
print(dlaunch.call(f, ranks=1, on_line=lambda line: seen.append(line.text)), len(seen))
""", """
def f():
    import threading
    threading.Thread(target=lambda: [print("line", i) for i in range(2000)]).start()
    return 1
""")
        self.assertIn(done.stdout, ("[1] 2000\n", "[1] 2001\n"))  # the value may divide a line of the thread

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_interrupted_start_leaves_no_job(self):
        self.run_python("""
for i in range(20):
    try:
        threading.Timer(i / 4000, os.kill, (os.getpid(), signal.SIGINT)).start()
        with dlaunch.start(["sleep", "600"], ranks=1):
            time.sleep(0.2)
    except KeyboardInterrupt:
        pass
    time.sleep(0.05)
""", "import threading")
        self.assert_nothing_left()

    def test_call_of_a_function_in_another_module(self):
        (self.dir / "helpers").mkdir()
        (self.dir / "helpers/tools.py").write_text("def twice(n):\n    return 2 * n\n")
        done = self.run_python("""
sys.path.insert(0, "helpers")
import tools
print(dlaunch.call(tools.twice, 4, ranks=2))
""")
        self.assertEqual(done.stdout, "[8, 8]\n")

    def test_wheel_works_in_a_virtual_environment_without_network(self):
        if not BUILD:
            self.skipTest("BUILD is not set")
        prefix = self.dir / "prefix"
        done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix, "--component", "Unspecified"], env=self.env,
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("one", "two"):
            (self.dir / name).mkdir()
            subprocess.run([sys.executable, ROOT / "packaging/wheel.py", prefix, "0.1.0", "linux_x86_64", self.dir / name], check=True)
        wheel, = (self.dir / "one").iterdir()
        self.assertEqual(wheel.read_bytes(), (self.dir / "two" / wheel.name).read_bytes())
        venv = self.dir / "venv"
        del self.env["DLAUNCH_BIN"], self.env["PYTHONPATH"]
        self.env["PATH"] = "/usr/bin:/bin"
        subprocess.run([sys.executable, "-m", "venv", venv], env=self.env, check=True, timeout=2 * TIMEOUT)
        no_network = ["unshare", "--net"] if os.geteuid() == 0 else []
        subprocess.run([*no_network, venv / "bin/pip", "install", "--no-index", "--quiet", "--disable-pip-version-check", wheel],
                       env=self.env, check=True, timeout=2 * TIMEOUT)
        words = self.script("", "print(dlaunch.call(os.getppid, ranks=2) != [0, 0])")
        for words in ([str(venv / "bin/dlaunch"), "-n", "1", "echo", "True"], [str(venv / "bin/python"), "-m", "dlaunch", "echo", "True"],
                      [str(venv / "bin/python"), *words[1:]]):
            done = subprocess.run(words, env=self.env, cwd=self.dir, capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(set(re.findall(r"^.*$", done.stdout.strip(), re.M)), {"True"}, done.stderr)


if __name__ == "__main__":
    main(side_by_side=3)
