"""Tests --progress: the steps that ranks print appear in the report, in stack reports and on the terminal, and a
lagging rank is reported once. Tests --stacks-on: a signal prints the stacks of the ranks."""
import json
import pathlib
import re
import signal
import subprocess
import time

from promises import ENDS, FILES, HANG, LOSES_NOTHING, RUN, promise
from support import CLEAR, Case, TIMEOUT, main, of_process, sh, wait_until, without_notes

PATTERN = r"step (\d+)"
BEHIND = re.compile(rb"dlaunch: note: (ranks? [^\n]*lags?: [^\n]*)\n")
# Ranks continue to step 30. Rank 3 stays at step 2 until all lines of the other ranks exist and dlaunch has reported
# the lag.
ONE_BEHIND = """
for i in $(seq 30); do
    [ $DLAUNCH_RANK = 3 ] && [ $i = 3 ] && break
    echo step $i
    sleep 0.02
done
while ! [ -e go ]; do sleep 0.02; done
[ $DLAUNCH_RANK != 3 ] || echo step 30
"""
TWO_ROUNDS = 'echo step $((50 - 40 * DLAUNCH_ROUND + DLAUNCH_RANK)); [ $DLAUNCH_RANK = 0 ] && [ $DLAUNCH_ROUND = 0 ] && exit 3; exec sleep 0.2'


class Progress(Case):
    def run_recorded(self, *args, **options):
        """The result of the run, and its report."""
        result = self.run_dlaunch("--progress", PATTERN, "--report", f"{self.dir}/record", *args, **options)
        return result, json.loads((self.dir / "record").read_text())

    @staticmethod
    def of_ranks(record):
        return [rank.get("progress") for rank in record["ranks"]]

    def test_report_contains_the_last_number_of_each_rank(self):
        lines = {0: r"step 1\nstep 2\nother\n", 1: r"step 3\rstep 7\r", 2: r"a step 4, step 5", 3: r"no number\n"}
        script = "case $DLAUNCH_RANK in " + " ".join(f"{rank}) printf '{text}';;" for rank, text in lines.items()) + " esac"
        result, record = self.run_recorded("-n", 4, *sh(script))
        self.assert_exit(result, 0)
        self.assertEqual(self.of_ranks(record), [2, 7, 5, None])

    def test_numbers_on_stderr_and_of_other_hosts_count(self):
        result, record = self.run_recorded("--fake-hosts", "2x2", *sh("echo step $((DLAUNCH_RANK + 10)) >&2"))
        self.assert_exit(result, 0)
        self.assertEqual(self.of_ranks(record), [10, 11, 12, 13])

    def test_numbers_in_files_count(self):
        result, record = self.run_recorded("-n", 2, "--output-filename", f"{self.dir}/logs:nocopy", *sh("echo step $DLAUNCH_RANK"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(self.of_ranks(record), [0, 1])
        self.assertEqual([(self.dir / f"logs/1/rank.{rank}/stdout").read_bytes() for rank in range(2)], [b"step 0\n", b"step 1\n"])

    def test_missing_number_is_reported_for_a_successful_job(self):
        for script, code, found in (("echo 5", 0, False), ("echo step 1", 0, True), ("echo 5; exit 3", 3, True)):
            result, record = self.run_recorded("-n", 2, *sh(script))
            self.assert_exit(result, code)
            self.assertEqual(b"note: --progress: number not found in the output of the ranks" not in result.stderr, found, script)

    def test_invalid_numbers_are_ignored(self):
        lines = ("step 9007199254740993", "step 99999999999999999999999", "step -1", "step x", "step")
        result, record = self.run_recorded("-n", len(lines), *sh(f"set -- {' '.join(map(repr, lines))}; shift $DLAUNCH_RANK; echo \"$1\""))
        self.assert_exit(result, 0)
        self.assertEqual(self.of_ranks(record), [None] * len(lines))

    def test_progress_starts_again_in_each_round(self):
        result, record = self.run_recorded("-n", 2, "--restarts", 1, *sh(TWO_ROUNDS))
        self.assert_exit(result, 0)
        self.assertEqual(self.of_ranks(record), [10, 11])
        progress = record["earlier_rounds"][0]["progress"]
        self.assertIn(progress["least"], (50, 51))  # a rank may have been ended before it wrote
        self.assertGreaterEqual(progress["most"], progress["least"])

    def test_report_has_no_progress_without_the_option(self):
        result = self.run_dlaunch("-n", 1, "--report", f"{self.dir}/record", *sh("echo step 5"))
        self.assert_exit(result, 0)
        self.assertEqual(self.of_ranks(json.loads((self.dir / "record").read_text())), [None])

    def test_lagging_rank_is_reported_once(self):
        with self.start("--fake-hosts", "2x2", "--progress", PATTERN, "--progress-lag", 10, "--report", f"{self.dir}/record",
                        *sh(ONE_BEHIND), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            seen = b""
            while not BEHIND.search(seen):
                line = job.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            (self.dir / "go").touch()
            _, rest = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, rest)
        self.assertRegex(BEHIND.search(seen)[1].decode(), r"^rank 3 \(fake2\) lags: progress [12], median of all ranks \d+$")
        self.assertIsNone(BEHIND.search(rest))
        self.assertEqual(self.of_ranks(json.loads((self.dir / "record").read_text())), [30] * 4)

    def test_terminal_shows_the_progress(self):
        script = "echo step $((DLAUNCH_RANK + 5)) >&2; while ! [ -e go ]; do sleep 0.02; done"
        with self.under_pty("-n", 2, "--progress", PATTERN, *sh(script), env={"DLAUNCH_QUIET": "true"}) as terminal:
            terminal.read_until(b" \xc2\xb7 progress 5 (rank 0) to 6")
            (self.dir / "go").touch()
            code, shown = terminal.finish()
        self.assertEqual(code, 0, shown)
        self.assertTrue(shown.endswith(CLEAR), shown)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_endless_line_uses_no_memory(self):
        script = "head -c 30000000 /dev/zero | tr '\\0' x; printf '\\nstep 5\\n'; touch done; while ! [ -e go ]; do sleep 0.02; done"
        peak = {}
        for options in ((), ("--progress", PATTERN)):
            for name in ("done", "go"):
                (self.dir / name).unlink(missing_ok=True)
            with self.start("-n", 1, *options, *sh(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                out = b""
                while not out.endswith(b"step 5\n"):
                    data = job.stdout.read1(1 << 16)
                    self.assertTrue(data)
                    out = out[-16:] + data
                peak[options] = int(re.search(rb"VmHWM:\s+(\d+)", of_process(job.pid, "status"))[1])
                (self.dir / "go").touch()
                _, err = job.communicate(timeout=TIMEOUT)
            self.assertEqual(job.returncode, 0, err)
        without, with_it = peak.values()
        self.assertLess(with_it, without + 10000, "KB")

    def test_ranks_without_progress_are_reported_and_not_ended(self):
        script = "import time\nprint('step 1', flush=True)\n" \
            "while True:\n    print('alive', flush=True)\n    time.sleep(0.2)\n"  # no local variable shows progress
        with self.start("-n", 2, "--progress", PATTERN, "--hang-after", 4, "--on-hang", "end", "python3", "-c", script,
                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            seen = b""
            while b"all threads" not in seen:
                line = job.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            self.assertIsNone(job.poll())
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 143)
        self.assertIn(b"no rank's progress has changed for 4.0 s: ", seen)
        self.assertRegex(seen.decode(), r"(blocked|running), .*, progress 1\n")  # it waits for a CPU if the machine is busy

    @promise(ENDS, mode=HANG)
    def test_silence_after_progress_is_a_hang(self):
        script = "import threading\nprint('step 1', flush=True)\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
        result, record = self.run_recorded("-n", 2, "--hang-after", 2, "--on-hang", "end", "python3", "-c", script)
        self.assert_exit(result, 124)
        self.assertEqual((record["cause"], self.of_ranks(record)), ("hung", [1, 1]))

    def test_invalid_pattern_is_rejected(self):
        result = self.run_dlaunch("-n", 1, "--progress", "step (", *sh("touch started"))
        self.assert_exit(result, 2)
        self.assertIn(b"missing )", result.stderr)
        self.assertFalse((self.dir / "started").exists())


class StacksOn(Case):
    def stacks_report(self, *args, by=signal.SIGUSR1):
        script = f"echo step $DLAUNCH_RANK; while ! [ -e {self.dir}/go ]; do sleep 0.02; done"
        with self.start(*args, "--progress", PATTERN, *sh(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            for _ in range(4):
                self.assertIn(b"step", job.stdout.readline())
            job.send_signal(by)
            seen = b""
            while b"all threads: " not in seen:
                line = job.stderr.readline()
                self.assertTrue(line, seen)
                seen += line
            self.assertIsNone(job.poll())
            (self.dir / "go").touch()
            _, rest = job.communicate(timeout=TIMEOUT)
        self.assertEqual((job.returncode, without_notes(rest)), (0, b""), "the job goes on")
        return without_notes(seen).decode()

    def test_signal_prints_stacks(self):
        seen = self.stacks_report("-n", 4, "--stacks-on", "USR1")
        self.assertRegex(seen, r"^dlaunch: job \w+; stacks of 4 ranks \(main thread\):\n")
        self.assertRegex(seen, r"progress \d(-\d)?\n")

    def test_stacks_of_several_hosts_are_in_a_file(self):
        seen = self.stacks_report("--fake-hosts", "2x2", "--stacks-on", "QUIT", "--report", f"{self.dir}/record", by=signal.SIGQUIT)
        self.assertIn("fake", seen)
        self.assertIn("== rank 3 (", pathlib.Path(re.search(r"all threads: (\S+)", seen)[1]).read_text())

    @promise(LOSES_NOTHING, mode=FILES)
    def test_stacks_of_another_job_in_the_same_directory_stay(self):
        paths, texts = [], []
        for name in ("one", "two", "two"):
            seen = self.stacks_report("-n", 4, "--stacks-on", "USR1", "--output-filename", f"{self.dir}/logs/{name}.{{rank}}")
            paths.append(pathlib.Path(re.search(r"all threads: (\S+)", seen)[1]))
            self.assertEqual(paths[-1].parent, self.dir / "logs")
            self.assertTrue(wait_until(paths[-1].exists))
            texts.append(paths[-1].read_text())
            (self.dir / "go").unlink()
        self.assertEqual(len({*paths}), 3, paths)
        self.assertEqual([path.read_text() for path in paths], texts)

    def test_signal_never_ends_the_job(self):
        """The parent ignores the signal, because the signal may arrive before dlaunch has read its command line."""
        for by in (signal.SIGUSR1, signal.SIGQUIT):
            for args in (["-n", 1], ["--fake-hosts", "2x1"]):
                said = self.dir / "said"
                with open(said, "wb") as file, self.start(*args, "--stacks-on", by.name[3:], "true", stdout=file, stderr=file,
                                                          preexec_fn=lambda by=by: signal.signal(by, signal.SIG_IGN)) as job:
                    until = time.monotonic() + TIMEOUT
                    while job.poll() is None and time.monotonic() < until:
                        job.send_signal(by)
                        time.sleep(0.001)
                    job.kill()  # if the job has not ended
                self.assertEqual(job.returncode, 0, said.read_bytes())

    def test_signal_with_another_use_is_rejected(self):
        for args in (["--stacks-on", "KILL"], ["--stacks-on", "USR1", "--checkpoint-signal", "USR2"]):
            result = self.run_dlaunch("-n", 1, *args, "true")
            self.assert_exit(result, 2)
            self.assertIn(b"QUIT", result.stderr)


if __name__ == "__main__":
    main()
