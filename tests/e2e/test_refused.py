"""A refused job leaves the old files: the logs and the rank directories of an earlier job."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import support
from hosts_case import HostsCase
from promises import ENDS, FILES, LOSES_NOTHING, NAMES_FIRST, STAGING, START, promise
from support import Case, sh

LOGS = (("--log-dir", "logs"), ("--keep-logs", 1, "--log-dir", "logs"), ("--stdout-file", "out/{rank}"),
        ("--rank-dir", "dirs/{rank}"), ("--keep-logs", 1, "--log-dir", "logs", "--rank-dir", "logs/work{rank}"),
        ("--log-dir", "logs", "--rank-dir", "dirs/{rank}", "--error-file", "errors/{rank}"))


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class OneHost(Case):
    def setUp(self):
        super().setUp()
        for name, text, mode in (("plain", "", 0o644), ("odd", "#!/no/such/interpreter\n", 0o755)):
            (self.dir / name).write_text(text)
            (self.dir / name).chmod(mode)

    def assert_told(self, result, code, said):
        self.assert_exit(result, code)
        self.assertIn(said, result.stderr.decode())

    def assert_all_stays(self, options, job, code, said):
        for name in ("logs", "dirs"):
            shutil.rmtree(self.dir / name, ignore_errors=True)
        self.assert_exit(self.run_dlaunch("-n", 2, "--oversubscribe", *options, *sh("echo old; echo old > old; cp /bin/true p$RANK_ID && mv p$RANK_ID prog")), 0)
        before = contents(self.dir)
        result = self.run_dlaunch("-n", 2, "--oversubscribe", *options, *job)
        self.assert_told(result, code, said)
        self.assertEqual(contents(self.dir), before)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_missing_program_changes_no_file(self):
        for job, code, said in ((["./no-such"], 127, 'program "./no-such": not found on'),
                                (["no-such-program"], 127, 'program "no-such-program": not found'),
                                ([self.dir / "plain"], 126, "Permission denied"),
                                ([self.dir / "odd"], 127, "missing interpreter /no/such/interpreter"),
                                (["true", ":", "-n", 1, "./no-such"], 127, 'program "./no-such": not found')):
            for options in LOGS:
                with self.subTest(job=job, options=options):
                    self.assert_all_stays(options, job, code, said)

    @promise(ENDS, LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES))
    def test_fifo_as_a_program_changes_no_file(self):
        os.mkfifo(self.dir / "fifo", 0o755)
        for options in (*LOGS[:2], ()):
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 1, *options, "./fifo", timeout=10)
                self.assert_told(result, 126, "fifo")
                self.assertFalse((self.dir / "logs").exists())

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES))
    def test_missing_working_directory_changes_no_file(self):
        for options in LOGS[:3]:
            with self.subTest(options=options):
                absolute = [self.dir / option if str(option)[0] in "lo" else option for option in options]
                self.assert_all_stays(absolute, ["--wdir", self.dir / "nowhere", "true"], 127, "cannot enter the working directory")

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, STAGING))
    def test_missing_working_directory_above_rank_directories(self):
        for job, error in (["true"], 127), (["./no-such"], 127), (["--stage", "odd", "./odd"], 127):
            for place, code, said in (("nowhere", error, "No such file"), ("odd", 126, "Not a directory")):
                with self.subTest(job=job, place=place):
                    self.assert_all_stays(("--rank-dir", "{rank}"), ["--wdir", self.dir / place, *job], code, f"cannot enter the working directory {self.dir}/{place}: {said}")
                    self.assertFalse((self.dir / "nowhere").exists())

    @promise(NAMES_FIRST, mode=(START, STAGING))
    def test_missing_working_directory_of_one_program_above_rank_directories(self):
        """The job cannot run with the other ranks: a host cannot create all its rank directories."""
        (self.dir / "here").mkdir()
        for options in ((), ("--fake-hosts", 2), ("--restarts", 1), ("--log-dir", self.dir / "logs")):
            for place, code in (("nowhere", 127), ("odd", 126)):
                with self.subTest(options=options, place=place):
                    result = self.run_dlaunch("--on-failure", "continue", "--rank-dir", "{rank}", *options, "-n", 1, "--wdir", self.dir / "here", "true",
                                              ":", "-n", 1, "--wdir", self.dir / place, "true")
                    self.assert_told(result, code, f"rank 1 (host {'fake2' if '--fake-hosts' in options else os.uname().nodename}) did not start: cannot enter the working directory {self.dir}/{place}")
                    self.assertEqual(os.listdir(self.dir / "here"), [])
                    self.assertFalse((self.dir / "logs").exists())

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_file_that_is_no_program_changes_no_file(self):
        (self.dir / "text").write_text("echo no first line\n")
        (self.dir / "none").touch()
        for name in ("text", "none"):
            (self.dir / name).chmod(0o755)
            for options in LOGS:
                with self.subTest(name=name, options=options):
                    self.assert_all_stays(options, [self.dir / name], 126, "Exec format error")
        dirs = ("--rank-dir", "dirs/{rank}")
        for name, why in (("text", "Exec format error"), ("none", "Exec format error"), ("plain", "Permission denied")):
            for program in (f"./{name}", self.dir / f"dirs/0/{name}"):
                with self.subTest(name=name, program=program):
                    self.assert_all_stays(dirs, ["--stage", name, program], 126, why)
        (self.dir / "link").mkdir()
        shutil.copy("/bin/true", self.dir / "link" / "true")
        (self.dir / "link" / "alias").symlink_to("true")
        for program in ("./link/true", "./link/alias"):
            self.assert_exit(self.run_dlaunch(*dirs, "--stage", "link", "-n", 1, program), 0)

    def test_program_of_an_earlier_job_in_the_rank_directory_is_missing(self):
        for name in ("./prog", "../0/prog"):
            self.assert_all_stays(("--rank-dir", "dirs/{rank}"), [name], 127, "use --stage to copy the program")
        self.assert_all_stays(("--rank-dir", "dirs/{rank}"), [self.dir / "dirs/0/prog"], 127, "not found on")
        logs = ("--keep-logs", 1, "--log-dir", "logs", "--rank-dir", "logs/{rank}")
        self.assert_all_stays(logs, [self.dir / "logs/1/prog"], 127, "not found on")

    def test_program_in_a_rank_directory_is_found(self):
        (self.dir / "bin").mkdir()
        (self.dir / "bin" / "prog").write_text("#!/bin/sh\necho ran\n")
        (self.dir / "bin" / "prog").chmod(0o755)
        (self.dir / "alias").symlink_to(self.dir)
        (self.dir / "link").mkdir()
        (self.dir / "link" / "tools").symlink_to(self.dir / "bin")
        for name in ("./bin/prog", "../../bin/prog", self.dir / "dirs/0/bin/prog", self.dir / "alias/dirs/0/bin/prog", "link/tools/prog"):
            with self.subTest(name):
                self.assertEqual(self.assert_succeeds("-n", 1, "--rank-dir", "dirs/{rank}", "--stage", "bin,link", name), b"ran\n")

    def test_job_that_runs_without_a_missing_program_changes_its_files(self):
        options = ("--log-dir", "logs", "--on-failure", "continue")
        result = self.run_dlaunch(*options, "-n", 1, "echo", "ran", ":", "-n", 1, "./no-such")
        self.assert_told(result, 127, 'program "./no-such": not found')
        self.assertEqual((self.dir / "logs/1/rank.0/stdout").read_text(), "ran\n")


class Names(Case):
    """Names of one file, also through links."""

    def setUp(self):
        super().setUp()
        for name in ("real", "conf"):
            (self.dir / name).mkdir()
        (self.dir / "real" / "x").write_text("old")
        (self.dir / "conf" / "a").write_text("a")
        (self.dir / "alias").symlink_to("real")
        (self.dir / "dangling").symlink_to("real/new")
        (self.dir / "hf").write_text("localhost slots=2\n")
        (self.dir / "ef").write_text("A=1\n")
        (self.dir / "rf").write_text("rank 0=localhost slot=0\n")
        (self.dir / "c.toml").write_text("grace = 3\n")
        (self.dir / "prog").write_text("#!/bin/sh\n")
        (self.dir / "prog").chmod(0o755)
        os.link(self.dir / "hf", self.dir / "hard")

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_two_names_of_one_file_are_rejected(self):
        before = contents(self.dir)
        for args in (("--stdout-file", "real/x", "--report", "alias/x"), ("--stdout-file", "real/new", "--report", "alias/new"),
                     ("--stdout-file", "real/a/b", "--report", "alias/a/b"), ("--stdout-file", "real/new", "--report", "dangling"),
                     ("--stdout-file", "real/x", "--stderr-file", "alias/x"), ("--junit", "real/x", "--report-pid", "alias/x"),
                     ("--error-file", "real/x", "--report", "alias/x"), ("--log-dir", "real", "--report", "alias/1/rank.0/stdout"),
                     ("--hostfile", "hf", "--report", "hf"), ("--hostfile", "hf", "--stdout-file", "hard"),
                     ("--env-file", "ef", "--report", "ef"), ("--rankfile", "rf", "--report", "rf"),
                     ("--config", "c.toml", "--report", "c.toml"),
                     ("--rank-dir", "r{rank}", "--stage", "prog", "--stdout-file", "prog")):
            with self.subTest(args=args):
                result = self.run_dlaunch(*args, "-n", 1, "true")
                self.assert_exit(result, 2)
                self.assertRegex(result.stderr, b"conflicts with .*: (both write|the job reads)")
                self.assertEqual(contents(self.dir), before)
        result = self.run_dlaunch("--report", "prog", "-n", 1, "./prog")
        self.assert_exit(result, 2)
        self.assertEqual(contents(self.dir), before)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_file_below_a_link_to_a_directory_that_the_start_changes_is_rejected(self):
        for options, names in ((("--rank-dir", "real/r{rank}"), ("--report", "--stdout-file", "--error-file", "--junit")),
                               (("--keep-logs", 1, "--log-dir", "real/logs"), ("--report", "--error-file", "--report-pid"))):
            self.assert_exit(self.run_dlaunch(*options, "-n", 1, *sh("echo old > old")), 0)
            (self.dir / "old").unlink(missing_ok=True)
            before = contents(self.dir)
            for name in names:
                for below in ("r0/x", "logs/x", "logs.1/x"):
                    if below.startswith("r0") == (options[0] == "--rank-dir"):
                        with self.subTest(options=options, name=name, below=below):
                            result = self.run_dlaunch(*options, name, f"alias/{below}", "-n", 1, "true")
                            self.assert_exit(result, 2)
                            self.assertRegex(result.stderr, b"conflicts with .*: the start of the job re(moves|names)")
                            self.assertEqual(contents(self.dir), before)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_input_in_a_directory_that_the_start_changes_is_rejected(self):
        for options, place in ((("--rank-dir", "real/r{rank}"), "r0"), (("--keep-logs", 1, "--log-dir", "real/logs"), "logs/1/rank.0")):
            self.assert_exit(self.run_dlaunch(*options, "-n", 1, *sh("cp $0/hf $0/ef $0/rf $0/c.toml $0/prog . 2>/dev/null || :"), self.dir), 0)
            for name in ("hf", "ef", "rf", "c.toml", "prog"):
                shutil.copy(self.dir / name, self.dir / "real" / place)
            before = contents(self.dir)
            for above in ("real", "alias"):
                inputs = [("--hostfile", "hf"), ("--env-file", "ef"), ("--rankfile", "rf"), ("--config", "c.toml"), ("--ssh-identity", "hf"), ("--agent-path", "hf")]
                inputs += [("--stage", "prog")] if options[0] == "--rank-dir" else []
                for option, name in inputs:
                    with self.subTest(options=options, option=option, above=above):
                        result = self.run_dlaunch(*options, option, self.dir / above / place / name, "-n", 1, "true")
                        self.assert_exit(result, 2)
                        self.assertRegex(result.stderr.decode(), f"conflicts with \"?/.*{place}/{name}.*the job reads this file, and the start of the job re")
                        self.assertEqual(contents(self.dir), before)
        result = self.run_dlaunch("--rank-dir", "real/r{rank}", "-n", 1, self.dir / "alias/r0/prog")
        self.assert_exit(result, 2)
        self.assertEqual(contents(self.dir), before)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES))
    def test_output_in_place_of_a_key_or_an_agent_is_rejected(self):
        before = contents(self.dir)
        for option in ("--report", "--stdout-file", "--junit"):
            for given in (("--agent-path", self.dir / "hf"), ("--ssh-identity", self.dir / "hf")):
                self.assert_reads(self.run_dlaunch(option, "hard", *given, "-H", "no.such.host", "-n", 1, "true"))
        (self.dir / "key").write_text("a key of more than 32 characters for the nodes\n")
        (self.dir / "key").chmod(0o600)
        before = contents(self.dir)
        node = ("--same-line", "--nodes", 1, "--node-rank", 0, "--rendezvous", "127.0.0.1:4999", "--key-file", "key")
        self.assert_reads(self.run_dlaunch(*node, "--report", "key", "-n", 1, "true"))
        self.assertEqual(contents(self.dir), before)

    def assert_reads(self, result):
        self.assert_exit(result, 2)
        self.assertIn(b"the job reads this file, and would overwrite the same file", result.stderr)

    def bash(self, line, folder=None):
        """Runs the line without stdin; $0 is dlaunch. stderr may be a file of the line."""
        return subprocess.run(["bash", "-c", f"exec </dev/null; {line}", support.DLAUNCH], cwd=folder or self.dir, env=self.env, capture_output=True,
                              timeout=support.TIMEOUT, check=False)

    def assert_refused(self, line, file, said, folder=None):
        """dlaunch refuses the line, and the file has its old text, and perhaps the message."""
        folder = folder or self.dir
        with self.subTest(line=line, folder=folder):
            (folder / file).write_text("localhost\n")
            result = self.bash(line, folder)
            after = (folder / file).read_text()
            self.assertEqual((result.returncode, after.partition("dlaunch: ")[0]), (2, "localhost\n"))
            self.assertRegex(result.stderr.decode() + after, said)

    def shared_memory(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="dlaunch-refused."))
        self.addCleanup(shutil.rmtree, folder)
        return folder

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES))
    def test_output_in_place_of_an_own_stream_is_rejected(self):
        for folder in (self.dir, self.shared_memory()):
            for option in ("--report", "--junit", "--report-pid", "--stdout-file", "--stderr-file"):
                for redirection, stream in (("< x", "stdin"), (">> x", "stdout"), ("2>> x", "stderr"), (">> x 2>&1", "stdout")):
                    self.assert_refused(f'"$0" -n 1 {option} x sh -c "echo out; echo err >&2" {redirection}', "x",
                                        rf"{option} conflicts with .*/x: dlaunch has this file as {stream}, and would overwrite the same file as .*/x", folder)
            self.assert_refused('"$0" -n 1 --restarts 1 --report x true < x', "x", "as stdin", folder)
        for options, said in (("--stderr-file x --junit /dev/fd/3", "--junit conflicts with --stderr-file: both write the same file, as .*/dev/fd/3 and .*/x"),
                              ("--stdout-file x --report-pid /dev/fd/3", "--report-pid conflicts with --stdout-file"),
                              ("--report /dev/fd/3 --junit /dev/fd/4", "both write the same file"), ("--hostfile /dev/fd/3 --report x", "the job reads this file"),
                              ("--report /dev/fd/3 >> x", "as stdout")):
            self.assert_refused(f'"$0" -n 1 {options} true 3<>x 4<>x', "x", said)
        self.assert_refused('"$0" -n 1 --restarts 1 --stdout-file x false >> x.round.1', "x.round.1", "as stdout")

    @promise(LOSES_NOTHING, mode=(START, FILES))
    def test_output_in_the_open_file_of_an_own_stream_is_written(self):
        for line in ('--report /dev/stdout echo ran > x', '--report /dev/stderr echo ran > x 2>&1', '--report /dev/fd/3 echo ran 3>> x >> x',
                     '--stdout-file x:append --junit /dev/fd/3 echo ran 3>> x', '--stdout-file x:append echo ran >> x 2>> x',
                     '--stdout-file /dev/stdout --stderr-file /dev/stderr sh -c "echo ran; echo err >&2" > x 2>&1'):
            with self.subTest(line):
                (self.dir / "x").unlink(missing_ok=True)
                self.assertEqual(self.bash(f'"$0" -n 1 {line}').returncode, 0)
                self.assertIn("ran\n", (self.dir / "x").read_text())

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_own_stream_or_descriptor_in_a_directory_that_the_start_changes_is_rejected(self):
        self.env["DLAUNCH_CONFIG"] = ""
        for folder in (self.dir, self.shared_memory()):
            for options, place in (("--rank-dir 'd{rank}'", "d0"), (f"--rank-dir '{folder}/d{{rank}}'", "d0"), ("--log-dir lg --keep-logs 1", "lg"),
                                   ("--log-dir lg --keep-logs 1", "lg.1")):
                for _ in range(2):
                    self.assertEqual(self.bash(f'"$0" -n 1 {options} true', folder).returncode, 0)
                x = f"{place}/x"
                for redirection, stream in ((f"< {x}", "stdin"), (f">> {x}", "stdout"), (f"2>> {x}", "stderr"), (f"--restarts 1 true < {x}", "stdin"),
                                            (f"--stdin none true < {x}", "stdin")):
                    self.assert_refused(f'"$0" -n 1 {options} {"" if "true" in redirection else "true"} {redirection}', x,
                                        f"conflicts with .*{x}: dlaunch has this file as {stream}, and the start of the job re(moves|names)", folder)
                for option in ("--hostfile", "--default-hostfile", "--env-file", "--config", "--rankfile", "--app", "--ssh-identity", "--agent-path"):
                    text = {"--env-file": "A=1", "--config": "grace = 3", "--rankfile": "rank 0=localhost slot=0", "--app": "true"}.get(option, "localhost")
                    for name, opened in (("/dev/fd/3", f"3< {x}"), (f"/proc/self/fd/3/{x}", "3< .")):
                        (folder / x).write_text(text)
                        with self.subTest(options=options, option=option, name=name, folder=folder):
                            result = self.bash(f'"$0" {options} {option} {name} {"" if option == "--app" else "true"} {opened}', folder)
                            self.assertEqual(result.returncode, 2, result.stderr)
                            self.assertIn(b"the job reads this file, and the start of the job re", result.stderr)
                            self.assertEqual((folder / x).read_text(), text)
        for variable in ("DLAUNCH_CONFIG=/dev/fd/3", "PBS_JOBID=1 PBS_NODEFILE=d0/x"):
            (self.dir / "d0/x").write_text("# localhost\n" if "CONFIG" in variable else "localhost\n")
            result = self.bash(f"{variable} \"$0\" -n 1 --rank-dir 'd{{rank}}' true 3< d0/x")
            self.assertEqual((result.returncode, (self.dir / "d0/x").exists()), (2, True), result.stderr)

    def test_directory_that_depends_on_the_process_is_rejected(self):
        for options in (("--rank-dir", "/proc/self/cwd/d{rank}"), ("--rank-dir", "/dev/fd/3/d{rank}"), ("--wdir", "/proc/self/cwd", "--rank-dir", "d{rank}"),
                        ("--error-file", "/proc/self/cwd/e{rank}")):
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 1, *options, "touch", "/proc/self/cwd/ran")
                self.assert_exit(result, 2)
                self.assertIn(f"{options[-2]}: invalid path below /proc or /dev/fd: these names have other meanings in other processes".encode(), result.stderr)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES))
    def test_spelling_of_a_file_for_both_streams(self):
        for one, other in (("y", "./y"), ("./y", "y"), ("real//y", "real/./y"), ("y", self.dir / "y")):
            with self.subTest(one=one, other=other):
                self.assert_exit(self.run_dlaunch("--stdout-file", one, "--stderr-file", other, "-n", 1, *sh("echo out; echo err >&2")), 0)
                self.assertEqual(sorted((self.dir / one).read_bytes().split()), [b"err", b"out"])
        (self.dir / "fd").mkdir()
        for one, other in (("real/../y", "y"), (f"/proc/self/root{self.dir}/y", "y"), ("/proc/self/cwd/fd/y", "fd/y")):
            with self.subTest(one=one, other=other):
                result = self.run_dlaunch("--stdout-file", one, "--stderr-file", other, "-n", 1, "true")
                self.assert_exit(result, 2)
                self.assertIn(b"both write the same file", result.stderr)

    @promise(LOSES_NOTHING, mode=(START, FILES))
    def test_two_outputs_in_one_file_of_shared_memory_are_rejected(self):
        path = f"/dev/shm/dlaunch-refused.{os.getpid()}"
        result = self.run_dlaunch("--report", path, "--stdout-file", path, "-n", 1, "true")
        self.assert_exit(result, 2)
        self.assertIn(f"both write {path}".encode(), result.stderr)

    @promise(LOSES_NOTHING, mode=(START, FILES))
    def test_output_in_place_of_a_program_in_path_is_rejected(self):
        tools = self.dir / "tools"
        tools.mkdir()
        shutil.copy("/bin/true", tools / "tool")
        before = (tools / "tool").read_bytes()
        self.env["PATH"] = f"{tools}:{self.env['PATH']}"
        for option in ("--report", "--junit", "--stdout-file", "--report-pid"):
            with self.subTest(option):
                result = self.run_dlaunch("-n", 1, option, "tools/tool", "tool")
                self.assert_exit(result, 2)
                self.assertIn("the job runs this file", result.stderr.decode())
                self.assertEqual((tools / "tool").read_bytes(), before)

    def test_files_with_other_names_are_written(self):
        for args in (("--stdout-file", "real/x", "--stderr-file", "real/x"), ("--stdout-file", "alias/y", "--report", "real/z"),
                     ("--stdout-file", "/dev/null", "--stderr-file", "/dev/null"), ("--rank-dir", "r{rank}", "--stage", "conf", "--stdout-file", "conf/b"),
                     ("--hostfile", "hf", "--report", "real/report"),
                     ("--rank-dir", "real/r{rank}", "--stdout-file", "real/r{rank}/out"), ("--rank-dir", "alias/q{rank}", "--report", "real/q"),
                     ("--keep-logs", 1, "--log-dir", "real/logs", "--report", "alias/logs.x")):
            with self.subTest(args=args):
                self.assert_exit(self.run_dlaunch(*args, "-n", 1, "true"), 0)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=STAGING)
    def test_staged_file_in_place_of_an_error_file_is_rejected(self):
        options = ("-n", 2, "--oversubscribe", "--rank-dir", "r{rank}")
        self.assert_exit(self.run_dlaunch(*options, *sh("echo old > old")), 0)
        before = contents(self.dir)
        for name in ("r{rank}/conf/a", "r{rank}/conf/a/b"):
            with self.subTest(name):
                result = self.run_dlaunch(*options, "--stage", "conf", "--error-file", name, "true")
                self.assert_exit(result, 2)
                self.assertIn(b"--stage: conf/a: dlaunch writes a file with this name", result.stderr)
                self.assertEqual(contents(self.dir), before)

    @promise(LOSES_NOTHING, mode=STAGING)
    def test_file_of_the_kernel_is_staged_with_its_bytes(self):
        result = self.run_dlaunch("--rank-dir", "r{rank}", "--stage", "/proc/version,/sys/kernel/mm/transparent_hugepage/enabled", "-n", 1, "true")
        self.assert_exit(result, 0)
        for name in ("/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"):
            with open(name, "rb") as file:
                self.assertEqual((self.dir / "r0" / os.path.basename(name)).read_bytes(), file.read())

    @promise(LOSES_NOTHING, mode=STAGING)
    def test_full_disk_during_staging_is_told_with_the_removed_files(self):
        disk = self.mount_small_disk()
        (self.dir / "large").write_bytes(os.urandom(32 << 20))
        options = ("--rank-dir", disk / "r{rank}", "-n", 1)
        self.assert_exit(self.run_dlaunch(*options, *sh("echo old > old")), 0)
        result = self.run_dlaunch(*options, "--stage", "large", "true")
        self.assert_exit(result, 125)
        self.assertIn(b"No space left on device; dlaunch has already removed the files of earlier jobs from the rank directories of this host", result.stderr)


class SeveralHosts(HostsCase):
    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(START, FILES, STAGING))
    def test_program_that_is_missing_on_one_host_changes_no_file(self):
        options = ("-H", "node1,node2", "-wdir", "/root", "--log-dir", self.dir / "logs", "--rank-dir", "run/{rank}")
        self.assert_exit(self.run_dlaunch(*options, *sh("echo old; touch old")), 0)
        before = contents(self.dir / "logs")
        self.host(1).sh("cp /bin/true /root/prog")
        result = self.run_dlaunch(*options, "/root/prog")
        self.assert_told(result, 127, 'program "/root/prog": not found on node2')
        self.assertEqual(contents(self.dir / "logs"), before)
        self.assertEqual([self.host(n + 1).sh(f"ls /root/run/{n}") for n in range(2)], ["old\n"] * 2)


if __name__ == "__main__":
    support.main()
