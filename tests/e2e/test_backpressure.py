"""A reader that does not keep up: memory stays bounded, nothing is lost, and the job can still be ended."""
import os
import re
import signal
import subprocess
import time

import support
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
        """The launcher and its agents: its children, where the ranks are theirs."""
        children = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, check=False).stdout
        return [job.pid, *map(int, children.split())]

    def peak_until_stalled(self, job):
        """The most memory of launcher and agents until nobody writes any more; who goes on is watched for a while."""
        peak = 0

        def watch():
            nonlocal peak
            peak = max(peak, sum(map(resident_bytes, self.ours(job))))
            return written(self.processes())

        settle(watch, timeout=PAUSE, every=0.1)
        return peak

    def stalled(self, job):
        """Once the reader that does not read has brought everybody to a halt."""
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

    def test_memory_is_bounded(self):
        self.check_memory()

    def test_memory_is_bounded_with_labels(self):
        self.check_memory("--label")

    def test_memory_is_bounded_with_json(self):
        self.check_memory("--format", "jsonl")

    def test_memory_is_bounded_with_endless_lines(self):
        with self.flood("-n", 16, *sh("exec tr '\\0' x < /dev/zero")) as job:
            self.ranks_run("tr", 16)
            peak = self.peak_until_stalled(job)
            job.stdout.close()
            job.wait(support.TIMEOUT)
        if not SANITIZED:
            self.assertLessEqual(peak, 64 * MEBI)

    def test_no_byte_is_lost(self):
        """100 ranks' lines, numbered by rank, with a pause before the first and in the middle."""
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

    def test_a_quiet_rank_is_not_starved(self):
        """While others flood a reader that keeps up slowly, a line of another rank comes through."""
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

    def test_interrupt_while_the_reader_sleeps(self):
        """The first ends the ranks; what they wrote is kept for the reader until the second."""
        with self.flood("-n", 4, "yes") as job:
            self.ranks_run("yes", 4)
            self.stalled(job)
            job.send_signal(signal.SIGINT)
            self.assert_ranks_end("yes")
            time.sleep(0.5)  # time in which one that does not wait would end
            self.assertIsNone(job.poll(), "it did not wait for the reader")
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(5), 130)
            self.assertNotIn(b"processes may be left", job.stderr.read())

    def test_interrupt_then_the_reader_wakes(self):
        with self.flood("-n", 4, "yes") as job:
            self.ranks_run("yes", 4)
            self.stalled(job)
            job.send_signal(signal.SIGINT)
            self.assert_ranks_end("yes")
            out = job.stdout.read()
            self.assertEqual(job.wait(5), 130)
        self.assertEqual(set(out.splitlines()), {b"y"})

    def test_a_failure_while_the_reader_sleeps(self):
        with self.flood("-n", 2, *sh(f"[ $RANK_ID = 1 ] || exec yes; {until_there('go')}; exit 3")) as job:
            self.ranks_run("yes", 1)
            self.stalled(job)
            (self.dir / "go").touch()
            self.assert_ranks_end("yes")
            job.stdout.read()
            self.assertIn(b"rank 1", job.stderr.read())
            self.assertEqual(job.wait(5), 3)

    def test_flood_of_stderr_into_one_pipe(self):
        """`2>&1 |`: both streams of all ranks in one pipe."""
        with self.start("-n", 8, *sh("seq 20000; seq 20000 >&2"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT) as job:
            self.stalled(job)
            out = job.stdout.read()
            self.assertEqual(job.wait(support.TIMEOUT), 0)
        numbers = out.splitlines()
        self.assertEqual(len(numbers), 16 * 20000)
        self.assertEqual(set(numbers), {b"%d" % n for n in range(1, 20001)})


class SleepingReader(ReaderCase):
    """Nobody reads stderr, into which dlaunch itself says much."""

    CHATTY = ("-vv", "-n", 100, *sh("seq 20000 >&2; exec sleep 100"))

    def start_unread(self, *args, together=True):
        """Both streams in one pipe, or stdout apart."""
        streams = (subprocess.PIPE, subprocess.STDOUT) if together else (subprocess.DEVNULL, subprocess.PIPE)
        job = self.start(*args, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1])
        self.addCleanup((job.stdout or job.stderr).close)
        return job

    def unread_jobs(self, *args):
        """One a way in which what dlaunch says can meet what the ranks write."""
        return {
            "one pipe": self.start_unread(*args, *self.CHATTY),
            "stderr apart": self.start_unread(*args, *self.CHATTY, together=False),
            "jsonl": self.start_unread("--format", "jsonl", *args, *self.CHATTY),
            "jsonl, stderr apart": self.start_unread("--format", "jsonl", *args, *self.CHATTY, together=False),
            "a terminal for each rank": self.start_unread("--pty", *args, *self.CHATTY),
            "another host": self.start_unread("--exec", "env HOST={host}", "-H", "elsewhere:100", *args, *self.CHATTY),
        }

    def all_unread(self, jobs):
        """Once all wait for their readers, with all that they had to say."""
        self.assertTrue(wait_until(lambda: all(unread(job.stdout or job.stderr) > 0 for job in jobs.values())))
        self.assertTrue(settle(lambda: written(self.processes()), every=0.1))

    def assert_end(self, jobs, code, within):
        within *= 3 if SANITIZED else 1
        end = time.monotonic() + within
        for name, job in jobs.items():
            with self.subTest(name):
                try:
                    self.assertEqual(job.wait(max(0.1, end - time.monotonic())), code)
                except subprocess.TimeoutExpired:
                    self.fail(f"it waits for the reader for more than {within} s")

    def test_a_time_limit_holds(self):
        self.assert_end(self.unread_jobs("--timeout", 2), 124, 25)

    def test_term_is_obeyed(self):
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.terminate()
        self.assert_end(jobs, 143, 25)

    def test_interrupted_twice_it_is_gone(self):
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
        self.assert_ranks_end("sleep")
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
        self.assert_end(jobs, 130, 15)

    def test_interrupted_twice_at_one_instant_it_is_gone(self):
        """The second comes before there is a reader to wait for."""
        jobs = self.unread_jobs()
        self.all_unread(jobs)
        for job in jobs.values():
            job.send_signal(signal.SIGINT)
            self.assertTrue(wait_until(lambda job=job: signals_taken(job.pid), every=0))
            job.send_signal(signal.SIGINT)
        self.assert_end(jobs, 130, 15)

    @takes_long
    def test_a_healthy_job_goes_on(self):
        """Longer than agents wait for a sign of life, with more to say than waits for a reader."""
        with self.start_unread("-vv", "-n", 300, *sh("seq 3000; sleep 1; exit 0")) as job:
            time.sleep(18)  # an agent that hears nothing for 15 s ends its ranks
            out = job.stdout.read()
            self.assertEqual(job.wait(support.TIMEOUT), 0, out[-500:])
        said = [line for line in out.splitlines() if line.startswith(b"dlaunch: ")]
        self.assertEqual(len(out.splitlines()) - len(said), 300 * 3000)


if __name__ == "__main__":
    support.main(side_by_side=2)
