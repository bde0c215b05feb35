"""Tests log files that cannot be written: a FIFO with a stopped reader, a frozen file system, a full file system.
--timeout, signals and the end of the job are still prompt, and lost output is reported once, with the path."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import support
from promises import (ATTACK, BAD_DISK, DEADLINE, ENDS, FAILURE, FILES, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, PREEMPTION, READER,
                      RESTARTS, SIGNAL, STAGING, START, promise)
from support import Case, settle, sh, unread, until_there, wait_until, written

FLOOD = "while echo $RANK_ID; do :; done"
COPIED = ("--output-filename", "{rank}.{stream}")  # dlaunch writes these files; with :nocopy the ranks would write them


class Stuck(Case):
    def seconds(self, job, timeout=support.TIMEOUT):
        start = time.monotonic()
        out, err = job.communicate(timeout=timeout)
        return time.monotonic() - start, subprocess.CompletedProcess(job.args, job.returncode, out, err)

    def begin(self, *args, **options):
        return self.start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)

    def assert_told_once(self, result, path):
        self.assertEqual(result.stderr.count(f"cannot write {path}".encode()), 1, result.stderr)
        self.assertIn(b"bytes of the ranks' output were not written in time", result.stderr)

    def resident(self, name=b"dlaunch"):
        return sum(support.resident_bytes(pid) for pid in self.processes()
                   if name in support.of_process(pid, "comm"))


class Fifo(Stuck):
    def setUp(self):
        super().setUp()
        self.fifo = self.dir / "0.stdout"
        os.mkfifo(self.fifo)
        self.taken = self.dir / "taken"
        self.reader = self.start_reader("exec cat")
        self.command = (*COPIED, "-n", 2, *sh("[ $RANK_ID = 0 ] && exec yes; " + FLOOD))

    def start_reader(self, script):
        reader = subprocess.Popen(["sh", "-c", f"exec <{self.fifo} >{self.taken}; {script}"])
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        self.assertTrue(wait_until(self.has_reader))
        return reader

    def has_reader(self):
        """dlaunch rejects a FIFO without a reader. The descriptor stays open, else the reader would see the end of the input."""
        with contextlib.suppress(OSError):
            self.held = os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
            self.addCleanup(self.let_go)
            return True
        return False

    def let_go(self):
        if self.held >= 0:
            os.close(self.held)
        self.held = -1

    def stuck(self, *more):
        """A job whose rank 0 waits for the stopped reader."""
        job = self.begin(*more, *self.command)
        self.assertTrue(wait_until(lambda: self.taken.exists() and self.taken.stat().st_size > 0))
        os.kill(self.reader.pid, signal.SIGSTOP)
        fifo = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)  # only to read its fill level
        self.addCleanup(os.close, fifo)
        (self.dir / "stopped").touch()
        self.assertTrue(wait_until(lambda: unread(fifo) > 60000), "the FIFO did not fill up")
        return job

    @promise(LOSES_NOTHING, mode=(READER, FILES))
    def test_files_of_running_ranks_are_written(self):
        job = self.stuck()
        other = self.dir / "1.stdout"
        size = other.stat().st_size
        self.assertTrue(wait_until(lambda: other.stat().st_size > size + (1 << 18)))
        os.kill(self.reader.pid, signal.SIGCONT)
        job.send_signal(signal.SIGINT)
        _, result = self.seconds(job)
        self.assert_exit(result, 130)
        self.assertNotIn(b"cannot write", result.stderr)

    @promise(ENDS, LOSES_NOTHING, mode=(READER, DEADLINE))
    def test_timeout_ends_the_job(self):
        took, result = self.seconds(self.stuck("--timeout", 3))
        self.assert_exit(result, 124)
        self.assertLess(took, 8)
        self.assert_told_once(result, self.fifo)

    @promise(ENDS, LOSES_NOTHING, mode=(READER, SIGNAL))
    def test_interrupt_ends_the_job(self):
        job = self.stuck()
        job.send_signal(signal.SIGINT)
        took, result = self.seconds(job)
        self.assert_exit(result, 130)
        self.assertLess(took, 15)
        self.assert_told_once(result, self.fifo)

    @promise(ENDS, LOSES_NOTHING, mode=(READER, SIGNAL))
    def test_second_signal_ends_the_wait(self):
        job = self.stuck()
        job.send_signal(signal.SIGTERM)
        self.assertTrue(wait_until(lambda: not self.find("yes")))
        job.send_signal(signal.SIGTERM)
        took, result = self.seconds(job)
        self.assert_exit(result, 143)
        self.assertLess(took, 4)
        self.assert_told_once(result, self.fifo)

    @promise(ENDS, LOSES_NOTHING, mode=READER)
    def test_successful_job_ends(self):
        # 229 KB: more than the FIFO takes, but less than the FIFO and dlaunch's buffers take together, so that the rank
        # can end.
        self.command = (*COPIED, "-n", 1, *sh(f"echo up; {until_there('stopped')}; seq 40000"))
        took, result = self.seconds(self.stuck())
        self.assert_exit(result, 1)
        self.assertLess(took, 20)
        self.assert_told_once(result, self.fifo)

    @promise(LOSES_NOTHING, mode=READER)
    def test_memory_is_bounded(self):
        job = self.stuck()
        time.sleep(3)  # an unbounded buffer would grow in this time: rank 1 never stops writing
        self.assertLess(self.resident(), (200 if support.SANITIZED else 40) << 20)
        job.send_signal(signal.SIGKILL)
        job.communicate()

    @promise(LOSES_NOTHING, mode=(READER, FILES))
    def test_slow_reader_gets_every_byte(self):
        self.reader.kill()
        self.reader.wait()
        self.let_go()
        taken = []

        def read_slowly():
            with open(self.fifo, "rb", buffering=0) as fifo:
                while some := fifo.read(1 << 16):
                    taken.append(some)
                    time.sleep(0.01)  # makes the reader slow

        reader = threading.Thread(target=read_slowly)
        reader.start()
        lines = 400000
        result = self.run_dlaunch(*COPIED, "-n", 1, "seq", lines, stdout=subprocess.DEVNULL)
        self.assert_exit(result, 0)
        reader.join()
        self.assertTrue(b"".join(taken) == b"".join(b"%d\n" % n for n in range(1, lines + 1)))

    @promise(ENDS, LOSES_NOTHING, mode=READER)
    def test_closed_reader_is_reported(self):
        job = self.begin(*self.command)
        self.assertTrue(wait_until(lambda: self.taken.exists() and self.taken.stat().st_size > 0))
        self.reader.kill()
        self.reader.wait()
        _, result = self.seconds(job)
        self.assert_exit(result, 1)
        self.assertEqual(result.stderr.count(f"cannot write {self.fifo}: Broken pipe".encode()), 1, result.stderr)


class Frozen(Stuck):
    def setUp(self):
        super().setUp()
        self.disk = self.dir / "disk"
        self.disk.mkdir()
        image = self.dir / "image"
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, self.disk],
                        ["fsfreeze", "-f", self.disk], ["fsfreeze", "-u", self.disk]):
            if not shutil.which(command[0]):
                self.skipTest(f"{command[0]} is not installed")
            tried = subprocess.run(command, capture_output=True, check=False)
            if tried.returncode != 0:
                self.skipTest(f"no file system can be frozen here: {tried.stderr.decode().strip()}")
            if command[0] == "mount":
                self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.addCleanup(self.thaw)

    def tearDown(self):
        self.thaw()
        super().tearDown()

    def on_disk(self):
        return sorted(str(path.relative_to(self.disk)) for path in self.disk.rglob("*"))

    def assert_thaw_leaves(self, names):
        """After the end of the processes that waited for the disk, it has only these files and directories."""
        self.thaw()
        self.assert_nothing_left()
        time.sleep(0.2)  # the system call of a killed process ends after the process is gone from /proc
        self.assertEqual(self.on_disk(), names)

    def freeze(self):
        subprocess.run(["fsfreeze", "-f", self.disk], check=True)

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.disk], stderr=subprocess.DEVNULL, check=False)

    def frozen(self, *args):
        """A job whose launcher writes to a frozen disk."""
        shutil.rmtree(self.disk / "logs", ignore_errors=True)
        job = self.begin("-n", 2, "--tag-output", "--output-filename", f"{self.disk}/logs:nocopy", *args, *sh(FLOOD))
        log = self.disk / "logs/1/rank.1/stdout"
        self.assertTrue(wait_until(lambda: log.exists() and log.stat().st_size > 0))
        self.freeze()
        # The ranks wait: all buffers up to the disk are full.
        self.assertTrue(settle(lambda: written(self.find(FLOOD))))
        return job

    @promise(ENDS, LOSES_NOTHING, mode=(BAD_DISK, DEADLINE))
    def test_timeout_ends_the_job(self):
        took, result = self.seconds(self.frozen("--timeout", 3))
        self.assert_exit(result, 124)
        self.assertLess(took, 9)
        self.assert_told_once(result, self.disk / "logs/1/rank.")

    def test_second_ctrl_c_before_the_ranks_keeps_the_message(self):
        self.freeze()
        job = self.start("-n", 1, "--stdout-file", self.disk / "o", "true", stderr=subprocess.PIPE)
        for wait in (1.5, 0.3):
            time.sleep(wait)
            job.send_signal(signal.SIGINT)
        self.assertIn(f"create {self.disk}/o".encode(), job.communicate(timeout=support.TIMEOUT)[1])
        self.thaw()

    def to_disk(self, *args, stderr=subprocess.PIPE):
        """A job whose stdout is a file on the disk."""
        with open(self.disk / "out", "wb") as out:
            return self.start(*args, stdin=subprocess.DEVNULL, stdout=out, stderr=out if stderr is None else stderr)

    @contextlib.contextmanager
    def stdout_that_hangs(self, before, after):
        """A job whose stdout is a file. The disk hangs from the end of `before` on, and is thawed at the end: the next job
        opens a file there."""
        for name in ("up", "frozen", "killed"):
            (self.dir / name).unlink(missing_ok=True)
        job = self.to_disk("-n", 1, *sh(f"{before or ':'}; : > up; {until_there('frozen')}; {after}"))
        self.assertTrue(wait_until(lambda: (self.dir / "up").exists()))
        self.assertTrue(not before or wait_until(lambda: (self.disk / "out").stat().st_size > 0))
        self.freeze()
        (self.dir / "frozen").touch()
        try:
            yield job
        finally:
            self.thaw()

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, mode=(BAD_DISK, DEADLINE))
    def test_stdout_on_a_disk_that_hangs_does_not_delay_the_time_limit(self):
        job = self.to_disk("--timeout", 3, "-n", 2, *sh(FLOOD))
        self.assertTrue(wait_until(lambda: (self.disk / "out").stat().st_size > 0))
        self.freeze()
        took, result = self.seconds(job)
        self.assert_exit(result, 124)
        self.assertLess(took, 25)  # the full pipe to the writing process counts as a slow reader
        # on a busy machine, the ranks do not fill the pipe to the writing process
        said = re.search(rb"dlaunch: cannot write stdout: the disk does not respond(?:, and the end of the output is lost)?\n"
                         rb"dlaunch:   (?:check the file system|wait for)[; ]*process (\d+)", result.stderr)
        self.assertTrue(said, result.stderr)
        self.assertTrue(os.path.exists(f"/proc/{int(said[1])}"))
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, mode=(BAD_DISK, FAILURE, SIGNAL))
    def test_stdout_on_a_disk_that_hangs_does_not_delay_the_end(self):
        """More output waits than the pipe of 1 MiB to the writing process takes, which has only the first bytes; a rank waits
        if it writes much more. The limits allow for a busy machine."""
        for end, code in (("exit 0", 1), ("exit 7", 7), ("sleep 1000", 130)):
            with self.subTest(end), self.stdout_that_hangs("", f"echo; sleep 1; head -c 1100000 /dev/zero; {end}") as job:
                if code == 130:
                    time.sleep(3)
                    job.send_signal(signal.SIGINT)
                took, result = self.seconds(job)
                self.assertLess(took, 25)
                self.assert_exit(result, code)
                self.assertIn(b"cannot write stdout: the disk does not respond, and the end of the output is lost\n",
                              result.stderr)
                self.thaw()
                self.assert_nothing_left()

    @promise(ENDS, LOSES_NOTHING, mode=(BAD_DISK, FILES, SIGNAL))
    def test_lost_stdout_does_not_hide_lost_files(self):
        """dlaunch gives up stdout before the log files: 5 s after the ranks have ended."""
        job = self.to_disk("-n", 2, "--output-filename", f"{self.disk}/{{rank}}.{{stream}}",
                           *sh(f"{until_there('frozen')}; echo; sleep 1; head -c 600000 /dev/zero; touch done$RANK_ID; sleep 1000"))
        self.assertTrue(wait_until((self.disk / "1.stdout").exists))
        self.freeze()
        (self.dir / "frozen").touch()
        self.assertTrue(wait_until(lambda: all((self.dir / f"done{rank}").exists() for rank in range(2))))
        job.send_signal(signal.SIGINT)
        time.sleep(6)
        job.send_signal(signal.SIGINT)
        took, result = self.seconds(job)
        self.assert_exit(result, 130)
        self.assertLess(took, 10)
        # on a busy machine, the ranks do not fill the pipe to the writing process
        self.assertIn(b"cannot write stdout: the disk does not respond", result.stderr)
        told = next((line for line in result.stderr.decode().splitlines() if "were not written in time" in line), "")
        for rank in range(2):
            self.assertIn(f"{self.disk}/{rank}.stdout", told, result.stderr)

    @promise(LOSES_NOTHING, mode=(BAD_DISK, KILL))
    def test_killed_process_that_writes_stdout_is_reported(self):
        for end in ("exit 0", f"{until_there('killed')}; echo more"):
            with self.subTest(end), self.stdout_that_hangs("echo first", f"head -c 500000 /dev/zero; {end}") as job:
                children = b" ".join(path.read_bytes() for path in pathlib.Path(f"/proc/{job.pid}/task").glob("*/children")).split()
                writer, = (int(pid) for pid in children if support.of_process(int(pid), "comm") == b"dlaunch-files\n")
                time.sleep(1)
                os.kill(writer, signal.SIGKILL)
                self.thaw()  # a write to a frozen disk ends before its process
                (self.dir / "killed").touch()
                _, result = self.seconds(job)
                self.assert_exit(result, 1)
                self.assertIn(b"cannot write stdout: dlaunch's writer process was killed\n", result.stderr)

    @promise(LOSES_NOTHING, mode=BAD_DISK)
    def test_stdout_on_a_disk_that_hangs_for_a_time_is_whole(self):
        job = self.to_disk("-n", 1, *sh(f"seq 1000; : > up; {until_there('frozen')}; seq 1001 2000"))
        self.assertTrue(wait_until(lambda: (self.dir / "up").exists()))
        self.freeze()
        (self.dir / "frozen").touch()
        time.sleep(2)
        self.thaw()
        _, result = self.seconds(job)
        self.assert_exit(result, 0)
        self.assertEqual((self.disk / "out").read_text(), "".join(f"{number}\n" for number in range(1, 2001)))

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, SIGNAL))
    def test_signal_ends_a_job_whose_stdout_and_stderr_hang(self):
        job = self.to_disk("-n", 2, *sh(FLOOD), stderr=None)
        self.assertTrue(wait_until(lambda: (self.disk / "out").stat().st_size > 0))
        self.freeze()
        time.sleep(1)
        job.send_signal(signal.SIGTERM)
        took, result = self.seconds(job)
        self.assert_exit(result, 143)
        self.assertLess(took, 40)
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_each_file_on_the_disk_is_named(self):
        job = self.begin("-n", 4, "--output-filename", f"{self.disk}/{{rank}}.{{stream}}", "--timeout", 3,
                         *sh("exec 2>/dev/null; " + FLOOD))
        self.assertTrue(wait_until(lambda: all((self.disk / f"{rank}.stdout").exists() for rank in range(4))))
        self.freeze()
        _, result = self.seconds(job)
        self.assert_exit(result, 124)
        told = next(line for line in result.stderr.decode().splitlines() if "were not written in time" in line)
        for rank in range(4):
            self.assertIn(f"{self.disk}/{rank}.stdout", told)

    @promise(ENDS, LEAVES_NOTHING, mode=BAD_DISK)
    def test_error_file_on_a_frozen_disk_is_refused_in_time(self):
        before = self.on_disk()
        self.freeze()
        took, result = self.seconds(self.begin("--error-file", f"{self.disk}/error-{{rank}}", "-n", 2, "true"))
        self.assert_exit(result, 1)
        self.assertLess(took, 10)
        self.assertIn(f"cannot create {self.disk}/error-0: the disk does not respond", result.stderr.decode())
        self.assert_thaw_leaves(before)

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, START, SIGNAL, DEADLINE))
    def test_signal_and_time_limit_end_the_wait_for_the_first_locks(self):
        (self.disk / "report").write_text("{}")
        before = self.on_disk()
        for option, place, step in (("--output-filename", "logs", "create"), ("--error-file", "error-{rank}", "create"),
                                    ("--report", "report", "write")):
            for limit, code, said in (600, 143, "interrupted by SIGTERM: "), (3, 124, r"timed out after [34]\.\d s: "):
                with self.subTest(option, said=said):
                    self.freeze()
                    job = self.begin(option, self.disk / place, "--timeout", limit, "-n", 1, "true")
                    time.sleep(2)
                    if limit == 600:
                        job.send_signal(signal.SIGTERM)
                    took, result = self.seconds(job)
                    self.assert_exit(result, code)
                    self.assertLess(took, 5)
                    self.assertRegex(result.stderr.decode(), f"^dlaunch: {said}no rank was started\ndlaunch:   the start of the ranks "
                                                             f"waited for the disk: {step} {self.disk}/[^\n]*\n$")
                    self.assert_thaw_leaves(before)

    @promise(NAMES_FIRST, mode=(BAD_DISK, FAILURE))
    def test_summary_names_no_file_that_lacks_lines_and_no_time_of_the_wait(self):
        job = self.begin("-n", 2, "--output-filename", self.disk / "logs",
                         *sh(f"{until_there('frozen')}; echo lost >&2; [ $RANK_ID = 1 ] || {{ sleep 2; exit 7; }}; {FLOOD}"))
        self.assertTrue(wait_until((self.disk / "logs/1/rank.1/stderr").exists))
        self.freeze()
        (self.dir / "frozen").touch()
        _, result = self.seconds(job)
        self.assert_exit(result, 7)
        said = result.stderr.decode()
        self.assertIn("bytes of the ranks' output were not written in time", said)
        self.assertRegex(said, "last stderr lines of rank 0:\n.*\\| lost\n")
        self.assertNotIn("all processes had ended after", said)

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, START, FILES))
    def test_record_of_a_job_whose_logs_do_not_respond_tells_no_success(self):
        options = ("--report", "report", "--junit", "junit", "-n", 2, "--oversubscribe", "true")
        for files in (("--output-filename", self.disk / "logs"), ("--error-file", self.disk / "error-{rank}")):
            with self.subTest(files=files):
                self.assert_exit(self.run_dlaunch(*files, *options), 0)
                self.freeze()
                took, result = self.seconds(self.begin(*files, *options))
                self.thaw()
                self.assert_exit(result, 1)
                self.assertLess(took, 14)
                self.assertRegex(result.stderr.decode(), f"cannot create {self.disk}/.*: the disk does not respond\n")
                record = json.loads((self.dir / "report").read_text())
                self.assertEqual((record["cause"], record["exit_code"]), ("output_failed", 1))
                self.assertRegex(record["detail"], "^cannot create .*: the disk does not respond$")
                self.assertEqual([rank["status"] for rank in record["ranks"]], [None] * 2)
                self.assertNotIn('errors="0"', (self.dir / "junit").read_text())

    @promise(ENDS, LEAVES_NOTHING, mode=BAD_DISK)
    def test_report_on_a_frozen_disk_is_refused_in_time(self):
        (self.disk / "report").write_text("{}")
        before = self.on_disk()
        self.freeze()
        took, result = self.seconds(self.begin("--report", self.disk / "report", "-n", 1, "true"))
        self.assertLess(took, 25)
        self.assert_exit(result, 1)
        self.assertIn(f"cannot write {self.disk}/report: timed out after 10 s", result.stderr.decode())
        self.assert_thaw_leaves(before)

    def frozen_when_ready(self, *args, hosts="other:2"):
        """A job whose disk is frozen between the claims and the first change of its files: when all hosts are ready."""
        for name in ("go", "d1/.dlaunch-rank-dir"):
            (self.dir / name).unlink(missing_ok=True)
        for name in ("logs/1/rank.0/stdout", "error-1"):
            (self.disk / name).parent.mkdir(parents=True, exist_ok=True)
            (self.disk / name).write_text("earlier")
        (self.dir / "way").write_text(f'{until_there(self.dir / "go")}; exec "$@"')
        job = self.begin("--exec", f"sh {self.dir}/way", "-H", hosts, "--rank-dir", self.dir / "d{rank}",
                         "--output-filename", self.disk / "logs", *args, "-n", 2, *sh("echo up; sleep 2"))
        self.assertTrue(wait_until(lambda: (self.disk / "logs/1/rank.1/stderr").exists()))
        time.sleep(0.3)
        self.freeze()
        (self.dir / "go").touch()
        self.assertTrue(wait_until(lambda: (self.dir / "d1/.dlaunch-rank-dir").exists()))
        time.sleep(0.5)
        return job

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, mode=(BAD_DISK, STAGING, START, SIGNAL))
    def test_signal_ends_a_job_whose_disk_is_frozen_before_the_ranks_start(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(sent):
                job = self.frozen_when_ready()
                job.send_signal(sent)
                took, result = self.seconds(job)
                self.assert_exit(result, code)
                self.assertLess(took, 5)
                self.thaw()
                self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, STAGING, START, DEADLINE))
    def test_time_limit_ends_a_job_whose_disk_is_frozen_before_the_ranks_start(self):
        job = self.frozen_when_ready("--timeout", 4)
        took, result = self.seconds(job)
        self.assert_exit(result, 124)
        self.assertLess(took, 7)
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, STAGING, START, FAILURE))
    def test_disk_frozen_before_the_ranks_start_is_an_error(self):
        took, result = self.seconds(self.frozen_when_ready())
        self.assert_exit(result, 1)
        self.assertLess(took, 14)
        self.assertIn(f"cannot empty {self.disk}/logs/1/rank.0/stdout: the disk does not respond", result.stderr.decode())
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, NAMES_FIRST, LEAVES_NOTHING, mode=(BAD_DISK, STAGING, START, KILL))
    def test_host_that_is_lost_while_the_disk_is_frozen_is_named(self):
        job = self.frozen_when_ready(hosts="other:1,another:1")
        agent = next(pid for pid in self.processes() if support.of_process(pid, "comm") == b"dlaunch-agent\n")
        os.kill(agent, signal.SIGKILL)
        took, result = self.seconds(job)
        self.assert_exit(result, 125)
        self.assertLess(took, 9)
        # The sweep of the lost host ends the agent of its other name, too.
        self.assertRegex(result.stderr.decode(), "cannot use (a host: (an)?other|2 hosts:\ndlaunch: other,another): lost the connection")
        self.thaw()
        self.assert_nothing_left()

    @promise(LOSES_NOTHING, mode=(BAD_DISK, STAGING, START))
    def test_ranks_start_after_the_thaw_of_the_disk(self):
        job = self.frozen_when_ready("--error-file", self.disk / "error-{rank}", hosts="other:1,localhost:1")
        time.sleep(6)
        self.thaw()
        _, result = self.seconds(job)
        self.assert_exit(result, 0)
        self.assertEqual((self.disk / "logs/1/rank.0/stdout").read_text(), "up\n")
        self.assertFalse((self.disk / "error-1").exists(), "the file of an earlier job was not emptied")

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, STAGING, START))
    def test_rank_directory_on_a_frozen_disk_is_named(self):
        self.freeze()
        stderr = self.dir / "stderr"
        with open(stderr, "wb") as err:
            job = self.start("--rank-dir", f"{self.disk}/d{{rank}}", "-n", 2, "true", stdin=subprocess.DEVNULL, stderr=err)
        told = f"dlaunch: note: still waiting for the rank directories of {os.uname().nodename}, such as {self.disk}/d0\n"
        self.assertTrue(wait_until(lambda: told in stderr.read_text(), 15), stderr.read_text())
        time.sleep(3)
        self.assertEqual(stderr.read_text(), told)
        job.terminate()
        job.wait(support.TIMEOUT)
        self.assertEqual(job.returncode, 143)
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, mode=(BAD_DISK, STAGING, ATTACK))
    def test_closed_directory_of_a_running_job_keeps_its_mode(self):
        self.disk.chmod(0o777)
        self.dir.chmod(0o755)
        directory = self.disk / "logs/d0"
        user = {"before": support.NOBODY} if os.geteuid() == 0 else {}
        with self.start("--rank-dir", directory, "-n", 1, *sh("chmod 0 .; echo up; read wait"), stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, **user) as job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            for options in (("--keep-logs", 1, "--output-filename", self.disk / "logs"), ("--rank-dir", directory)):
                with self.subTest(options):
                    self.freeze()
                    other = self.begin(*options, "-n", 1, "true", **user)
                    took, result = self.seconds(other)
                    self.thaw()
                    self.assertIn(b"job uses", result.stderr)
                    self.assertLess(took, 9)
                    time.sleep(1)  # a killed process would change the mode now
                    self.assertEqual(directory.stat().st_mode & 0o777, 0)
            job.communicate(b"\n", timeout=support.TIMEOUT)

    def frozen_at_the_restart(self, *args):
        """A job whose disk is frozen before its second round. Returns the job and the file of its stderr."""
        for name in ("up", "frozen"):
            (self.dir / name).unlink(missing_ok=True)
        err = self.dir / "stderr"
        with open(err, "wb") as file:
            job = self.start("--restarts", 2, *args, "-n", 1, *sh(f": > up; {until_there('frozen')}; exit 3"),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
        self.assertTrue(wait_until((self.dir / "up").exists))
        subprocess.run(["sync", "-f", self.disk], check=True)
        self.freeze()
        (self.dir / "frozen").touch()
        wait_until(lambda: "restart 1 of 2" in err.read_text(), 2)
        return job, err

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, RESTARTS, STAGING, DEADLINE))
    def test_env_log_on_a_frozen_disk_is_named(self):
        up, go = self.dir / "up", self.dir / "go"
        job = self.begin("--timeout", 3, "--restarts", 1, "--rank-dir", f"{self.disk}/d{{rank}}", "--save-env", "--grace", 1,
                         "-n", 1, *sh(f": > {up}; {until_there(go)}; exit 3"))
        self.assertTrue(wait_until(up.exists))
        self.freeze()
        go.touch()
        took, result = self.seconds(job)
        self.assert_exit(result, 124)
        self.assertLess(took, 26)
        self.assertIn(b"(dlaunch-env.log), state D", result.stderr)
        self.assertNotIn(b"heartbeats", result.stderr)
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, FAILURE))
    def test_temporary_directory_on_a_frozen_disk_is_named(self):
        up, go = self.dir / "up", self.dir / "go"
        job = self.begin("--fake-hosts", "2x1", "--restarts", 1, "-n", 2, *sh(f": > {up}; {until_there(go)}; exit 3"),
                         env={"TMPDIR": str(self.disk)})
        self.assertTrue(wait_until(up.exists))
        self.freeze()
        go.touch()
        took, result = self.seconds(job)
        self.assert_exit(result, 3)
        self.assertLess(took, 9)
        self.assertRegex(result.stderr.decode(), f"cannot remove {self.disk}/dlaunch-.*: the disk does not respond\n")
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, mode=(BAD_DISK, START))
    def test_job_with_a_temporary_directory_on_a_frozen_disk_runs(self):
        self.freeze()
        took, result = self.seconds(
            self.begin("--fake-hosts", "2x1", "--restarts", 1, "-n", 2, "true", env={"TMPDIR": str(self.disk)}))
        self.assertLess(took, 20)
        self.assertNotIn(b"heartbeats", result.stderr)
        self.assertRegex(result.stderr.decode(), f"cannot remove {self.disk}/dlaunch-.*: the disk does not respond\n")
        self.thaw()
        self.assert_nothing_left()

    @promise(NAMES_FIRST, mode=(BAD_DISK, RESTARTS, KILL))
    def test_killed_writers_before_a_restart_are_reported(self):
        """Also the process that writes stderr."""
        for killed in (("percpu_rwsem_wait",), ("percpu_rwsem_wait", "pipe_read")):
            with self.subTest(killed):
                job, err = self.frozen_at_the_restart("--output-filename", self.disk / "logs")
                time.sleep(1)
                children = b" ".join(path.read_bytes() for path in pathlib.Path(f"/proc/{job.pid}/task").glob("*/children")).split()
                for pid in map(int, children):
                    if support.of_process(pid, "comm") == b"dlaunch-files\n" and support.of_process(pid, "wchan").decode().endswith(killed):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.5)
                self.thaw()
                _, result = self.seconds(job)
                self.assert_exit(result, 1)
                self.assertIn(f"round.1/rank.0/stdout: the process that writes the ranks' files was killed\n", err.read_text())

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, RESTARTS, SIGNAL))
    def test_signal_ends_a_job_whose_disk_is_frozen_before_a_restart(self):
        for option, place in (("--output-filename", "logs"), ("--output-filename", "log.{rank}.{stream}"),
                              ("--error-file", "error-{rank}")):
            with self.subTest(option, place=place):
                job, err = self.frozen_at_the_restart(option, self.disk / place)
                before = self.on_disk()
                time.sleep(1)
                job.send_signal(signal.SIGTERM)
                start = time.monotonic()
                job.wait(support.TIMEOUT)
                self.assertLess(time.monotonic() - start, 5)
                self.assertEqual((job.returncode, job.died_of), (143, signal.SIGTERM), err.read_text())
                self.assertRegex(err.read_text(), f"the start of the ranks waited for the disk: (create|empty) {self.disk}/")
                self.assert_thaw_leaves([name for name in before if not name.startswith("error")])

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, RESTARTS, PREEMPTION))
    def test_preemption_ends_a_job_whose_disk_is_frozen_before_a_restart(self):
        job, err = self.frozen_at_the_restart("--checkpoint-signal", "USR2", "--output-filename", self.disk / "logs")
        time.sleep(1)
        job.send_signal(signal.SIGUSR1)
        job.wait(support.TIMEOUT)
        self.assertEqual(job.returncode, 75, err.read_text())
        self.assertRegex(err.read_text(), f"preempted by SIGUSR1.*\n.*the start of the ranks waited for the disk: create {self.disk}/")
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, RESTARTS, DEADLINE))
    def test_time_limit_ends_a_job_whose_disk_is_frozen_before_a_restart(self):
        job, err = self.frozen_at_the_restart("--output-filename", self.disk / "logs", "--timeout", 4)
        before = self.on_disk()
        job.wait(support.TIMEOUT)
        self.assertEqual(job.returncode, 124, err.read_text())
        self.assertRegex(err.read_text(), r"timed out after 4\.\d s\n")
        self.assert_thaw_leaves(before)

    @promise(ENDS, NAMES_FIRST, mode=(BAD_DISK, RESTARTS, FAILURE))
    def test_disk_frozen_before_a_restart_is_an_error_of_the_output(self):
        job, err = self.frozen_at_the_restart("--output-filename", self.disk / "logs", "--report", self.dir / "job.json")
        job.wait(support.TIMEOUT)
        self.assertEqual(job.returncode, 1, err.read_text())
        self.assertIn(f"cannot create {self.disk}/logs/1/round.1/rank.0/stdout: the disk does not respond", err.read_text())
        record = json.loads((self.dir / "job.json").read_text())
        self.assertEqual((record["cause"], record["exit_code"]), ("output_failed", 1))
        self.assertIn(f"cannot create {self.disk}/logs", record["detail"])
        self.assertEqual([(each["cause"], each["first_failure"]) for each in record["earlier_rounds"]], [("rank_failed", 0)])
        self.thaw()
        self.assert_nothing_left()

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, START, SIGNAL, KILL))
    def test_logs_of_a_job_that_was_given_up_before_its_start_are_not_renamed(self):
        """The one step that waits in the kernel may still end."""
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(sent):
                for number, name in enumerate(("logs", "logs.1", "logs.2")):
                    shutil.rmtree(self.disk / name, ignore_errors=True)
                    (self.disk / name).mkdir()
                    (self.disk / name / "of").write_text(str(number))
                self.freeze()
                job = self.begin("--keep-logs", 3, "--output-filename", self.disk / "logs", "-n", 1, *sh(f": > {self.dir}/ran"))
                time.sleep(2)
                job.send_signal(sent)
                took, result = self.seconds(job)
                self.assertLess(took, 5)
                if sent != signal.SIGKILL:
                    self.assert_exit(result, 128 + sent)
                    self.assertIn(f"interrupted by {sent.name} after", result.stderr.decode())
                    self.assertIn(f"the start of the ranks waited for the disk: rename {self.disk}/logs\n", result.stderr.decode())
                self.thaw()
                self.assert_nothing_left()
                kept = {path.name: (path / "of").read_text() for path in self.disk.glob("logs*")}
                self.assertEqual(kept.pop("logs.2", kept.get("logs.3")), "2")
                kept.pop("logs.3", None)
                self.assertEqual(kept, {"logs": "0", "logs.1": "1"})
                self.assertFalse((self.dir / "ran").exists())

    @promise(LOSES_NOTHING, mode=(BAD_DISK, START, RESTARTS, FILES))
    def test_logs_are_locked_after_a_round_that_did_not_begin(self):
        """The file process of the first round has the lock until the thaw."""
        (self.dir / "way").write_text(f'[ "$1" != bad ] || {{ {until_there(self.dir / "go")}; exit 1; }}; shift; exec "$@"')
        logs = ("--output-filename", self.disk / "logs")
        with self.start("--exec", f"sh {self.dir}/way {{host}}", "-H", "bad:1,good:1", "--spares", 1, "--restarts", 1, *logs,
                        "--rank-dir", self.dir / "d{rank}", "-n", 1, *sh(f"echo up; {until_there(self.dir / 'end')}"),
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            self.assertTrue(wait_until((self.disk / "logs/1/rank.0/stderr").exists))
            self.freeze()
            (self.dir / "go").touch()
            time.sleep(3)
            self.thaw()
            self.assertEqual(job.stdout.readline(), b"up\n")
            other = self.run_dlaunch(*logs, "-n", 1, "true")
            (self.dir / "end").touch()
            job.communicate(timeout=support.TIMEOUT)
            self.assertEqual(job.returncode, 0)
            self.assert_exit(other, 2)
            self.assertIn(b"writes there", other.stderr)

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, mode=(BAD_DISK, SIGNAL))
    def test_sigterm_ends_the_job(self):
        job = self.frozen()
        job.send_signal(signal.SIGTERM)
        took, result = self.seconds(job)
        self.assert_exit(result, 143)
        self.assertLess(took, 15)
        self.assert_told_once(result, self.disk / "logs/1/rank.")
        self.thaw()
        self.assert_nothing_left()

    @promise(LOSES_NOTHING, mode=BAD_DISK)
    def test_memory_is_bounded_and_heartbeats_continue(self):
        job = self.frozen()
        time.sleep(18)  # an agent without messages for 15 s ends its ranks
        self.assertIsNone(job.poll())
        self.assertLess(self.resident(), (200 if support.SANITIZED else 40) << 20)
        self.thaw()
        size = lambda: (self.disk / "logs/1/rank.0/stdout").stat().st_size
        before = size()
        self.assertTrue(wait_until(lambda: size() > before))
        job.send_signal(signal.SIGINT)
        _, result = self.seconds(job)
        self.assert_exit(result, 130)
        self.assertNotIn(b"cannot write", result.stderr)

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, START))
    def test_disk_frozen_before_the_start_is_an_error(self):
        before = self.on_disk()
        self.freeze()
        took, result = self.seconds(self.begin("-n", 2, "--output-filename", self.disk / "logs", "true"))
        self.assert_exit(result, 1)
        self.assertLess(took, 15)
        self.assertIn(f"cannot create {self.disk}/logs: the disk does not respond\n".encode(), result.stderr)
        self.assert_thaw_leaves(before)

    @promise(ENDS, LEAVES_NOTHING, mode=BAD_DISK)
    def test_frozen_stack_reports_do_not_add_up_at_the_end(self):
        with open(self.dir / "stderr", "wb") as err:
            job = self.start("-n", 1, "--stacks-on", "USR1", "--stdout-file", f"{self.disk}/{{job}}.out", "--timeout", 600,
                             *sh(f": > up; {until_there('end')}"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        self.assertTrue(wait_until((self.dir / "up").exists))
        before = self.on_disk()
        self.freeze()
        for number in range(1, 9):
            job.send_signal(signal.SIGUSR1)
            self.assertTrue(wait_until(lambda: f"  all threads: not written yet: {self.disk}/" in (self.dir / "stderr").read_text()
                                       and f".{number}\n" in (self.dir / "stderr").read_text()))
        (self.dir / "end").touch()
        took, result = self.seconds(job)
        self.assert_exit(result, 0)
        self.assertLess(took, 5)
        self.assert_thaw_leaves(before)

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, RESTARTS))
    def test_frozen_record_of_a_later_round_leaves_no_temporary_file(self):
        job, err = self.frozen_at_the_restart("--report", self.disk / "job.json")
        job.wait(support.TIMEOUT)
        self.assertEqual(job.returncode, 3, err.read_text())
        self.assertIn(f"cannot write {self.disk}/job.json: timed out", err.read_text())
        self.assert_thaw_leaves(["job.json", "lost+found"])

    @promise(ENDS, LEAVES_NOTHING, mode=BAD_DISK)
    def test_frozen_report_file_does_not_block_the_end(self):
        job = self.begin("-n", 1, "--report", self.disk / "job.json", *sh(f": > up; {until_there('frozen')}; exit 3"))
        self.assertTrue(wait_until(lambda: (self.dir / "up").exists() and (self.disk / "job.json").exists()))
        self.freeze()
        (self.dir / "frozen").touch()
        took, result = self.seconds(job)
        self.assert_exit(result, 3)
        self.assertLess(took, 15)
        self.assertEqual(result.stderr.count(f"cannot write {self.disk}/job.json".encode()), 1, result.stderr)
        self.assert_thaw_leaves(["job.json", "lost+found"])

    def with_record_and_junit(self):
        """A job whose disk with the record and the results of --junit is frozen before its end."""
        for name in ("up", "frozen"):
            (self.dir / name).unlink(missing_ok=True)
        job = self.begin("-n", 1, "--report", self.disk / "job.json", "--junit", self.disk / "job.xml",
                         *sh(f": > up; {until_there('frozen')}; exit 3"))
        self.assertTrue(wait_until(lambda: (self.dir / "up").exists() and (self.disk / "job.json").exists()))
        self.freeze()
        (self.dir / "frozen").touch()
        return job

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, FAILURE))
    def test_frozen_record_and_results_share_one_limit(self):
        took, result = self.seconds(self.with_record_and_junit())
        self.assert_exit(result, 3)
        self.assertLess(took, 14)
        for name in ("job.json", "job.xml"):
            self.assertEqual(result.stderr.count(f"cannot write {self.disk}/{name}: timed out after 5 s".encode()), 1, result.stderr)
        self.assert_thaw_leaves(["job.json", "lost+found"])

    @promise(ENDS, LEAVES_NOTHING, mode=(BAD_DISK, SIGNAL))
    def test_signal_shortens_the_wait_for_a_frozen_record(self):
        for delay in (1, 6):  # during the wait for the results, and for the record
            with self.subTest(delay):
                job = self.with_record_and_junit()
                time.sleep(delay)
                job.send_signal(signal.SIGINT)
                took, result = self.seconds(job)
                self.assert_exit(result, 3)
                self.assertLess(took, 4)
                self.assertIn(f"cannot write {self.disk}/job.json", result.stderr.decode())
                self.thaw()
                self.assert_nothing_left()


if __name__ == "__main__":
    support.main(side_by_side=3)
