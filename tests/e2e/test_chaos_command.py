"""Tests dlaunch chaos on jobs of --fake-hosts: a job recovers from a fault or names it, and invalid faults are
rejected."""
import json
import os
import pathlib
import re
import signal
import subprocess
import xml.etree.ElementTree

from hosts_case import lines
from promises import (BAD_DISK, ENDS, FAKE_HOSTS, HERE, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RESTARTS,
                      SIGNAL, SILENCE, promise)
from support import Case, TIMEOUT, main, sh, wait_until

# Round 0 waits for a fault; round 1 succeeds.
RECOVERS = sh('echo "round $DLAUNCH_ROUND rank $DLAUNCH_RANK on $DLAUNCH_HOST"; [ "$DLAUNCH_ROUND" = 1 ] || exec sleep 1000')
WAITS = sh('echo "up $DLAUNCH_RANK"; exec sleep 1000')


class Chaos(Case):
    place = FAKE_HOSTS
    leaves = 30  # an agent whose link is stopped waits for three heartbeats

    def chaos(self, faults, *words, options=(), env=None):
        given = [word for fault in faults for word in ("--fault", fault)]
        return self.run_dlaunch("chaos", *given, *options, "--", *words, timeout=2 * TIMEOUT, env=env)

    def wait_told(self, job, part):
        """Reads the job's stderr up to a line that contains `part`."""
        for line in job.stderr:
            if part in line:
                return
        self.fail(f"ended without {part}")

    def assert_holds(self, result, job_code):
        self.assert_exit(result, 0)
        self.assertRegex(result.stderr.decode(), rf"chaos: \d faults?, (\d+) of \1 checks passed; the job exited with {job_code}; seed \d+\n")

    @promise(ENDS, NAMES_FIRST, mode=RESTARTS)
    def test_job_recovers_from_a_killed_rank(self):
        result = self.chaos(["kill:rank=3@line:/rank 3/"], "--fake-hosts", "2x2", "--restarts", 1, *RECOVERS,
                            options=["--expect", "restarts=1,code=0,first=3", "--report", "report.json", "--junit", "junit.xml"])
        self.assert_holds(result, 0)
        self.assertEqual(sorted(line for line in lines(result.stdout) if line.startswith("round 1")), [f"round 1 rank {rank} on fake{rank // 2 + 1}" for rank in range(4)])
        self.assertRegex(result.stderr.decode(), r"dlaunch: chaos: \d+\.\d{3} s: kill:rank=3@line:/rank 3/ \(host fake2, pid \d+\)\n")
        report = json.loads((self.dir / "report.json").read_text())
        fault, = report["faults"]
        self.assertEqual((fault["fault"], fault["fired"], fault["host"], fault["round"]), ("kill:rank=3@line:/rank 3/", True, "fake2", 0))
        self.assertTrue(all(check["holds"] for check in report["checks"]), report["checks"])
        suite = xml.etree.ElementTree.parse(self.dir / "junit.xml").getroot()
        self.assertEqual((int(suite.get("tests")), suite.get("failures")), (len(report["checks"]), "0"))
        again = self.run_dlaunch("chaos", "--plan", "report.json", "--", "dlaunch", "--fake-hosts", "2x2", "--restarts", 1, *RECOVERS)
        self.assert_holds(again, 0)

    def test_seed_chooses_the_rank_of_any(self):
        met = set()
        for _ in range(2):
            result = self.chaos(["kill:rank=any@0s"], "-n", 4, *WAITS, options=["--seed", 7, "--report", "report.json"])
            self.assert_holds(result, 137)
            met.add(json.loads((self.dir / "report.json").read_text())["faults"][0]["fault"])
        self.assertEqual(len(met), 1, met)

    @promise(ENDS, mode=(RESTARTS, KILL))
    def test_spare_host_replaces_a_killed_agent(self):
        result = self.chaos(["kill:agent=fake2@line:/rank 2/"], "--fake-hosts", "3x2", "-n", 4, "--spares", 1, "--restarts", 1,
                            *RECOVERS, options=["--expect", "restarts=1,code=0"])
        self.assert_holds(result, 0)
        self.assertIn(b"round 1 rank 3 on fake3\n", result.stdout)

    def test_stopped_rank_is_continued(self):
        script = 'echo "up $DLAUNCH_RANK"; until [ -e told ]; do sleep 0.05; done; echo "done $DLAUNCH_RANK"'
        job = self.start("chaos", "--fault", "stop:rank=1@line:/up 1/+1s", "--", "-n", 2, *sh(script), stdout=-1, stderr=-1)
        with job:
            self.wait_told(job, b"undone: stop:rank=1")
            (self.dir / "told").touch()
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        self.assertIn(b"done 1\n", out)

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL, place=HERE)
    def test_signal_reaches_the_launcher(self):
        self.assert_holds(self.chaos(["signal:TERM:launcher@line:/up 1/"], "-n", 2, *WAITS), 143)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_launcher_is_killed(self):
        self.assert_holds(self.chaos(["kill:launcher@line:/up 1/"], "--fake-hosts", "2x1", *WAITS), 137)

    @promise(LOSES_NOTHING, mode=SILENCE)
    def test_short_cut_of_a_link_loses_no_output(self):
        script = 'i=0; until [ -e told ]; do i=$((i+1)); echo "$DLAUNCH_RANK line $i"; sleep 0.05; done; echo "$DLAUNCH_RANK wrote $i lines"'
        job = self.start("chaos", "--fault", "cut:fake2@line:/1 line 3$/+2s", "--", "--fake-hosts", "2x1", *sh(script), stdout=-1, stderr=-1)
        with job:
            self.wait_told(job, b"undone: cut:fake2")
            (self.dir / "told").touch()
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        for rank in range(2):
            *wrote, last = [line for line in lines(out) if line.startswith(f"{rank} ")]
            self.assertEqual(wrote, [f"{rank} line {i + 1}" for i in range(len(wrote))])
            self.assertEqual(last, f"{rank} wrote {len(wrote)} lines")

    @promise(ENDS, NAMES_FIRST, mode=SILENCE)
    def test_reset_link_loses_its_host(self):
        result = self.chaos(["reset:fake2@line:/up 1/"], "--fake-hosts", "2x1", *WAITS)
        self.assert_holds(result, 125)
        self.assertIn(b"fake2", result.stderr)

    @promise(LOSES_NOTHING, mode=SILENCE)
    def test_slow_link_loses_no_output(self):
        script = 'echo up; until [ -e told ]; do sleep 0.05; done; head -c 300000 /dev/zero | tr "\\0" x; echo'
        job = self.start("chaos", "--fault", "slow:fake1=100kB/s@line:/up/", "--report", "report.json", "--", "--fake-hosts", "1x1", *sh(script), stdout=-1, stderr=-1)
        with job:
            self.wait_told(job, b"slow:fake1")
            (self.dir / "told").touch()
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(out, b"up\n" + b"x" * 300000 + b"\n")
        report = json.loads((self.dir / "report.json").read_text())
        self.assertGreater(report["seconds"], 2.5)

    @promise(ENDS, LOSES_NOTHING, mode=BAD_DISK)
    def test_full_output_file_fails_the_job(self):
        chatty = sh("while :; do echo 0123456789012345678901234567890123456789; done")
        result = self.chaos(["full:output@64KiB"], "--fake-hosts", "2x1", "--output-filename", "logs:nocopy", *chatty)
        self.assert_holds(result, 1)
        sizes = [path.stat().st_size for path in (self.dir / "logs").rglob("stdout")]
        self.assertEqual((len(sizes), max(sizes)), (2, 65536))

    def test_full_fault_without_a_large_file_fails(self):
        result = self.chaos(["full:output@1MiB"], "--fake-hosts", "2x1", "--output-filename", "logs", "echo", "few")
        self.assert_exit(result, 3)
        self.assertRegex(result.stderr.decode(), r"check failed: every planned fault was injected: full:output@\w+: no output file reached this size\n")

    def test_fault_that_never_fires_fails(self):
        result = self.chaos(["kill:rank=0@1h"], "-n", 1, "true", options=["--junit", "junit.xml"])
        self.assert_exit(result, 3)
        self.assertIn(b"check failed: every planned fault was injected: kill:rank=0@3600s: the job ended before", result.stderr)
        self.assertEqual(xml.etree.ElementTree.parse(self.dir / "junit.xml").getroot().get("failures"), "1")

    def test_fault_at_a_hidden_line_fails(self):
        result = self.chaos(["kill:rank=0@line:/up 1/"], "-n", 2, "--ranks", 0, *sh("echo up $RANK_ID"))
        self.assert_exit(result, 3)
        self.assertIn(b"kill:rank=0@line:/up 1/: the job ended before its stdout contained a matching line", result.stderr)

    def test_stacks_stay_at_the_printed_path(self):
        result = self.chaos(["signal:STOP:rank=0@.1s"], "-n", 2, "--timeout", 1, *WAITS, env={"TMPDIR": str(self.dir)})
        path = re.search(r"all threads: (/\S+)", result.stderr.decode())
        self.assertTrue(path, result.stderr)
        stacks = pathlib.Path(path.group(1))
        self.assertEqual(stacks.stat().st_mode & 0o777, 0o600)
        self.assertEqual([file.name for file in stacks.parent.iterdir()], ["record.stacks.1"])

    def test_broken_expectation_fails(self):
        result = self.chaos(["kill:rank=1@line:/up 1/"], "-n", 2, *WAITS, options=["--expect", "code=0"])
        self.assert_exit(result, 1)
        self.assertIn(b"check failed: code is 0: the value is 137", result.stderr)

    def test_impossible_faults_are_rejected_before_the_start(self):
        started = ("touch", "started")
        for words, why in ((["--fault", "cut:fake1@1s", "--", "-n", "1", *started], b"controls only the links"),
                           (["--fault", "kill:rank=0@1s", "--", "-H", "elsewhere", *started], b"processes of other hosts"),
                           (["--fault", "kill:rank=0@1s", "--", "--same-line", "--nodes", "2", "--node-rank", "1", *started], b"this is node 1 of a --same-line job"),
                           (["--fault", "reset:fake9@1s", "--", "--fake-hosts", "2x1", *started], b"the job does not have host fake9"),
                           (["--fault", "kill:rank=2@1s", "--", "-n", "2", *started], b"the job has 2 ranks"),
                           (["--fault", "kill:rank=1@round=1:1s", "--", "-n", "2", *started], b"the job's last round is 0"),
                           (["--fault", "kill:rank=1@1s", "--report", "missing/x", "--", "-n", "2", *started], b"missing/x"),
                           (["--fault", "full:output@1MiB", "--", "--fake-hosts", "2x1", *started], b"the job does not write output files"),
                           (["--fault", "kill:rank=0@line:/x/", "--", "--output-filename", "logs:nocopy", *started], b"stdout goes only to files"),
                           (["--fault", "kill:rank=0@line:/x/", "--", "--stdout-file", "logs", *started], b"stdout goes only to files"),
                           (["--fault", "kill:rank=any@1s", "--", *started], b"add --seed N"),
                           (["--fault", "crash:rank=0@1s", "--", *started], b"invalid fault"),
                           (["--expect", "code=0", "--", *started], b"missing --fault"),
                           (["--fault", "kill:rank=0@1s"], b"missing job"),
                           (["--fault", "kill:rank=0@1s", "--", "--dry-run", *started], b"remove --dry-run"),
                           (["--fault", "kill:rank=0@1s", "--", "check", *started], b"does not start a job"),
                           (["--fault", "kill:rank=0@1s", "--", "--as", "torchrun", *started], b"dlaunch's own command line"),
                           (["--plan", "missing", "--", *started], b"missing"),
                           (["--fault", "kill:rank=0@1s", "--", "--no-such", *started], b"--no-such")):
            result = self.run_dlaunch("chaos", *words)
            self.assert_exit(result, 2)
            self.assertIn(why, result.stderr)
        self.assertFalse((self.dir / "started").exists())

    def test_unusable_directory_for_temporary_files_is_rejected(self):
        long = self.dir / ("x" * 100)
        long.mkdir()
        file = self.dir / "file"
        file.touch()
        for directory, why in ((long, rf"TMPDIR: the path has {len(str(long))} bytes, but a unix socket allows at most \d+\n"
                                      r"dlaunch:   set TMPDIR to a shorter path, for example /tmp\n"),
                               (file, r"TMPDIR: cannot use the directory for temporary files: Not a directory\n"
                                      r"dlaunch:   set TMPDIR to a writable directory\n"),
                               (self.dir / "missing", r"TMPDIR: cannot use the directory for temporary files: No such file or directory\n"
                                                      r"dlaunch:   set TMPDIR to a writable directory\n")):
            with self.subTest(directory):
                result = self.run_dlaunch("chaos", "--fault", "kill:rank=0@1s", "--", "--fake-hosts", "2x1", "touch", "started",
                                          env={"TMPDIR": str(directory)})
                self.assert_exit(result, 2)
                self.assertRegex(result.stderr.decode(), f"^dlaunch: {why}$")
        self.assertFalse((self.dir / "started").exists())
        self.assertEqual(os.listdir(long), [])

    def test_longest_usable_directory_for_temporary_files(self):
        """The longest path that is not rejected: a unix socket's path has at most 107 bytes."""
        longest = self.dir / ("x" * (107 - len("/dlaunch-chaos-XXXXXX/links") - len(str(self.dir)) - 1))
        longest.mkdir()
        result = self.run_dlaunch("chaos", "--fault", "kill:rank=0@0s", "--", "--fake-hosts", "1x1", *WAITS, env={"TMPDIR": str(longest)})
        self.assert_holds(result, 137)
        self.assertEqual(os.listdir(longest), [])

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_faults_are_undone_if_chaos_is_killed(self):
        with self.start("chaos", "--fault", "stop:rank=1@line:/up 1/", "--", "--fake-hosts", "2x1", *WAITS, stdout=-1, stderr=subprocess.PIPE,
                        env={"TMPDIR": str(self.dir)}) as job:
            self.wait_told(job, b"stop:rank=1")
            sleeps = self.find("sleep 1000")
            self.assertTrue(wait_until(lambda: [pid for pid in sleeps if self.state(pid) == "T"], TIMEOUT), "no rank is stopped")
            job.send_signal(signal.SIGKILL)
        self.assert_nothing_left()
        self.assertEqual(list(self.dir.glob("dlaunch-chaos-*")), [])

    def state(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def test_help_names_the_options(self):
        out = self.assert_succeeds("chaos", "--help")
        for option in (b"--fault", b"--plan", b"--seed", b"--expect", b"--report", b"--junit"):
            self.assertIn(option, out)


if __name__ == "__main__":
    main()
