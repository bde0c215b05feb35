"""Tests a reader slower than the job's output: memory stays bounded, no byte is lost, and the job can still be ended.
"""
import os
import re
import signal
import subprocess
import time

import support
from promises import COMMAND, DEADLINE, ENDS, FAILURE, HERE, LOSES_NOTHING, NAMES_FIRST, READER, SIGNAL, promise
from side_by_side import takes_long
from support import Case, SANITIZED, resident_bytes, settle, sh, signals_taken, unread, until_there, wait_until, written

MEBI = 1 << 20
PAUSE = 3
RANKS = 4 if SANITIZED else 16


class ReaderCase(Case):
    def ranks(self, name):
        return [pid for pid, command in self.processes().items() if command.split()[:1] == [name]]

    def ranks_run(self, name, count):
        self.assertTrue(wait_until(lambda: len(self.ranks(name)) == count))

    def assert_ranks_end(self, name):
        self.assertTrue(wait_until(lambda: not self.ranks(name), 5), self.processes())


class SlowReader(ReaderCase):
    def ours(self, job):
        """The pids of the launcher and its agents. Agents are children of the launcher; ranks are children of the
        agents."""
        children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, check=False).stdout
        return [job.pid, *map(int, children.split())]

    def peak_until_stalled(self, job):
        """The peak memory of launcher and agents until no rank writes any more. A rank that continues is watched for
        PAUSE seconds."""
        peak = 0

        def watch():
            nonlocal peak
            peak = max(peak, sum(map(resident_bytes, self.ours(job))))
            return written(self.processes())

        settle(watch, timeout=PAUSE, every=0.1)
        return peak

    def stalled(self, job):
        """Waits until the full pipe has stopped all ranks."""
        self.assertTrue(wait_until(lambda: unread(job.stdout) > 0))
        self.assertTrue(settle(lambda: written(self.processes())))

    def flood(self, *args):
        return self.start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def check_memory(self, *options):
        with self.flood("-n", RANKS, *options, "yes") as job:
            self.ranks_run("yes", RANKS)
            peak = self.peak_until_stalled(job)
            self.assertGreaterEqual(len(self.ours(job)), 2, "launcher and agent were not found")
            self.assertGreater(peak, MEBI)
            got = 0
            while got < (2 if SANITIZED else 32) * MEBI:
                got += len(os.read(job.stdout.fileno(), MEBI))
            peak = max(peak, self.peak_until_stalled(job))
            job.stdout.close()
            self.assertEqual(job.stderr.read(), b"")
            self.assertEqual(job.wait(support.TIMEOUT), 128 + signal.SIGPIPE)
        if not SANITIZED:
            self.assertLessEqual(peak, 64 * MEBI)

    @promise(LOSES_NOTHING, mode=READER)
    def test_memory_is_bounded(self):
        self.check_memory()

    @promise(LOSES_NOTHING, mode=READER)
    def test_memory_is_bounded_with_labels(self):
        self.check_memory("--label")

    @promise(LOSES_NOTHING, mode=READER)
    def test_memory_is_bounded_with_json(self):
        self.check_memory("--format", "jsonl")

    @promise(LOSES_NOTHING, mode=READER)
    def test_memory_is_bounded_with_endless_lines(self):
        with self.flood("-n", 16, *sh("exec tr '\\0' x < /dev/zero")) as job:
            self.ranks_run("tr", 16)
            peak = self.peak_until_stalled(job)
            job.stdout.close()
            job.wait(support.TIMEOUT)
        if not SANITIZED:
            self.assertLessEqual(peak, 64 * MEBI)

    @promise(LOSES_NOTHING, mode=READER)
    def test_no_byte_is_lost(self):
        """100 ranks print lines numbered per rank. The reader pauses before the first line and in the middle."""
        ranks, lines = (20, 500) if SANITIZED else (100, 5000)
        with self.flood("-n", ranks, *sh(f'exec seq -f "$RANK_ID %.0f ........................................" 1 {lines}')) as job:
            self.stalled(job)
            out = os.read(job.stdout.fileno(), MEBI)
            self.stalled(job)
            out += job.stdout.read()
            job.stderr.read()
            self.assertEqual(job.wait(support.TIMEOUT), 0)
        last = [0] * ranks
        for line in out.splitlines():
            found = re.match(rb"(\d+) (\d+) \.{40}$", line)
            self.assertTrue(found, line)
            rank, number = map(int, found.groups())
            last[rank] += 1
            self.assertEqual(number, last[rank])
        self.assertEqual(last, [lines] * ranks)

    @promise(LOSES_NOTHING, mode=READER)
    def test_quiet_rank_is_not_starved(self):
        """Other ranks flood a slow reader; the line of a quiet rank still arrives."""
        with self.flood("-n", 4, *sh(f"[ $RANK_ID = 3 ] || exec yes; {until_there('go')}; echo me; exec sleep 100")) as job:
            self.stalled(job)
            (self.dir / "go").touch()
            seen = b""
            end = time.monotonic() + 10
            while b"me\n" not in seen and time.monotonic() < end:
                seen = seen[-2:] + os.read(job.stdout.fileno(), 64 << 10)
            self.assertIn(b"me\n", seen)
            job.send_signal(signal.SIGINT)
            job.stdout.read()
            self.assertEqual(job.wait(support.TIMEOUT), 130)

    @promise(ENDS, mode=(READER, SIGNAL))
    def test_second_interrupt_ends_the_wait_for_a_stopped_reader(self):
        """The first SIGINT ends the ranks. Their output is kept for the reader until the second SIGINT."""
        with self.flood("-n", 4, "yes") as job:
            self.ranks_run("yes", 4)
            self.stalled(job)
            job.send_signal(signal.SIGINT)
            self.assert_ranks_end("yes")
            time.sleep(0.5)  # a launcher that does not wait would end in this time
            self.assertIsNone(job.poll(), "it did not wait for the reader")
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(5), 130)
            self.assertNotIn(b"processes may be left", job.stderr.read())

    @promise(LOSES_NOTHING, mode=(READER, SIGNAL))
    def test_output_is_complete_after_an_interrupt(self):
        with self.flood("-n", 4, "yes") as job:
            self.ranks_run("yes", 4)
            self.stalled(job)
            job.send_signal(signal.SIGINT)
            self.assert_ranks_end("yes")
            out = job.stdout.read()
            self.assertEqual(job.wait(5), 130)
        self.assertEqual(set(out.splitlines()), {b"y"})

    @promise(ENDS, NAMES_FIRST, mode=(READER, FAILURE))
    def test_failure_ends_the_ranks_while_the_reader_is_stopped(self):
        with self.flood("-n", 2, *sh(f"[ $RANK_ID = 1 ] || exec yes; {until_there('go')}; exit 3")) as job:
            self.ranks_run("yes", 1)
            self.stalled(job)
            (self.dir / "go").touch()
            self.assert_ranks_end("yes")
            job.stdout.read()
            self.assertIn(b"rank 1", job.stderr.read())
            self.assertEqual(job.wait(5), 3)

    @promise(LOSES_NOTHING, mode=READER)
    def test_flood_of_both_streams_into_one_pipe_is_complete(self):
        """`2>&1 |`: stdout and stderr of all ranks share one pipe."""
        with self.start("-n", 8, *sh("seq 20000; seq 20000 >&2"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT) as job:
            self.stalled(job)
            out = job.stdout.read()
            self.assertEqual(job.wait(support.TIMEOUT), 0)
        numbers = out.splitlines()
        self.assertEqual(len(numbers), 16 * 20000)
        self.assertEqual(set(numbers), {b"%d" % n for n in range(1, 20001)})


class SleepingReader(ReaderCase):
    """dlaunch prints much on stderr, and no process reads it."""

    CHATTY = ("-vv", "-n", 100, *sh("seq 20000 >&2; exec sleep 100"))

    def start_unread(self, *args, together=True):
        """Starts a job with both streams in one pipe, or with stdout in /dev/null."""
        streams = (subprocess.PIPE, subprocess.STDOUT) if together else (subprocess.DEVNULL, subprocess.PIPE)
        job = self.start(*args, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1])
        self.addCleanup((job.stdout or job.stderr).close)
        return job

    def unread_jobs(self, *args):
        """Starts one job for each way to combine dlaunch's own output with the output of the ranks."""
        return {
            "one pipe": self.start_unread(*args, *self.CHATTY),
            "stderr apart": self.start_unread(*args, *self.CHATTY, together=False),
            "jsonl": self.start_unread("--format", "jsonl", *args, *self.CHATTY),
            "jsonl, stderr apart": self.start_unread("--format", "jsonl", *args, *self.CHATTY, together=False),
            "a terminal for each rank": self.start_unread("--pty", *args, *self.CHATTY),
            "another host": self.start_unread("--exec", "env HOST={host}", "-H", "elsewhere:100", *args, *self.CHATTY),
        }

    def all_unread(self, jobs):
        """Waits until all jobs wait for their readers and write no more."""
        self.assertTrue(wait_until(lambda: all(unread(job.stdout or job.stderr) > 0 for job in jobs.values())))
        self.assertTrue(settle(lambda: written(self.processes()), timeout=60, every=0.1), "a busy machine fills the pipes slowly")

    def assert_end(self, jobs, code, within):
        within *= 3 if SANITIZED else 1
        end = time.monotonic() + within
        for name, job in jobs.items():
            with self.subTest(name):
                try:
                    self.assertEqual(job.wait(max(0.1, end - time.monotonic())), code)
                except subprocess.TimeoutExpired:
                    self.fail(f"it waits for the reader for more than {within} s")

    @promise(ENDS, mode=(READER, DEADLINE), place=(HERE, COMMAND))
    def test_timeout_ends_a_job_without_reader(self):
        self.assert_end(self.unread_jobs("--timeout", 2), 124, 25)

    @promise(ENDS, mode=(READER, SIGNAL), place=(HERE, COMMAND))
    def test_sigterm_ends_a_job_without_reader(self):
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.terminate()
        self.assert_end(jobs, 143, 25)

    @promise(ENDS, mode=(READER, SIGNAL), place=(HERE, COMMAND))
    def test_second_interrupt_ends_a_job_without_reader(self):
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
        self.assert_ranks_end("sleep")
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
        self.assert_end(jobs, 130, 15)

    @promise(ENDS, mode=(READER, SIGNAL), place=(HERE, COMMAND))
    def test_two_interrupts_at_once_end_a_job_without_reader(self):
        """The second SIGINT arrives before the launcher waits for the reader."""
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
            self.assertTrue(wait_until(lambda job=job: signals_taken(job.pid), every=0))
            job.send_signal(signal.SIGINT)
        self.assert_end(jobs, 130, 15)

    @promise(LOSES_NOTHING, mode=READER)
    @takes_long
    def test_job_with_a_late_reader_continues(self):
        """The reader is late by more than the heartbeat timeout, and the job prints more than the launcher buffers."""
        with self.start_unread("-vv", "-n", 300, *sh("seq 3000; sleep 1; exit 0")) as job:
            time.sleep(18)  # an agent without messages for 15 s ends its ranks
            out = job.stdout.read()
            self.assertEqual(job.wait(support.TIMEOUT), 0, out[-500:])
        said = [line for line in out.splitlines() if line.startswith(b"dlaunch: ")]
        self.assertEqual(len(out.splitlines()) - len(said), 300 * 3000)


if __name__ == "__main__":
    support.main(side_by_side=2)
