"""Tests --output-filename: Open MPI's layout and templates, when files are created, and errors."""
import os
import re
import shutil
import socket
import subprocess
import time

import support
from promises import BAD_DISK, ENDS, FAILURE, FILES, LOSES_NOTHING, NAMES_FIRST, START, promise
from support import Case, sh


class Layout(Case):
    def tree(self, below="logs"):
        base = self.dir / below
        return {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}

    def test_layout_and_padding_of_open_mpi(self):
        for ranks, width in ((9, 1), (10, 2), (100, 3)):
            with self.subTest(ranks=ranks):
                out = self.assert_succeeds("-n", ranks, "--oversubscribe", "--output-filename", f"logs{ranks}",
                                           *sh("echo $RANK_ID"))
                files = {f"1/rank.{n:0{width}}/{stream}": b"%d\n" % n if stream == "stdout" else b""
                         for n in range(ranks) for stream in ("stdout", "stderr")}
                self.assertEqual(self.tree(f"logs{ranks}"), files)
                self.assertEqual(sorted(map(int, out.split())), list(range(ranks)))

    def test_directives_choose_folder_and_copy(self):
        for directives, where, shown in (("nojobid", "", True), ("nocopy", "1/", False),
                                         ("nojobid,nocopy", "", False), ("nocopy,nojobid", "", False)):
            with self.subTest(directives=directives):
                name = directives.replace(",", "-")
                result = self.run_dlaunch("-n", 2, "--output-filename", f"{name}:{directives}",
                                          *sh("echo out; echo err >&2"))
                self.assert_exit(result, 0)
                self.assertEqual(self.tree(name), {f"{where}rank.{n}/std{s}": b"%s\n" % s.encode()
                                                   for n in (0, 1) for s in ("out", "err")})
                self.assertEqual((result.stdout, result.stderr), (b"out\n" * 2, b"err\n" * 2) if shown else (b"", b""))

    def test_unknown_directive_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--output-filename", "logs:nocpoy", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"nocpoy", result.stderr)

    def test_template_names_one_file_per_rank(self):
        host = os.uname().nodename
        self.assert_succeeds("-n", 2, "--output-filename", "logs/{host}/{rank}.log:nocopy", *sh("echo out; echo err >&2"))
        tree = self.tree()
        self.assertEqual(sorted(tree), [f"{host}/0.log", f"{host}/1.log"])
        for content in tree.values():
            self.assertEqual(sorted(content.splitlines()), [b"err", b"out"])

    def test_template_with_stream_names_one_file_per_stream(self):
        self.assert_succeeds("-n", 2, "--output-filename", "logs/{rank}.{stream}:nocopy", *sh("echo $RANK_ID"))
        self.assertEqual(self.tree(), {"0.stdout": b"0\n", "0.stderr": b"", "1.stdout": b"1\n", "1.stderr": b""})

    def test_job_in_a_template_is_the_job_id(self):
        for options in (["--output-filename", "logs/{rank}.{job}"], ["--stdout-file", "logs/{rank}.{job}"],
                        ["--fake-hosts", "2x1", "--output-filename", "logs/{rank}.{job}:nocopy"]):
            with self.subTest(options=options):
                shutil.rmtree(self.dir / "logs", ignore_errors=True)
                for _ in range(2):
                    self.assert_succeeds("-n", 2, *options, *sh("echo $DLAUNCH_JOB_ID"))
                tree = self.tree()
                self.assertEqual(len(tree), 4)
                for name, content in tree.items():
                    self.assertEqual(name.partition(".")[2], content.decode().strip())
        self.assert_succeeds("-n", 1, "--error-file", "{rank}.{job}", *sh('test "${TORCHELASTIC_ERROR_FILE##*.}" = $DLAUNCH_JOB_ID'))

    def test_template_with_one_file_for_two_ranks_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--output-filename", "logs/{host}.log", *sh(": > ran"))
        self.assert_exit(result, 2)
        self.assertIn(b"{rank}", result.stderr)
        self.assertFalse((self.dir / "ran").exists())

    def test_stdout_file_of_no_rank_is_not_created(self):
        for options in ((), ("--rank-dir", "dir")):
            result = self.run_dlaunch("--stdout-file", "log:local=5", *options, "-n", 1, "true")
            self.assert_exit(result, 0)
            self.assertEqual(result.stderr, b"dlaunch: note: --stdout-file: no rank has the local rank 5\n")
            self.assertFalse((self.dir / "log").exists())

    def test_stdout_file_of_one_rank_is_appended(self):
        for _ in range(2):
            out = self.assert_succeeds("-n", 2, "--stdout-file", "logs/{rank}:local=1:append", *sh("echo $RANK_ID"))
            self.assertEqual(out, b"0\n")
        self.assertEqual(self.tree(), {"1": b"1\n1\n"})
        for marks in (":append:copy", ":copy:append"):
            out = self.assert_succeeds("-n", 2, "--stdout-file", f"logs/{{rank}}{marks}", *sh("echo $RANK_ID"))
            self.assertEqual(sorted(out.split()), [b"0", b"1"])
        self.assertEqual(self.tree(), {"0": b"0\n0\n", "1": b"1\n1\n1\n1\n"})

    def test_modes_of_folders_and_files(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.assert_succeeds("-n", 2, "--output-filename", "logs", "true")
        for path in ("logs", "logs/1", "logs/1/rank.1"):
            self.assertEqual((self.dir / path).stat().st_mode & 0o777, 0o750, path)
        self.assertEqual((self.dir / "logs/1/rank.1/stdout").stat().st_mode & 0o777, 0o644)

    def test_earlier_files_are_truncated(self):
        for options in "logs", "logs:nocopy":
            with self.subTest(options=options):
                self.run_dlaunch("-n", 3, "--output-filename", options, "seq", 1000)
                self.assert_succeeds("-n", 2, "--output-filename", options, "echo", "x")
                self.assertEqual(self.tree()["1/rank.1/stdout"], b"x\n")
                # Open MPI keeps the file of a higher rank, too.
                self.assertEqual(len(self.tree()["1/rank.2/stdout"].split()), 1000)

    @promise(LOSES_NOTHING, mode=(FILES, FAILURE))
    def test_files_of_the_failed_rank_are_synced_to_disk(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        subprocess.run(["strace", "-ff", "-y", "-o", "calls", "-e", "trace=fdatasync", support.DLAUNCH, "-n", "2",
                        "--output-filename", "logs", *sh("[ $RANK_ID = 1 ] || exec sleep 9; echo why >&2; exit 3")],
                       cwd=self.dir, env=self.env, capture_output=True, check=False)
        # One file per process, so that no call is split.
        calls = "".join(path.read_text() for path in self.dir.glob("calls.*"))
        synced = re.findall(r"fdatasync\(\d+<.*/logs/(.*)>\) += 0", calls)
        self.assertEqual(synced, ["1/rank.1/stdout", "1/rank.1/stderr"])

    def test_overwritten_files_are_reported(self):
        self.run_dlaunch("-n", 3, "--output-filename", "logs", "echo", "x")
        result = self.run_dlaunch("-v", "-n", 2, "--output-filename", "logs", "true")
        told = f" overwrote 2 files of an earlier job, such as {self.dir}/logs/1/rank.0/stdout; last written 20".encode()
        self.assertIn(told, result.stderr)
        self.assertNotIn(b"overwrote", self.run_dlaunch("-v", "-n", 2, "--output-filename", "logs", "true").stderr)
        self.assert_succeeds("-n", 2, "--output-filename", "logs", "echo", "quiet")

    def test_earlier_logs_are_kept(self):
        for run in range(1, 6):
            self.assert_succeeds("-n", 1, "--keep-logs", 2, "--output-filename", "logs/", "echo", run)
        kept = {path.name: (path / "1/rank.0/stdout").read_text() for path in self.dir.glob("logs*")}
        self.assertEqual(kept, {"logs": "5\n", "logs.1": "4\n", "logs.2": "3\n"})

    def test_logs_that_cannot_be_kept_are_not_overwritten(self):
        (self.dir / "elsewhere").mkdir()
        (self.dir / "elsewhere/mine").write_text("mine")
        (self.dir / "logs").symlink_to("elsewhere")
        result = self.run_dlaunch("-n", 1, "--keep-logs", 1, "--output-filename", "logs", *sh(": > ran"))
        self.assert_exit(result, 2)
        self.assertIn(f"--keep-logs: cannot keep {self.dir}/logs: Not a directory".encode(), result.stderr)
        (self.dir / "logs").unlink()
        (self.dir / "logs").mkdir()
        (self.dir / "logs.1").symlink_to("elsewhere")
        result = self.run_dlaunch("-n", 1, "--keep-logs", 1, "--output-filename", "logs", *sh(": > ran"))
        self.assert_exit(result, 2)
        self.assertEqual((self.dir / "elsewhere/mine").read_text(), "mine")
        self.assertEqual(list((self.dir / "logs").iterdir()), [])
        self.assertFalse((self.dir / "ran").exists())

    def test_logs_that_cannot_be_renamed_leave_all_kept_logs(self):
        disk = self.mount_small_disk()
        for mounted in "logs", "logs.1", "logs.2":
            with self.subTest(mounted):
                for name in "logs", "logs.1", "logs.2":
                    (self.dir / name).mkdir()
                    (self.dir / name / "file").write_text(name)
                subprocess.run(["mount", "--bind", disk, self.dir / mounted], check=True)
                try:
                    (self.dir / mounted / "file").write_text(mounted)
                    result = self.run_dlaunch("-n", 1, "--keep-logs", 2, "--output-filename", "logs", *sh(": > ran"))
                    self.assert_exit(result, 2)
                    self.assertIn(b"Device or resource busy", result.stderr)
                    kept = {path.name: (path / "file").read_text() for path in self.dir.glob("*logs*")}
                    self.assertEqual(kept, {name: name for name in ("logs", "logs.1", "logs.2")})
                finally:
                    subprocess.run(["umount", "-l", self.dir / mounted], check=True)
                for path in self.dir.glob("*logs*"):
                    shutil.rmtree(path)

    def test_merged_streams_have_one_file(self):
        for copy in "", ":nocopy":
            with self.subTest(copy=copy):
                name = f"logs{len(copy)}"
                self.assert_succeeds("-n", 2, "--merge-stderr-to-stdout", "--output-filename", name + copy,
                                     *sh("echo a; echo b >&2; echo c"))
                self.assertEqual(self.tree(name), {f"1/rank.{n}/stdout": b"a\nb\nc\n" for n in (0, 1)})

    def test_output_of_a_terminal_has_one_file(self):
        self.assert_succeeds("-n", 2, "--pty", "--stdin", "none", "--output-filename", "logs", *sh("echo a; echo b >&2"))
        self.assertEqual(self.tree(), {f"1/rank.{n}/stdout": b"a\nb\n" for n in (0, 1)})

    @promise(LOSES_NOTHING, mode=FILES)
    def test_files_are_complete_with_labels_on_the_console(self):
        blobs = []
        for rank in range(3):
            blobs.append(os.urandom(2 << 20))
            (self.dir / f"blob.{rank}").write_bytes(blobs[-1])
        self.assert_succeeds("-n", 3, "--label", "--ranks", "1", "--output-filename", "logs", *sh("cat blob.$RANK_ID"))
        for rank in range(3):
            self.assertTrue(self.tree()[f"1/rank.{rank}/stdout"] == blobs[rank], rank)

    def test_tags_are_written_to_the_files(self):
        self.assert_succeeds("-n", 2, "--tag-output", "--output-filename", "logs:nocopy", *sh("echo a; printf b"))
        self.assertEqual(self.tree()["1/rank.1/stdout"], b"[1,1]<stdout>:a\n[1,1]<stdout>:b")

    def test_labels_are_not_written_to_the_files(self):
        self.assert_succeeds("-n", 2, "--label", "--output-filename", "logs", "echo", "a")
        self.assertEqual(self.tree()["1/rank.1/stdout"], b"a\n")

    def test_relative_path_starts_where_dlaunch_was_started(self):
        (self.dir / "elsewhere").mkdir()
        self.assert_succeeds("-n", 1, "-wdir", "elsewhere", "--output-filename", "logs:nocopy", "pwd")
        self.assertTrue(self.tree()["1/rank.0/stdout"].endswith(b"/elsewhere\n"))

    @promise(NAMES_FIRST, mode=(FILES, FAILURE))
    def test_last_stderr_lines_of_a_failed_rank_are_shown(self):
        for options, name in (["logs"], "stderr"), (["logs:nocopy"], "stderr"), (["logs", "--pty"], "stdout"), (
                ["logs:nocopy", "--merge-stderr-to-stdout"], "stdout"):
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 2, "--output-filename", *options,
                                          *sh('[ $RANK_ID = 0 ] && exec sleep 100; echo "cannot find the data" >&2; exit 4'))
                self.assert_exit(result, 4)
                self.assertIn(b"cannot find the data", result.stderr)
                self.assertIn(b"| cannot find the data", result.stderr)
                self.assertIn(b"logs/1/rank.1/" + name.encode(), result.stderr)

    @promise(LOSES_NOTHING, mode=FILES)
    def test_jobs_that_come_at_the_same_time_keep_the_logs_of_each(self):
        """A job that was not rejected has its files, in one directory."""
        for attempt in range(8):
            folder = self.dir / str(attempt)
            folder.mkdir()
            words = [support.DLAUNCH, "-n", "2", "--keep-logs", "9", "--log-dir", "logs", "echo"]
            jobs = [subprocess.Popen([*words, f"job {job}"], cwd=folder, env=self.env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for job in range(6)]
            codes = [job.wait(support.TIMEOUT) for job in jobs]
            self.assertIn(0, codes)
            for job, code in enumerate(codes):
                own = [path for path in folder.rglob("stdout") if path.read_text() == f"job {job}\n"]
                self.assertEqual((len(own), len({path.parents[1] for path in own})), (2, 1) if code == 0 else (0, 0), (codes, own))


class Descriptors(Case):
    """Files of the ranks' output that are descriptors of dlaunch."""

    def bash(self, line, code=0):
        result = subprocess.run(["bash", "-c", line, support.DLAUNCH], cwd=self.dir, env=self.env, capture_output=True, stdin=subprocess.DEVNULL,
                                timeout=support.TIMEOUT, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    @promise(LOSES_NOTHING, mode=FILES)
    def test_process_substitution_gets_all_bytes(self):
        self.bash('"$0" -n 1 --stdout-file >(sleep 0.5; cat > got; touch end) seq 100000; while [ ! -e end ]; do sleep 0.1; done')
        self.assertEqual((self.dir / "got").read_bytes(), b"".join(b"%d\n" % n for n in range(1, 100001)))

    @promise(LOSES_NOTHING, mode=FILES)
    def test_descriptors_of_pipes_and_files(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(name):
                self.assertEqual(self.bash(f'"$0" -n 2 --oversubscribe --stdout-file {name} echo up | cat').stdout, b"up\nup\n")
                self.bash(f'(echo first; "$0" -n 1 --stdout-file {name} echo up; echo last) > all')
                self.assertEqual((self.dir / "all").read_bytes(), b"first\nup\nlast\n")
        self.assertEqual(self.bash('"$0" -n 1 --stdout-file /dev/stderr echo up').stderr, b"up\n")
        self.bash('"$0" -n 1 --restarts 1 --stdout-file /dev/fd/7 sh -c "echo round; exit \\$((1 - DLAUNCH_ROUND))" 7> all')
        self.assertEqual((self.dir / "all").read_bytes(), b"round\nround\n")

    def test_descriptor_of_a_socket(self):
        ours, its = socket.socketpair()
        with ours, its:
            self.assert_exit(self.run_dlaunch("-n", 1, "--stdout-file", "/dev/stdout", "echo", "up", stdout=its), 0)
            self.assertEqual(ours.recv(100), b"up\n")

    @promise(NAMES_FIRST, mode=(START, FILES))
    def test_descriptor_that_is_not_inherited_for_writing_is_rejected(self):
        for number, opened in (*((n, "") for n in range(3, 12)), (7, "7< /dev/null")):
            with self.subTest(number=number, opened=opened):
                said = self.bash(f'"$0" -n 1 --stdout-file /dev/fd/{number} touch ran {opened}', 2).stderr.decode()
                self.assertIn(f"cannot create /dev/fd/{number}: Bad file descriptor\ndlaunch:   use a descriptor that is open for writing when dlaunch starts", said)
        self.assertFalse((self.dir / "ran").exists())


class Rejected(Case):
    def check_refused(self, target, *says):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 2, "--output-filename", target, *sh(": > ran"))
        self.assertLess(time.monotonic() - start, 5)
        self.assert_exit(result, 2)
        self.assertFalse((self.dir / "ran").exists(), "ranks were started")
        for text in says:
            self.assertIn(text, result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 2, result.stderr)  # the error and the hint

    def test_file_in_place_of_a_directory_is_rejected(self):
        (self.dir / "logs").write_text("mine")
        self.check_refused("logs", b"/logs/1/rank.0/stdout", b"Not a directory")
        self.assertEqual((self.dir / "logs").read_text(), "mine")

    def test_directory_without_permission_is_rejected(self):
        if os.geteuid() != 0:
            (self.dir / "locked").mkdir(mode=0o500)
            return self.check_refused("locked/logs", b"Permission denied")
        self.check_refused("/proc/1/logs", b"/proc/1/logs")

    def test_empty_name_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--output-filename", ":nocopy", "true")
        self.assert_exit(result, 2)


class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.mount_small_disk()

    @promise(ENDS, LOSES_NOTHING, mode=BAD_DISK)
    def test_full_disk_is_reported_once_with_the_path(self):
        result = self.run_dlaunch("-n", 2, "--output-filename", self.disk / "logs",
                                  *sh("[ $RANK_ID = 1 ] || exec sleep 100; while echo x; do :; done"))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count(b"No space left on device"), 1, result.stderr)
        self.assertIn(b"disk/logs/1/rank.1/stdout", result.stderr)

    @promise(ENDS, mode=BAD_DISK)
    def test_rank_that_writes_the_file_itself_gets_the_error(self):
        result = self.run_dlaunch("-n", 2, "--output-filename", f"{self.disk}/logs:nocopy",
                                  *sh("[ $RANK_ID = 1 ] || exec sleep 100; while echo x; do :; done; exit 9"))
        self.assertEqual(result.returncode, 9)

    @promise(LOSES_NOTHING, mode=BAD_DISK)
    def test_on_output_error_continue_survives_a_full_disk(self):
        result = self.run_dlaunch("-n", 2, "--on-output-error", "continue", "--output-filename", self.disk / "logs",
                                  *sh("[ $RANK_ID = 1 ] && seq 100000; : > done.$RANK_ID"))
        self.assertEqual(sorted(p.name for p in self.dir.glob("done.*")), ["done.0", "done.1"])
        self.assertEqual(len(result.stdout.split()), 100000)  # the console was not full
        self.assertEqual(result.stderr.count(b"No space left on device"), 1, result.stderr)
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    support.main()
