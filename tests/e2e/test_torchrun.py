"""Tests command lines of torchrun through a link named torchrun, and compares dlaunch with the real torchrun of
Debian's PyTorch: variables of ranks, files, the error file, and whether the exit code is 0."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
from unittest import mock

import support
from promises import COMMAND, ENDS, FAILURE, FILES, HERE, LEAVES_NOTHING, NAMES_FIRST, promise

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = "/usr/bin/python3"  # Debian's Python, for which python3-torch is built
NO_TORCH = subprocess.run([PYTHON, "-c", "import torch.distributed.run"], capture_output=True, text=True, check=False).stderr
# PyTorch 1.13 with Python 3.11 accepts only the streams 1 and 2, and requires both.
STREAMS = ("-t", "1", "-r", "2")
# Prints the variables and the arguments of a rank as a line of JSON. Argument 1 chooses how the rank ends.
RANK = """
import json, os, sys
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    print(json.dumps([dict(os.environ), sys.argv[1:]]), flush=True)
    print("on stderr", file=sys.stderr)
    if sys.argv[1] == "raise" and os.environ["RANK"] == "1":
        raise ValueError("rank 1 says no")
    if sys.argv[1] == "exit" and os.environ["RANK"] == "1":
        sys.exit(3)

main()
"""
PLAIN = "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]), flush=True)"
OF_TORCHRUN = re.compile(r"RANK$|^LOCAL_|^GROUP_|^ROLE_|WORLD_SIZE$|^MASTER_|^TORCHELASTIC_|^OMP_|NCCL")
# Intended differences (docs/torchrun.md): dlaunch chooses a free port and its own job id, and rank 0 opens the store.
DIFFER = {"MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE"}


class TorchrunCase(support.Case):
    def setUp(self):
        super().setUp()
        self.script = self.dir / "rank.py"
        for name in [name for name in self.env if OF_TORCHRUN.search(name)]:
            del self.env[name]

    def torchrun(self, *args, **options):
        link = self.dir / "torchrun"
        if not link.is_symlink():
            link.symlink_to(support.DLAUNCH)
        env = {"PYTHON_EXEC": sys.executable} | options.pop("env", {})
        with mock.patch("support.DLAUNCH", str(link)):
            return self.run_dlaunch(*args, env=env, **options)

    @staticmethod
    def ranks(output):
        """[(variables, arguments)], ordered by rank. Text before the '[' of a line is ignored."""
        found = [json.loads(line[line.index("[{"):]) for line in output.splitlines() if "[{" in line]
        return sorted(found, key=lambda each: int(each[0]["RANK"]))

    def tree(self, logs):
        """The files below `logs`, with XXXXXXXX in place of the random part of the directory name."""
        names = [path.relative_to(logs).as_posix() for path in logs.rglob("*") if path.is_file()]
        return sorted(re.sub(r"^([^/]+_)[0-9a-z_]{8}/", r"\1XXXXXXXX/", name) for name in names)


class Lines(TorchrunCase):
    def setUp(self):
        super().setUp()
        self.script.write_text(PLAIN)

    def test_ranks_get_torchrun_variables(self):
        result = self.torchrun("--nproc_per_node=3", "rank.py", "a", "--", ":", "-n")
        self.assert_exit(result, 0)
        ranks = self.ranks(result.stdout.decode())
        for rank, (env, args) in enumerate(ranks):
            self.assertEqual(args, ["a", "--", ":", "-n"])
            for name in ("RANK", "LOCAL_RANK", "ROLE_RANK"):
                self.assertEqual(env[name], str(rank), name)
            for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"):
                self.assertEqual(env[name], "3", name)
            self.assertEqual(env["OMP_NUM_THREADS"], "1")
        self.assertEqual(len(ranks), 3)
        self.assertEqual(result.stderr.count(b"OMP_NUM_THREADS=1"), 1)

    def test_torch_distributed_launch_adds_the_local_rank_argument(self):
        result = self.run_dlaunch("--as", "torch.distributed.launch", "--nproc_per_node=2", "rank.py", "--a", "b c",
                                  env={"PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"})
        self.assert_exit(result, 0)
        self.assertEqual([args for _, args in self.ranks(result.stdout.decode())],
                         [["--local_rank=0", "--a", "b c"], ["--local_rank=1", "--a", "b c"]])
        self.assertEqual(result.stderr, b"")

    def test_local_rank_placeholder_is_replaced(self):
        for words in (["--no-python", "echo"], ["say.py"]):
            (self.dir / "say.py").write_text("import sys\nprint(*sys.argv[1:])\n")
            done = self.torchrun("--nproc-per-node=2", *words, "<${local_rank}>", "a  'b'", "$$x", env={"OMP_NUM_THREADS": "1"})
            self.assert_exit(done, 0)
            self.assertEqual(sorted(done.stdout.splitlines()), [b"<0> a  'b' $x", b"<1> a  'b' $x"])

    def test_module_and_non_python_program_run(self):
        self.assert_exit(self.torchrun("-m", "rank", "x"), 0)
        result = self.torchrun("--no-python", "sh", "-c", "exit $((LOCAL_RANK + 4))")
        self.assert_exit(result, 4)

    def test_files_and_labels_are_those_of_torchrun(self):
        result = self.torchrun("--nproc-per-node", 2, "--log-dir", "logs", "-t", 1, "-r", 2, "--role", "r", "--rdzv-id", "7",
                               "--no-python", *support.sh("echo out; echo err >&2"), env={"OMP_NUM_THREADS": "1"})
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[r0]:out", b"[r1]:out"])
        self.assertEqual(result.stderr, b"")
        self.assertEqual(self.tree(self.dir / "logs"),
                         [f"7_XXXXXXXX/attempt_0/{rank}/{name}.log" for rank in (0, 1) for name in ("stderr", "stdout")])
        self.assertEqual({path.read_text() for path in (self.dir / "logs").rglob("stderr.log")}, {"err\n"})

    def test_local_ranks_filter_chooses_the_shown_ranks(self):
        result = self.torchrun("--nproc-per-node", 3, "--local-ranks-filter", "0,2", "--no-python", *support.sh("echo $RANK"),
                               env={"OMP_NUM_THREADS": "1"})
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"0", b"2"])
        self.assertIn(b'unknown local rank "5"', self.run_dlaunch("--local-ranks", 5, "true").stderr)

    def test_dry_run_variable_plans_every_line(self):
        ran = self.dir / "ran"
        for words in ((), ("--as", "torchrun"), ("--as", "ompi"), ("--as", "hydra")):
            with self.subTest(words):
                result = self.run_dlaunch(*words, "touch", ran, env={"DLAUNCH_DRY_RUN": "1", "DLAUNCH_FORMAT": "json"})
                self.assert_exit(result, 0)
                self.assertEqual(json.loads(result.stdout)["apps"][0]["argv"][-1], str(ran))
                self.assertFalse(ran.exists())

    def test_equivalent_dlaunch_line_does_the_same(self):
        plan = self.torchrun("--nproc-per-node", 2, "--master_port=29555", "--role=x y", "rank.py", "a b",
                             env={"DLAUNCH_DRY_RUN": "1"}).stdout.decode()
        line = re.search(r"is the same as: dlaunch (.*)", plan)[1]
        result = self.run_dlaunch("--quiet", *shlex.split(line))
        self.assert_exit(result, 0)
        for env, args in self.ranks(result.stdout.decode()):
            self.assertEqual((env["MASTER_PORT"], env["ROLE_NAME"], env["WORLD_SIZE"], args), ("29555", "x y", "2", ["a b"]))


class ErrorFile(TorchrunCase):
    @promise(NAMES_FIRST, mode=FAILURE)
    def test_traceback_is_reported_and_an_old_one_is_not(self):
        write = 'test $RANK = 1 && cat > "$TORCHELASTIC_ERROR_FILE" <<E\n{"message": "ValueError: no", "extraInfo": ' \
                '{"py_callstack": "Traceback\\\\n  in main\\\\nValueError: no"}}\nE\ntest $RANK = 0 && sleep 60; exit 3'
        line = ("-n", 2, "--oversubscribe", "--env-for", "torchrun", "--error-file", "errors/{rank}.json")
        result = self.run_dlaunch(*line, *support.sh(write))
        self.assert_exit(result, 3)
        self.assertIn(f"error file of rank 1 ({self.dir}/errors/1.json):\ndlaunch:   | Traceback\n".encode(), result.stderr)
        self.assertIn(b"dlaunch:   | ValueError: no\n", result.stderr)
        again = self.run_dlaunch(*line, *support.sh("echo plain >&2; test $RANK = 0 && sleep 60; exit 3"))
        self.assertNotIn(b"ValueError", again.stderr)
        self.assertIn(b"  | plain\n", again.stderr)

    @promise(LEAVES_NOTHING, NAMES_FIRST, mode=FAILURE, place=(HERE, COMMAND))
    def test_ranks_have_an_error_file_without_the_option(self):
        """The error file is in a directory of the job and removed with it. Both formats are accepted, and control
        characters are escaped."""
        new = '{"message": {"message": "ValueError: new", "extraInfo": {"py_callstack": "Traceback\\nValueError: new", "timestamp": "1"}}}'
        (self.dir / "new").write_text(new)
        (self.dir / "old").write_text(json.dumps({"message": "ValueError: \x1b[31mold", "timestamp": 1}))
        script = 'test $DLAUNCH_RANK = 0 && sleep 60; echo $TORCHELASTIC_ERROR_FILE; cat {} > "$TORCHELASTIC_ERROR_FILE"; exit 3'
        for options, form, told in ((("--restarts", 1), "new", b"ValueError: new\n"), (("--env-for", "torchrun"), "old", b"ValueError: "),
                                    (("--restarts", 1, "--exec", "env X={host}", "-H", "a:1,b:1"), "new", b"ValueError: new\n")):
            with self.subTest(options=options, form=form):
                result = self.run_dlaunch("-n", 2, "--oversubscribe", *options, *support.sh(script.format(form)))
                self.assert_exit(result, 3)
                self.assertIn(b"error file of rank 1 (TORCHELASTIC_ERROR_FILE):\n", result.stderr)
                self.assertIn(b"dlaunch:   | " + (b"Traceback\ndlaunch:   | " if form == "new" else b"") + told, result.stderr)
                self.assertNotIn(b"\x1b", result.stderr)
                paths = set(result.stdout.decode().split())
                self.assertEqual(len(paths), 2 if "--restarts" in options else 1)
                self.assertEqual([path for path in paths if pathlib.Path(path).parent.exists()], [])

    def test_error_files_are_below_tmpdir(self):
        for place in ([], ["--fake-hosts", "1x1"]):
            out = self.assert_succeeds(*place, "-n", 1, "--restarts", 1, *support.sh("echo $TORCHELASTIC_ERROR_FILE"), env={"TMPDIR": self.dir})
            self.assertTrue(out.decode().startswith(f"{self.dir}/dlaunch-"), out)

    def test_error_file_of_the_user_is_kept(self):
        result = self.run_dlaunch("-n", 1, "--restarts", 1, "-x", "TORCHELASTIC_ERROR_FILE=mine", *support.sh("echo $TORCHELASTIC_ERROR_FILE"))
        self.assertEqual(result.stdout, b"mine\n", result.stderr)

    def test_invalid_error_files_are_ignored(self):
        for write in ('head -c 200000 /dev/zero > "$TORCHELASTIC_ERROR_FILE"', 'mkfifo "$TORCHELASTIC_ERROR_FILE"', 'ln -s /etc/passwd "$TORCHELASTIC_ERROR_FILE"',
                      'mkdir "$TORCHELASTIC_ERROR_FILE"', 'echo "{" > "$TORCHELASTIC_ERROR_FILE"'):
            with self.subTest(write):
                result = self.run_dlaunch("-n", 1, "--env-for", "torchrun", *support.sh(f"{write}; echo plain >&2; exit 3"))
                self.assert_exit(result, 3)
                self.assertIn(b"  | plain\n", result.stderr)

    def test_error_file_for_two_ranks_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--oversubscribe", "--error-file", "e.json", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"--error-file: ranks 0 and 1 would both write", result.stderr)

    def test_error_file_without_local_ranks_is_rejected(self):
        for where in (("--fake-hosts", "2x1"), ("--exec", "env X={host}", "-H", "a:1,b:1")):
            result = self.run_dlaunch(*where, "--error-file", "{rank}.json", "true")
            self.assert_exit(result, 2)
            self.assertIn(b"--error-file: no rank is on this machine", result.stderr)

    @promise(ENDS, mode=FILES)
    def test_fifo_as_error_file_does_not_block_the_job(self):
        script = 'rm -f "$TORCHELASTIC_ERROR_FILE"; mkfifo "$TORCHELASTIC_ERROR_FILE"; echo plain >&2; exit 3'
        result = self.run_dlaunch("-n", 1, "--error-file", "{rank}.json", *support.sh(script))
        self.assert_exit(result, 3)
        self.assertIn(b"  | plain\n", result.stderr)


class ComparedWithTorchrun(TorchrunCase):
    def setUp(self):
        if NO_TORCH:
            self.skipTest(f"{PYTHON}: {NO_TORCH.splitlines()[-1]}: scripts/install-packages torch")
        super().setUp()
        self.script.write_text(RANK)

    def both(self, *args):
        """The results of torchrun and of dlaunch, and their log directories."""
        env = {"PYTHON_EXEC": PYTHON}
        words = [*map(str, args)]
        real = subprocess.run([PYTHON, "-m", "torch.distributed.run", "--log_dir", "real", *words], cwd=self.dir, capture_output=True,
                              env=self.env | env, stdin=subprocess.DEVNULL, timeout=4 * support.TIMEOUT, check=False)
        ours = self.torchrun("--log_dir", "ours", *words, env=env, timeout=4 * support.TIMEOUT)
        return real, ours, self.dir / "real", self.dir / "ours"

    def test_variables_arguments_and_files_are_the_same(self):
        real, ours, real_logs, our_logs = self.both("--nproc_per_node=2", "--role", "r", *STREAMS, "rank.py", "go", "--", "x")
        self.assertEqual((real.returncode, ours.returncode), (0, 0), (real.stderr, ours.stderr))
        theirs, mine = self.ranks(real.stdout.decode()), self.ranks(ours.stdout.decode())
        self.assertEqual(len(theirs), 2, real.stdout)
        for (their_env, their_args), (env, args) in zip(theirs, mine, strict=True):
            self.assertEqual(args, their_args)
            wanted = {name: value for name, value in their_env.items() if OF_TORCHRUN.search(name) and name not in DIFFER}
            self.assertGreater(len(wanted), 12)
            self.assertEqual({name: env.get(name) for name in wanted}, wanted)
            self.assertNotIn("TORCHELASTIC_USE_AGENT_STORE", env)
            for name in DIFFER - {"TORCHELASTIC_USE_AGENT_STORE"}:
                self.assertIn(name, env)
        self.assertEqual(self.tree(our_logs), self.tree(real_logs))
        prefixes = [sorted(re.findall(rb"^\[r\d\]:", each.stdout, re.MULTILINE)) for each in (real, ours)]
        self.assertEqual(prefixes, [[b"[r0]:", b"[r1]:"]] * 2)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_failure_and_its_error_file_are_the_same(self):
        real, ours, real_logs, our_logs = self.both("--nproc_per_node=2", *STREAMS, "rank.py", "raise")
        self.assertEqual((real.returncode, ours.returncode), (1, 1), (real.stderr, ours.stderr))
        self.assertEqual(self.tree(our_logs), self.tree(real_logs))
        theirs, mine = ([json.loads(path.read_text())["message"]["message"] for path in logs.rglob("error.json")]
                        for logs in (real_logs, our_logs))
        self.assertEqual(mine, theirs)
        self.assertEqual(mine, ["ValueError: rank 1 says no"])
        self.assertIn(b"error file of rank 1 (", ours.stderr)
        self.assertIn(b"  | ValueError: rank 1 says no\n", ours.stderr)

    def test_exit_codes_are_the_same(self):
        for words, codes in ((("rank.py", "exit"), (1, 3)), (("--nproc_per_node=2",), (2, 2)), (("--bogus", "rank.py"), (2, 2))):
            with self.subTest(words):
                real, ours, *_ = self.both("--nproc_per_node=2", *STREAMS, *words)
                self.assertEqual((real.returncode, ours.returncode), codes, (real.stderr, ours.stderr))

    def test_example_runs(self):
        result = self.torchrun("--nproc-per-node", 2, ROOT / "examples/ddp.py", "--steps", 10, env={"PYTHON_EXEC": PYTHON},
                               timeout=4 * support.TIMEOUT)
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, rb"step 10 of 10 on 2 ranks: loss \d")


if __name__ == "__main__":
    support.main()
