"""Commands that new users type first: the command works, or the error has the option or the word to use."""
import os
import pathlib
import shutil

import support
from support import DLAUNCH, Case

NOBODY = 65534
TORCH = "run dlaunch --as torchrun …"
# The hint, and the options of other launchers that get the hint.
OPTIONS_OF_OTHER_LAUNCHERS = {
    # torchrun
    "use --same-line --nodes N": "--nnodes 2, --num_machines 2, --no_ssh",
    "use --output-filename DIR": "--tee 3, --enable_each_rank_log d",
    "use --stdout-file FILE": "--redirects 3, -o x, --open-mode=append",
    "use python3 -m MODULE": "-m mod, --module mod",
    "use python3 SCRIPT": "--run-path",
    "use --local-ranks LIST": "--local-ranks-filter 0",
    "use --label TEMPLATE": "--log-line-prefix-template x",
    "use --visible rank": "--virtual-local-rank",
    "use --grace TIME": "--shutdown-timeout 5",
    "use grep on the files": "--logs-specs x, --duplicate-stdout-filters x",
    f"{TORCH} or dlaunch --as srun …": "-r 3",
    f"{TORCH} or dlaunch --as accelerate …": "--role r, --monitor-interval 1",
    f"remove the option, or {TORCH}": "--start-method spawn, --local-addr h",
    "remove the option": "--no-python, --partition debug, --qos q, --job-name x, --kill-on-bad-exit=1",
    # srun
    "use -n N for N ranks": "--gpus 2, --gpus-per-task=1, --num_gpus 2",
    "use --timeout": "--time=5, -t 5",
    "use --wdir DIR": "--chdir /tmp, -D /tmp",
    "use -H LIST": "-w n1",
    "use --stderr-file FILE": "--error e",
    "use -x NAME=VALUE": "--export=ALL",
    "use --env-file FILE": "--export-file f",
    "use --map-by block": "--distribution block",
    "use --oversubscribe": "--overcommit",
    "use --wait-after-first TIME": "--wait=5, -W 5",
    "use --raw": "--unbuffered, -u",
    "use --app FILE": "--multi-prog",
    "use --dry-run": "--test-only",
    "run dlaunch --as srun …": "--input i, --tres-per-task=cpu=1, --relative 1",
    "run dlaunch --as srun … or dlaunch --as deepspeed …": "-e x",
    "run dlaunch --as srun … or dlaunch --as horovodrun …": "-p x",
    "remove the option, or run dlaunch --as srun …":
        "--overlap, --exact, --mem 1G, --ntasks-per-socket 2, --cpus-per-gpu 2, --propagate",
    "remove the option, or run dlaunch --as srun … or dlaunch --as deepspeed …": "--account a, --comment c",
    # msrun
    "use --ranks LIST": "--tail_worker_log 0",
    "use --bind-to device": "--bind_core True",
    "use --rank-table FILE": "--rank_table_file f",
    "run dlaunch --as msrun …": "--join True, --cluster_time_out 9, --sim_level 1, --worker_log_name x",
    # deepspeed, accelerate and horovodrun
    "use --report-pid FILE": "--save_pid",
    "use --cores-per-rank share": "--bind_cores_to_rank",
    "run dlaunch --as deepspeed …": "--force_multi, --no_local_rank, --launcher_args x",
    "use --devices LIST": "--gpu_ids 0",
    "use -x OMP_NUM_THREADS=N": "--num_cpu_threads_per_process 2",
    "run dlaunch --as accelerate …": "--multi_gpu, --mixed_precision bf16, --use_fsdp, --dynamo_backend no",
    "run dlaunch --as accelerate … or dlaunch --as horovodrun …": "--config_file f",
    "use --env-for horovod": "--gloo",
    "use --wait-hosts TIME": "--start-timeout 5",
    "use --restarts N": "--slots-per-host 2, --min-np 1, --max_restarts 3, --min_elastic_nodes 1",
    "run dlaunch --as horovodrun …": "--autotune, --mpi-args x, --timeline-filename f",
}


class FirstWords(Case):
    def hint_of(self, code, *args, **options):
        """stderr of a command that must exit with `code`."""
        result = self.run_dlaunch(*args, **options)
        self.assert_exit(result, code)
        return result.stderr.decode()

    def test_numbers_attached_to_short_names(self):
        for words in (["-n2"], ["-np2"], ["-n=2"], ["-np=2"], ["-N2"], ["-ppn2"], ["--nproc_per_node", 2], ["--ntasks=2"]):
            with self.subTest(words=words):
                self.assertEqual(self.assert_succeeds(*words, "echo", "x"), b"x\nx\n")

    def test_durations_with_units(self):
        for text in ("1", "1s", "1000ms", "00:00:01"):
            with self.subTest(text=text):
                self.assertIn("1.", self.hint_of(124, "--timeout", text, "-n1", "sleep", 60))
        self.assertEqual(self.assert_succeeds("--timeout", "1h30m", "-n1", "echo", "x"), b"x\n")
        self.assertIn('--timeout: invalid duration "5 m": expected 90, ', self.hint_of(2, "--timeout", "5 m", "true"))

    def test_invalid_values_have_what_is_expected(self):
        self.assertEqual(self.hint_of(2, "-n", "two", "true"), 'dlaunch: -n: invalid number "two": expected 1 to 1048576\n')

    def test_options_of_other_launchers_name_the_option_to_use(self):
        count = 0
        for hint, lines in OPTIONS_OF_OTHER_LAUNCHERS.items():
            for line in lines.split(", "):
                count += 1
                with self.subTest(line=line):
                    text = self.hint_of(2, *line.split(), "true")
                    self.assertIn(f"dlaunch:   {hint}", text)
                    self.assertIn(line.split()[0].split("=")[0], text)
        self.assertGreaterEqual(count, 60)

    def test_a_shell_command_as_the_program(self):
        self.assertIn("sh -c 'echo a | tr a b'", self.hint_of(127, "-n", 1, "echo a | tr a b"))

    def test_a_script_without_execute_permission(self):
        (self.dir / "train.py").write_text("print(1)\n")
        self.assertIn("run python3 ./train.py", self.hint_of(126, "-n", 1, "./train.py"))
        self.assertIn("run python3 train.py", self.hint_of(127, "-n", 1, "train.py"))

    def test_percent_signs_and_variables_in_templates(self):
        for words in (["--label", "[%r]"], ["--output-filename", "log-%r"], ["--output-filename", "log-$RANK_ID"]):
            with self.subTest(words=words):
                self.assertIn("use {rank}", self.hint_of(2, *words, "-n", 1, "true"))

    def test_a_file_that_is_not_a_host_file(self):
        self.assertIn("/etc/passwd:1:1: not a hostfile", self.hint_of(2, "--hostfile", "/etc/passwd", "true"))

    def as_another_user(self):
        """The words before dlaunch that start a user without root's rights."""
        if os.getuid() != 0:
            return []
        if not shutil.which("setpriv") or not os.access(DLAUNCH, os.X_OK):
            self.skipTest("requires setpriv")
        if any(not directory.stat().st_mode & 0o001 for directory in pathlib.Path(DLAUNCH).resolve().parents):
            self.skipTest("another user cannot run dlaunch from this directory")
        self.dir.chmod(0o755)
        return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]

    def test_a_directory_that_the_user_may_not_enter(self):
        before = self.as_another_user()
        closed = self.dir / "closed"
        closed.mkdir()
        (closed / "prog").write_text("#!/bin/sh\n")
        (closed / "prog").chmod(0o755)
        closed.chmod(0o000)
        self.addCleanup(closed.chmod, 0o700)
        for args, where in (([closed / "prog"], closed), (["./closed/prog"], closed), (["-wdir", closed, "true"], f"the working directory {closed}")):
            with self.subTest(args=args):
                self.assertIn(f"cannot enter {where}: Permission denied",
                              self.hint_of(126, "-n", 1, *args, before=before, env={"HOME": "/nonexistent"}))

    def test_home_that_the_user_may_not_enter_has_no_configuration(self):
        """As after `sudo -u nobody`, which keeps HOME. A file that the user may see, but not read, is an error."""
        before = self.as_another_user()
        config = self.dir / "home" / ".config" / "dlaunch" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("")
        config.chmod(0o600 if before else 0)
        env = {"HOME": str(self.dir / "home")}
        self.assertIn(f"cannot read {config}: Permission denied", self.hint_of(2, "-n", 1, "true", before=before, env=env))
        (self.dir / "home").chmod(0o700 if before else 0)
        self.addCleanup((self.dir / "home").chmod, 0o700)
        self.assert_exit(self.run_dlaunch("-n", 1, "true", before=before, env=env), 0)

    def test_a_directory_that_the_user_may_not_write_to(self):
        before = self.as_another_user()
        closed = self.dir / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        for words in (["--output-filename", closed / "logs"], ["--output-filename", f"{closed}/logs:nocopy"],
                      ["--stdout-file", closed / "x" / "{rank}"]):
            with self.subTest(words=words):
                text = self.hint_of(2, "-n", 1, *words, "echo", "hi", before=before, env={"HOME": "/nonexistent"})
                self.assertRegex(text, rf"cannot create {closed}\S+: Permission denied")
                self.assertIn("use a directory that you may write to", text)
        self.assertIn("use a path in an existing directory", self.hint_of(2, "-n", 1, "--report", closed / "x" / "r", "true"))
        text = self.hint_of(2, "-n", 1, "--error-file", closed / "x" / "{rank}", "echo", before=before, env={"HOME": "/nonexistent"})
        self.assertIn("Permission denied", text)

    def test_unknown_nodes_name_the_options_of_the_launcher(self):
        for launcher, words, rank, address in (
                ("torchrun", ["--nnodes", 2, "--nproc-per-node", 2], "--node-rank", "--rdzv-endpoint HOST:PORT"),
                ("msrun", ["--worker_num=4", "--local_worker_num=2"], "--node_rank", "--master_addr HOST")):
            with self.subTest(launcher=launcher):
                text = self.hint_of(2, "--as", launcher, *words, "train.py")
                self.assertIn(f"{launcher}: missing {rank} or {address.split()[0]}", text)
                self.assertIn(f"add {address} (the address of node 0), or {rank} 0 on the node that runs the job", text)
                self.assertNotIn("--same-line", text)
        text = self.hint_of(2, "--same-line", "--nodes", 2, "true")
        self.assertIn("--same-line: missing --node-rank or --rendezvous", text)

    def test_a_subcommand_with_a_typing_error_or_after_options(self):
        for words, hint in ((["chek", "python3"], "use dlaunch check"), (["stack"], "use dlaunch stacks"),
                            (["--fake-hosts", "2x2", "check", "python3", "x.py"], "put the subcommand first: dlaunch check")):
            with self.subTest(words=words):
                self.assertIn(hint, self.hint_of(127, *words))

    def test_typographic_dashes(self):
        for word, hint in (("\u2013label", "use two ASCII dashes: --label"), ("\u2014label", "use two ASCII dashes: --label"),
                           ("\u2013n", "use an ASCII dash: -n")):
            with self.subTest(word=word):
                self.assertIn(hint, self.hint_of(127, word, "true"))

    def test_a_launcher_as_the_program(self):
        launcher = self.dir / "mpirun"
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o755)
        text = self.hint_of(0, "-n", 1, launcher, "-np", 2, "hostname")
        self.assertEqual(text, "dlaunch: note: each rank would run mpirun, which starts more ranks: use dlaunch --as mpirun …\n")

    def test_fake_hosts_have_the_form_of_the_help(self):
        self.assertIn("expected NxM such as 2x4", self.hint_of(2, "--fake-hosts", "2*2", "true"))


if __name__ == "__main__":
    support.main()
