"""Tests attacks of other users of the same machine, and of other jobs of the same user."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from promises import ATTACK, ENDS, FILES, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, QUERY, RESTARTS, SILENCE, STAGING, START, promise
from support import Case, NOBODY, TIMEOUT, main, of_process, sh, until_there, wait_until

SLEEP = [sys.executable, "-c", "import os, time; print(os.environ['DLAUNCH_JOB_ID'], flush=True); time.sleep(1000)"]
# Connects without end, and keeps up to 500 connections open. Prints a line after the first connection.
FLOOD = """
import socket, sys
kept = []
while True:
    client = socket.socket(socket.AF_UNIX)
    client.setblocking(False)
    try:
        client.connect("\\0" + sys.argv[1])
    except BlockingIOError:
        client.close()
        continue
    kept.append(client)
    if len(kept) == 1:
        print("connected", flush=True)
    if len(kept) > 500:
        kept = kept[250:]
"""


class StacksSocket(Case):
    def job(self):
        job = self.start("-n", 1, *SLEEP, stdout=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        name = job.stdout.readline().decode().strip()
        self.assertTrue(wait_until(lambda: name in self.run_dlaunch("stacks").stdout.decode().split()))
        return job, name

    def end(self, job):
        job.send_signal(signal.SIGCONT)
        job.send_signal(signal.SIGTERM)
        job.wait(TIMEOUT)

    @promise(ENDS, mode=(ATTACK, QUERY))
    def test_owner_gets_stacks_during_a_flood_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("requires root to start the processes of another user")
        job, name = self.job()
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                command = [*NOBODY, "/usr/bin/python3", "-c", FLOOD, f"dlaunch/0/{name}"]
                flood = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, cwd="/"))
                stack.callback(flood.kill)
                self.assertEqual(flood.stdout.readline(), b"connected\n")
            for _ in range(10):
                result = self.run_dlaunch("stacks", name)
                self.assert_exit(result, 0)
                self.assertIn(b"stacks of 1 rank", result.stdout)
        self.end(job)

    @promise(ENDS, mode=(SILENCE, QUERY))
    def test_stopped_launcher_with_a_full_backlog_is_reported_in_time(self):
        job, name = self.job()
        job.send_signal(signal.SIGSTOP)
        clients = []
        with contextlib.suppress(BlockingIOError):
            while True:
                client = socket.socket(socket.AF_UNIX)
                self.addCleanup(client.close)
                client.setblocking(False)
                client.connect(f"\0dlaunch/{os.geteuid()}/{name}")
                clients.append(client)
        self.assertGreater(len(clients), 3)
        start = time.monotonic()
        result = self.run_dlaunch("stacks", name)
        self.assertLess(time.monotonic() - start, 25)
        self.assert_exit(result, 2)
        self.assertIn(b"the launcher did not answer: timed out after 15 s", result.stderr)
        self.end(job)


class SharedFiles(Case):
    """Two jobs that write the same files: the second job is refused, and the output of the first job is complete."""

    def writer(self, *options):
        job = self.start(*options, "-n", 1, "sh", "-c", "echo one; read wait; echo two", stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return job

    def assert_refused(self, written, refused, *options):
        """`written`: a file of the job; `refused`: the path in the error of the second job."""
        with self.writer(*options) as job:
            self.assertTrue(wait_until(lambda: written.exists() and written.read_bytes() == b"one\n"))
            result = self.run_dlaunch(*options, "-n", 1, "echo", "other")
            self.assert_exit(result, 2)
            self.assertIn(f"cannot write {refused}: process {job.pid} writes there", result.stderr.decode())
            _, err = job.communicate(b"\n", timeout=TIMEOUT)
            self.assertEqual((job.returncode, err), (0, b""))
        self.assertEqual(written.read_bytes(), b"one\ntwo\n")
        result = self.run_dlaunch(*options, "-n", 1, "echo", "other")
        self.assert_exit(result, 0)
        self.assertEqual(written.read_bytes(), b"other\n")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_log_directory_of_another_job_is_refused(self):
        for suffix in ("", ":nocopy"):
            with self.subTest(suffix):
                logs = self.dir / f"logs{suffix[1:]}"
                self.assert_refused(logs / "1/rank.0/stdout", logs, "--output-filename", f"{logs}{suffix}")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_file_of_another_job_is_refused(self):
        for suffix in ("", ":nocopy"):
            with self.subTest(suffix):
                name = suffix[1:] + ".out"
                self.assert_refused(self.dir / f"0{name}", self.dir / f"0{name}", "--merge-stderr-to-stdout",
                                    "--output-filename", f"{self.dir}/{{rank}}{name}{suffix}")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_stdout_file_of_another_job_is_refused(self):
        self.assert_refused(self.dir / "all.out", self.dir / "all.out", "--stdout-file", self.dir / "all.out")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_directory_of_a_running_job_is_not_renamed(self):
        logs = self.dir / "logs"
        with self.writer("--output-filename", logs) as job:
            self.assertTrue(wait_until(lambda: (logs / "1/rank.0/stdout").exists()))
            self.assert_exit(self.run_dlaunch("--keep-logs", 2, "--output-filename", logs, "-n", 1, "true"), 2)
            self.assertFalse((self.dir / "logs.1").exists())
            job.communicate(b"\n", timeout=TIMEOUT)
        self.assert_exit(self.run_dlaunch("--keep-logs", 2, "--output-filename", logs, "-n", 1, "true"), 0)
        self.assertEqual((self.dir / "logs.1/1/rank.0/stdout").read_bytes(), b"one\ntwo\n")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_error_file_of_another_job_is_refused(self):
        option = ("--error-file", f"{self.dir}/error.{{rank}}")
        error = self.dir / "error.0"
        with self.start(*option, "-n", 1, "sh", "-c", "echo one > $TORCHELASTIC_ERROR_FILE; read wait",
                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            self.assertTrue(wait_until(lambda: error.exists() and error.read_bytes() == b"one\n"))
            result = self.run_dlaunch(*option, "-n", 1, "true")
            self.assert_exit(result, 2)
            self.assertIn(f"cannot create {error}: another job writes there", result.stderr.decode())
            job.communicate(b"\n", timeout=TIMEOUT)
        self.assertEqual(error.read_bytes(), b"one\n")
        self.assert_exit(self.run_dlaunch(*option, "-n", 1, "true"), 0)
        self.assertFalse(error.exists())

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_directory_above_the_files_of_a_running_job_is_not_emptied(self):
        outer = ("--rank-dir", self.dir / "outer", "-n", 1, "true")
        self.assert_exit(self.run_dlaunch(*outer), 0)
        inner = self.dir / "outer/inner"
        for option, used in ((("--rank-dir", inner), "inner/.dlaunch-rank-dir"), (("--output-filename", f"{inner}:nojobid"), "inner"),
                             (("--stdout-file", inner), "inner"), (("--stdout-file", f"{inner}:append"), "inner"),
                             (("--error-file", inner), "inner")):
            with self.subTest(option):
                with self.writer(*option) as job:
                    self.assertTrue(wait_until((self.dir / "outer" / used).exists))
                    result = self.run_dlaunch(*outer)
                    self.assert_exit(result, 125)
                    self.assertIn(f"cannot empty {self.dir}/outer: a running job or program has locked {used}", result.stderr.decode())
                    _, err = job.communicate(b"\n", timeout=TIMEOUT)
                    self.assertEqual((job.returncode, err), (0, b""))
                self.assert_exit(self.run_dlaunch(*outer), 0)
                self.assertFalse(inner.exists())

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_job_without_a_lock_of_an_error_file_changes_no_file(self):
        self.assert_exit(self.run_dlaunch("--output-filename", "logs", "-n", 1, "echo", "old"), 0)
        (self.dir / "error.0").write_text("old failure")
        with self.writer("--error-file", self.dir / "error.1") as job:
            self.assertTrue(wait_until((self.dir / "error.1").exists))
            self.assert_exit(self.run_dlaunch("--output-filename", "logs", "--keep-logs", 1, "--error-file", "error.{rank}", "-n", 3, "true"), 2)
            job.communicate(b"\n", timeout=TIMEOUT)
        self.assertEqual((self.dir / "logs/1/rank.0/stdout").read_bytes(), b"old\n")
        self.assertEqual((self.dir / "error.0").read_text(), "old failure")
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["error.0", "logs"])

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_pid_file_of_a_running_job_is_kept(self):
        pid = self.dir / "pid"
        options = ("--report-pid", pid, "--rank-dir", "d{rank}")
        with self.writer(*options) as job:
            self.assertTrue(wait_until((self.dir / "d0/.dlaunch-rank-dir").exists))
            result = self.run_dlaunch(*options, "-n", 1, "true")
            self.assert_exit(result, 2)
            self.assertIn(f"cannot write {pid}: process {job.pid} writes there", result.stderr.decode())
            self.assertEqual(pid.read_text(), f"{job.pid}\n")
            job.communicate(b"\n", timeout=TIMEOUT)
        self.assert_exit(self.run_dlaunch(*options, "-n", 1, "true"), 0)

    def names(self):
        return sorted(path.name for path in self.dir.iterdir())

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_record_of_a_running_job_is_kept(self):
        (self.dir / "old").write_text("old")
        (self.dir / "target").write_text("old")
        (self.dir / "link").symlink_to("target")
        for name, before in (("new", None), ("old", "old"), ("link", "old")):
            record = self.dir / name
            with self.subTest(name), self.writer("--report", name, "--stdout-file", "out") as job:
                self.assertTrue(wait_until(lambda: (self.dir / "out").exists() and (self.dir / "out").read_text() == "one\n"))
                if name != "link":
                    self.assertTrue(wait_until(lambda: record.exists() and "running" in record.read_text()))
                during = self.names()
                for other in (("--report", record), ("--report", os.path.realpath(record)), ("--stdout-file", name)):
                    result = self.run_dlaunch(*other, "-n", 1, "echo", "other")
                    self.assert_exit(result, 2)
                    self.assertIn(f"process {job.pid} writes there", result.stderr.decode())
                self.assertEqual(self.names(), during)
                if name == "link":
                    self.assertEqual(record.read_text(), before)
                job.communicate(b"\n", timeout=TIMEOUT)
            self.assertEqual(json.loads(record.read_text())["ranks"][0]["stdout_bytes"], 8)
            self.assert_exit(self.run_dlaunch("--report", record, "-n", 1, "echo", "other"), 0)
            self.assertEqual(json.loads(record.read_text())["ranks"][0]["stdout_bytes"], 6)
        self.assertEqual(self.names(), ["link", "new", "old", "out", "target"])

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_first_of_several_jobs_gets_the_file(self):
        for option in ("--report", "--report-pid"):
            for before in (None, "old"):
                path = self.dir / f"{option[2:]}{before}"
                if before:
                    path.write_text(before)
                with self.subTest(path.name), contextlib.ExitStack() as stack:
                    jobs = [stack.enter_context(self.writer(option, path)) for _ in range(6)]
                    self.assertTrue(wait_until(lambda: sum(job.poll() is not None for job in jobs) == 5))
                    refused = [job for job in jobs if job.poll() is not None]
                    self.assertEqual([job.returncode for job in refused], [2] * 5)
                    for job in refused:
                        self.assertRegex(job.stderr.read().decode(), f"cannot write {path}: (process [0-9]+|another job.*) writes there")
                    [left] = [job for job in jobs if job not in refused]
                    if option == "--report-pid":
                        self.assertEqual(path.read_text(), f"{left.pid}\n")
                    left.communicate(b"\n", timeout=TIMEOUT)
                    self.assertEqual(left.returncode, 0)
                    if option == "--report":
                        self.assertEqual(json.loads(path.read_text())["exit_code"], 0)
        self.assertEqual(self.names(), ["report-pidNone", "report-pidold", "reportNone", "reportold"])

    @promise(LOSES_NOTHING, mode=(FILES, RESTARTS))
    def test_record_and_results_are_locked_in_each_round(self):
        options = ("--report", "record", "--junit", "results", "--report-pid", "pid")
        script = "[ $DLAUNCH_ROUND = 1 ] || exit 3; touch second; read wait || sleep 1000"
        job = self.start(*options, "--restarts", 1, "-n", 1, *sh(script), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with job:
            self.assertTrue(wait_until((self.dir / "second").exists))
            number = json.loads((self.dir / "record").read_text())["job_id"]
            for option, name in (("--report", "record"), ("--junit", "results"), ("--report-pid", "pid")):
                result = self.run_dlaunch(option, name, "-n", 1, "true")
                self.assert_exit(result, 2)
                self.assertIn(f"{name}: process {job.pid} writes there", result.stderr.decode())
            result = self.run_dlaunch("--output-filename", self.dir, "--keep-logs", 1, "-n", 1, "true")
            self.assert_exit(result, 2)
            job.terminate()
            job.communicate(timeout=TIMEOUT)
        self.assertEqual(json.loads((self.dir / "record").read_text())["job_id"], number)
        self.assertEqual(self.names(), ["pid", "record", "results", "second"])

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_killed_job_leaves_neither_lock_nor_file(self):
        options = ("--report", "record", "--report-pid", "pid")
        with self.writer("--rank-dir", "used") as other:
            self.assertTrue(wait_until((self.dir / "used/.dlaunch-rank-dir").exists))
            self.assert_exit(self.run_dlaunch("--report", "refused", "--stdout-file", "missing/a/", "-n", 1, "true"), 2)
            self.assertEqual(self.names(), ["used"])
            (self.dir / ".record.dlaunch").write_text("of a job on a machine that failed")
            with self.writer(*options) as job:
                self.assertTrue(wait_until((self.dir / "record").exists))
                job.kill()
                job.wait(TIMEOUT)
            self.assertTrue(wait_until(lambda: self.run_dlaunch(*options, "-n", 1, "true").returncode == 0))
            other.communicate(b"\n", timeout=TIMEOUT)
        self.assertEqual(self.names(), ["pid", "record", "used"])

    @promise(LOSES_NOTHING, mode=FILES)
    def test_devices_and_pipes_of_a_record_are_not_locked(self):
        os.mkfifo(self.dir / "fifo")
        for name in ("/dev/null", "/dev/stdout", "/dev/fd/2"):
            with self.subTest(name), self.writer("--report", name, "--report-pid", name) as job:
                result = self.run_dlaunch("--report", name, "--report-pid", name, "-n", 1, "true")
                self.assert_exit(result, 0)
                job.communicate(b"\n", timeout=TIMEOUT)
                self.assertEqual(job.returncode, 0)
        with self.writer("--report", "fifo") as job, self.writer("--report", "fifo") as other:
            with subprocess.Popen(["cat", self.dir / "fifo"], stdout=subprocess.PIPE) as reader:
                job.communicate(b"\n", timeout=TIMEOUT)
                self.assertEqual(job.returncode, 0)
                self.assertIn(b'"exit_code": 0', reader.communicate(timeout=TIMEOUT)[0])
            with subprocess.Popen(["cat", self.dir / "fifo"], stdout=subprocess.PIPE) as reader:
                other.communicate(b"\n", timeout=TIMEOUT)
                self.assertEqual(other.returncode, 0)
                reader.communicate(timeout=TIMEOUT)
        self.assertEqual(self.names(), ["fifo"])

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_refused_job_changes_no_file(self):
        for name in ("out.0", "error.0"):
            (self.dir / name).write_text("old")
        for name in ("out.1", "error.1"):
            (self.dir / name).symlink_to(f"missing-{name}")
        before = sorted(path.name for path in self.dir.iterdir())
        for held, *options in (("--stdout-file", "--stdout-file", "out.{rank}"),
                               ("--stdout-file", "--merge-stderr-to-stdout", "--output-filename", "out.{rank}:nocopy"),
                               ("--error-file", "--error-file", "error.{rank}")):
            with self.subTest(options):
                used = self.dir / options[-1].replace("{rank}", "2").removesuffix(":nocopy")
                with self.writer(held, used.name) as job:
                    self.assertTrue(wait_until(used.exists))
                    result = self.run_dlaunch(*options, "-n", 3, "true")
                    self.assert_exit(result, 2)
                    self.assertIn("writes there", result.stderr.decode())
                    job.communicate(b"\n", timeout=TIMEOUT)
                used.unlink(missing_ok=True)
                self.assertEqual(sorted(path.name for path in self.dir.iterdir()), before)
        result = self.run_dlaunch("--stdout-file", "out.{rank}", "--report", "missing/report", "-n", 2, "true")
        self.assert_exit(result, 2)
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), before)
        for name in ("out.0", "error.0"):
            self.assertEqual((self.dir / name).read_text(), "old")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_closed_directory_of_a_running_job_is_not_removed(self):
        self.dir.chmod(0o777)
        user = {"before": ("setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups")} if os.geteuid() == 0 else {}
        outer = ("--rank-dir", self.dir / "outer", "-n", 1, "true")
        self.assert_exit(self.run_dlaunch(*outer, **user), 0)
        for closed in (".", ".dlaunch-rank-dir"):
            with self.subTest(closed):
                with self.start("--rank-dir", self.dir / "outer/inner", "-n", 1, "sh", "-c",
                                f"echo data >file; chmod 000 {closed}; echo up; read wait; chmod 700 \"$PWD\"; cat file", stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **user) as job:
                    self.assertEqual(job.stdout.readline(), b"up\n")
                    self.assert_exit(self.run_dlaunch(*outer, **user), 125)
                    self.assertEqual(job.communicate(b"\n", timeout=TIMEOUT), (b"data\n", b""))

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_log_directory_above_a_running_job_is_not_renamed(self):
        log = ("--keep-logs", 1, "--output-filename", self.dir / "logs", "-n", 1, "true")
        self.assert_exit(self.run_dlaunch(*log), 0)
        with self.writer("--rank-dir", self.dir / "logs/work") as job:
            self.assertTrue(wait_until((self.dir / "logs/work/.dlaunch-rank-dir").exists))
            result = self.run_dlaunch(*log)
            self.assert_exit(result, 2)
            self.assertIn(f"while a job uses {self.dir}/logs/work/.dlaunch-rank-dir", result.stderr.decode())
            self.assertFalse((self.dir / "logs.1").exists())
            job.communicate(b"\n", timeout=TIMEOUT)
        self.assert_exit(self.run_dlaunch(*log), 0)

    def test_rounds_of_one_job_share_a_directory(self):
        result = self.run_dlaunch("--restarts", 2, "--env-for", "torchrun", "--output-filename", self.dir / "logs",
                                  "-n", 2, "sh", "-c", "[ $TORCHELASTIC_RESTART_COUNT = 2 ] || exit $((3 + TORCHELASTIC_RESTART_COUNT))")
        self.assert_exit(result, 0)

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_appended_file_is_not_emptied(self):
        log = self.dir / "log"
        for first, second in ((":append", ""), ("", ":append")):
            with self.subTest(first), self.writer("--stdout-file", f"{log}{first}") as job:
                self.assertTrue(wait_until(lambda: log.exists() and log.read_text().endswith("one\n")))
                result = self.run_dlaunch("--stdout-file", f"{log}{second}", "-n", 1, "echo", "other")
                self.assert_exit(result, 2)
                self.assertIn(f"cannot write {log}: process {job.pid} writes there", result.stderr.decode())
                job.communicate(b"\n", timeout=TIMEOUT)
            self.assertEqual(log.read_text(), "one\ntwo\n")

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_file_in_a_rank_directory_of_another_job_is_kept(self):
        outer = ("--rank-dir", self.dir / "outer")
        with self.writer(*outer) as other:
            self.assertTrue(wait_until((self.dir / "outer/.dlaunch-rank-dir").exists))
            with self.writer("--stdout-file", self.dir / "outer/log") as job:
                self.assertTrue(wait_until((self.dir / "outer/log").exists))
                other.communicate(b"\n", timeout=TIMEOUT)
                self.assert_exit(self.run_dlaunch(*outer, "-n", 1, "true"), 125)
                job.communicate(b"\n", timeout=TIMEOUT)
                self.assertEqual((self.dir / "outer/log").read_bytes(), b"one\ntwo\n")
        self.assert_exit(self.run_dlaunch(*outer, "-n", 1, "true"), 0)

    @promise(LOSES_NOTHING, mode=FILES)
    def test_appended_file_is_shared(self):
        shared = self.dir / "log"
        line = ("--as", "srun", "--open-mode=append", "-o", shared, "-n", 1)
        with self.start(*line, "sh", "-c", "echo one; sleep 1; echo two", stdin=subprocess.DEVNULL) as job:
            self.assertTrue(wait_until(lambda: shared.exists() and shared.stat().st_size > 0))
            self.assert_exit(self.run_dlaunch(*line, "echo", "other"), 0)
            job.wait(TIMEOUT)
        self.assertEqual(sorted(shared.read_text().split()), ["one", "other", "two"])


class RefusedJobs(Case):
    """A job that is refused because of a running job has not changed any file or directory before."""

    # Options of both jobs: the running job holds the lock.
    HELD = {"log directory": ("--output-filename", "held_logs"), "file": ("--output-filename", "held.{rank}"),
            "file of a stream": ("--stderr-file", "held_err"), "error file": ("--error-file", "held_error"),
            "record": ("--report", "held_record"), "file of the pid": ("--report-pid", "held_pid"),
            "rank directory": ("--rank-dir", "held_dir")}
    # Options of the second job only: files of an earlier job, and new files.
    OPTIONS = (("--output-filename", "logs"), ("--output-filename", "logs", "--keep-logs", 1), ("--output-filename", "logs:nocopy"),
             ("--output-filename", "logs", "--keep-logs", 2), ("--output-filename", "out.{rank}"), ("--stdout-file", "all.out"),
             ("--error-file", "error"), ("--report", "record"), ("--report-pid", "pid"), ("--rank-dir", "dir"),
             ("--output-filename", "new/logs"), ("--output-filename", "new/logs", "--keep-logs", 1), ("--stdout-file", "new/out"),
             ("--error-file", "new/error"), ("--report", "new_record"), ("--report-pid", "new_pid"), ("--rank-dir", "new/dir"))

    # Texts that the files of the running job have once its rank waits.
    WRITTEN = {"log directory": (("held_logs/1/rank.0/stdout", "one"), ("held_logs/1/rank.0/stderr", "two")),
               "file": (("held.0", "one"), ("held.0", "two")), "file of a stream": (("held_err", "two"),),
               "record": (("held_record", '"running"'),)}

    def has_written(self, reason):
        return all((self.dir / name).exists() and text in (self.dir / name).read_text() for name, text in self.WRITTEN.get(reason, ()))

    def tree(self):
        found = {}
        for path in sorted(self.dir.rglob("*")):
            if ".cache" in path.parts:
                continue
            facts = path.lstat()
            found[str(path.relative_to(self.dir))] = (facts.st_mode, facts.st_ino, facts.st_mtime_ns if path.is_file() else 0,
                                                      path.read_bytes() if path.is_file() else None)
        return found

    @promise(LOSES_NOTHING, mode=(FILES, ATTACK))
    def test_refused_job_changes_nothing(self):
        old = ("-n", 1, "sh", "-c", "echo old; echo failure >${TORCHELASTIC_ERROR_FILE:-/dev/null}")
        for _ in range(2):
            self.assert_exit(self.run_dlaunch("--output-filename", "logs", "--keep-logs", 2, *old), 0)
        self.assert_exit(self.run_dlaunch("--output-filename", "out.{rank}", "--report", "record", "--report-pid", "pid", *old), 0)
        self.assert_exit(self.run_dlaunch("--stdout-file", "all.out", "--error-file", "error", *old), 0)
        self.assert_exit(self.run_dlaunch("--rank-dir", "dir", "-n", 1, "sh", "-c", "echo old >file"), 0)
        for reason, held in self.HELD.items():
            with self.start(*held, "-n", 1, "sh", "-c", "echo one; echo two >&2; echo up >$UP; read wait", stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"UP": str(self.dir / "up")}) as job:
                self.assertTrue(wait_until(lambda: (self.dir / "up").exists() and self.has_written(reason)))
                for files in self.OPTIONS:
                    if held[0] == files[0] or {held[0], files[0]} <= {"--output-filename", "--stdout-file", "--stderr-file"}:
                        continue  # two options that choose the same files
                    with self.subTest(reason, files=files):
                        before = self.tree()
                        result = self.run_dlaunch(*held, *files, "-n", 1, "echo", "other")
                        self.assert_exit(result, 125 if held[0] == "--rank-dir" else 2)
                        self.assertRegex(result.stderr.decode(), "writes there|a running job uses this directory")
                        after = self.tree()
                        if held[0] == "--rank-dir" and files[0] in ("--report", "--report-pid"):
                            self.assertEqual(len(after.keys() - before.keys()), 1 if files[1].startswith("new") else 0)
                            before, after = ({name: facts for name, facts in tree.items() if name != files[1]} for tree in (before, after))
                        self.assertEqual(after, before)
                job.communicate(b"\n", timeout=TIMEOUT)
                self.assertEqual(job.returncode, 0)
                (self.dir / "up").unlink()

    def refusals(self):
        """Reasons of host "two" to refuse the directory d1, each with the context in which the reason exists."""
        @contextlib.contextmanager
        def running():
            with self.start("--rank-dir", "d1", "-n", 1, "sh", "-c", "echo kept >file; echo up; read wait", stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE) as job:
                self.assertEqual(job.stdout.readline(), b"up\n")
                yield
                job.communicate(b"\n", timeout=TIMEOUT)

        @contextlib.contextmanager
        def place(make):
            subprocess.run(["rm", "-rf", self.dir / "d1"], check=True)
            make(self.dir / "d1")
            yield

        def foreign(path):
            path.mkdir()
            (path / "file").write_text("precious")
        yield "a running job uses this directory", running
        yield "did not create it", lambda: place(foreign)
        yield "is not a directory", lambda: place(lambda path: path.write_text("precious"))
        yield "all users can write", lambda: place(lambda path: (path.mkdir(), path.chmod(0o777)))
        if os.geteuid() == 0:
            yield "belongs to another user", lambda: place(lambda path: (path.mkdir(), os.chown(path, 65534, 65534)))

    def job_on_two_hosts(self, *args, dirs="d{rank}", waits=False):
        """Host "two" answers after host "one" has prepared its directories; `waits`: when the file go exists."""
        wait = until_there(self.dir / "go") if waits else "sleep 0.7"
        (self.dir / "way").write_text(f'[ "$1" = two ] && {{ {wait}; }}; shift; exec "$@"')
        return self.start("--exec", f"sh {self.dir}/way {{host}}", "-H", "one:1,two:1", "--rank-dir", dirs, "-n", 2, *args,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(STAGING, START))
    def test_refusal_of_one_host_changes_no_host(self):
        self.assert_exit(self.run_dlaunch("--rank-dir", "d0", "-n", 1, "sh", "-c", "echo old >file"), 0)
        (self.dir / "staged").write_text("new")
        (self.dir / "way").touch()
        for text, reason in self.refusals():
            for options in ((), ("--stage", "staged"), ("--output-filename", "d{rank}/logs/{stream}")):
                if "not a directory" in text and "--output-filename" in options:
                    continue  # the launcher cannot create its file
                with self.subTest(text, options=options), reason():
                    before = self.tree()
                    job = self.job_on_two_hosts(*options, "true")
                    _, err = job.communicate(timeout=TIMEOUT)
                    self.assertEqual(job.returncode, 125, err)
                    self.assertIn(text, err.decode())
                    after = self.tree()
                    for tree in (before, after):
                        tree.pop("way")
                    self.assertEqual(after, before)
                    self.assertEqual((self.dir / "d0/file").read_text(), "old\n")

    @promise(LOSES_NOTHING, LEAVES_NOTHING, mode=(FILES, START))
    def test_host_that_cannot_be_used_changes_no_log_and_leaves_no_error_directory(self):
        old = ("-n", 1, "sh", "-c", "echo old; echo failure >${TORCHELASTIC_ERROR_FILE:-/dev/null}")
        self.assert_exit(self.run_dlaunch("--output-filename", "logs", *old), 0)
        self.assert_exit(self.run_dlaunch("--output-filename", "out.{rank}", "--error-file", "error{rank}", *old), 0)
        for options in (("--output-filename", "logs"), ("--output-filename", "logs", "--keep-logs", 1), ("--output-filename", "out.{rank}"),
                        ("--output-filename", "logs:nocopy"), ("--error-file", "error{rank}"), ("--error-file", "new/error{rank}"),
                        ("--output-filename", "new/logs"), ("--stderr-file", "new.{rank}")):
            with self.subTest(options=options):
                before = self.tree()
                result = self.run_dlaunch("--exec", "exit 3; {host}", "-H", f"one:1,{socket.gethostname()}:1", *options, "-n", 2, "true")
                self.assert_exit(result, 125)
                self.assertIn(b"cannot use a host: one", result.stderr)
                self.assertEqual(self.tree(), before)

    @promise(LEAVES_NOTHING, mode=(FILES, START))
    def test_unused_error_directory_is_removed(self):
        for command, code in (("nosuchprogram", 127), ("true", 0)):
            self.assert_exit(self.run_dlaunch("--error-file", "new/of/{rank}", "-n", 3, "--oversubscribe", command), code)
            self.assertFalse((self.dir / "new").exists(), command)

    @promise(LOSES_NOTHING, LEAVES_NOTHING, mode=(STAGING, START))
    def test_refused_job_leaves_no_new_directories(self):
        (self.dir / "new1").write_text("a file")
        job = self.job_on_two_hosts("true", dirs="new{rank}")
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertIn(b"new1 is not a directory", err)
        self.assertFalse((self.dir / "new0").exists())

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(STAGING, START, KILL))
    def test_refusal_after_the_loss_of_another_host_changes_nothing(self):
        self.assert_exit(self.run_dlaunch("--rank-dir", "d0", "-n", 1, "sh", "-c", "echo old >file"), 0)
        (self.dir / "d1").write_text("a file")
        job = self.job_on_two_hosts("true", waits=True)
        agents = lambda: [pid for pid in self.processes() if of_process(pid, "comm") == b"dlaunch-agent\n"]
        self.assertTrue(wait_until(lambda: len(agents()) == 2))
        time.sleep(0.5)
        os.kill(max(agents()), signal.SIGKILL)  # the worker of host one
        time.sleep(1.5)  # the loss comes before the refusal
        (self.dir / "go").touch()
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125, err)
        self.assertRegex(err.decode(), "one: lost the connection")
        self.assertIn("d1 is not a directory", err.decode())
        self.assertEqual((self.dir / "d0/file").read_text(), "old\n")


if __name__ == "__main__":
    main(side_by_side=2)
