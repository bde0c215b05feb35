"""Tests the console of jobs with much output: --console-rate, progress bars of several ranks, and --group-output."""
import re
import signal
import sys
import time

import support
from promises import BAD_DISK, FAILURE, FILES, LOSES_NOTHING, RESTARTS, RUN, promise
from support import CLEAR, Case, screen, sh

PYTHON = sys.executable
NOTE = re.compile(rb"^\xe2\x80\xa6 ([\d,]+) (stdout|stderr) lines? of (\d+) ranks? not shown; see (.*)$", re.M)
# A bar as tqdm draws it, on stderr.
TQDM = """
import os, sys, time
rank, steps, pause = int(os.environ["RANK_ID"]), int(sys.argv[1]), float(sys.argv[2])
for step in range(steps + 1):
    sys.stderr.write(f"\\rtrain: {100 * step // steps:3d}%|{'#' * (20 * step // steps):20s}| {step}/{steps} [00:01]")
    sys.stderr.flush()
    time.sleep(pause * (1 + rank / 8))
sys.stderr.write("\\n")
"""


def shown_and_hidden(out):
    """The numbers of shown and of hidden lines."""
    hidden = sum(int(note[0].replace(b",", b"")) for note in NOTE.findall(out))
    return len(NOTE.sub(b"", out).split()), hidden


class ConsoleRate(Case):
    @promise(LOSES_NOTHING, mode=RUN)
    def test_hidden_lines_are_counted_and_files_have_all_lines(self):
        for options in ([], ["--fold=exact"], ["--label"]):
            with self.subTest(options=options):
                out = self.assert_succeeds("-n", 3, "--console-rate", 50, "--output-filename", "logs", *options,
                                           *sh("seq $((RANK_ID * 1000 + 1)) $((RANK_ID * 1000 + 1000))"))
                text = re.sub(rb"^\[[\d, -]+\] *", b"", out, flags=re.M)
                shown, hidden = shown_and_hidden(text)
                self.assertEqual(shown + hidden, 3000, out)
                self.assertLess(shown, 2000)
                self.assertEqual(NOTE.findall(out)[-1][3].decode(), str(self.dir / "logs/1"))
                for rank in range(3):
                    self.assertEqual(len((self.dir / f"logs/1/rank.{rank}/stdout").read_text().split()), 1000)

    def test_the_rate_is_kept(self):
        started = time.monotonic()
        out = self.assert_succeeds("-n", 2, "--console-rate", "20/s", "--output-filename", "logs",
                                   *sh("for i in $(seq 60); do seq 20; sleep 0.05; done"))
        shown, hidden = shown_and_hidden(out)
        self.assertEqual(shown + hidden, 2400)
        self.assertLessEqual(shown, 20 * (time.monotonic() - started + 1))
        self.assertGreaterEqual(len(NOTE.findall(out)), 3)

    @promise(LOSES_NOTHING, mode=FAILURE)
    def test_the_summary_has_hidden_lines_of_the_failed_rank(self):
        result = self.run_dlaunch("-n", 2, "--console-rate", 5, "--output-filename", "logs",
                                  *sh("seq 100 >&2; test $RANK_ID = 0 && { touch done; sleep 60; }; "
                                      "while ! test -e done; do sleep 0.01; done; echo the reason >&2; exit 3"))
        self.assert_exit(result, 3)
        self.assertIn(b"the reason", result.stderr.split(b"dlaunch: ", 1)[1])
        shown, hidden = shown_and_hidden(result.stderr.split(b"dlaunch: ", 1)[0])
        self.assertEqual(shown + hidden, 201)

    @promise(LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_hidden_lines_that_no_file_has_are_counted(self):
        disk = self.mount_small_disk()
        ranks, lines = 3, 40000
        result = self.run_dlaunch("-n", ranks, "--console-rate", 5, "--on-output-error", "continue", "--output-filename", disk / "logs",
                                  "--label=<{rank}>", "seq", lines)
        self.assert_exit(result, 1)
        error = result.stderr.decode()
        shown = set(re.findall(r"(?m)^<(\d)>\D*(\d+)$", result.stdout.decode()))
        missing = 0
        for rank in range(ranks):
            path = disk / f"logs/1/rank.{rank}/stdout"
            written = set(path.read_text().rpartition("\n")[0].split("\n"))
            missing += sum(str(line) not in written and (str(rank), str(line)) not in shown for line in range(1, lines + 1))
            if len(written) < lines:
                self.assertEqual(error.count(f"{path}"), 1, error)
        counted = re.search(r"--console-rate: up to (\d+) lines? of output lost", error)
        self.assertGreater(missing, 0)
        self.assertTrue(counted, error)
        self.assertIn(int(counted[1]), range(missing, ranks * lines))

    @promise(LOSES_NOTHING, mode=RESTARTS)
    def test_each_round_has_its_count(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 1, "--console-rate", 5, "--output-filename", "logs",
                                  *sh("seq 100; sleep 0.2; test $RANK_ID = 0 && exit 3; sleep 60"))
        self.assert_exit(result, 3)
        self.assertEqual(shown_and_hidden(result.stdout)[0] + shown_and_hidden(result.stdout)[1], 400)
        self.assertIn(str(self.dir / "logs/1/round.1").encode(), NOTE.findall(result.stdout)[-1][3])

    def test_ctrl_c_prints_the_last_count(self):
        with self.start("-n", 2, "--console-rate", 5, "--output-filename", "logs", "--grace", 0.2,
                        *sh("seq 100; touch done.$RANK_ID; while :; do sleep 0.05; done"), stdin=None, stdout=-1, stderr=-1) as job:
            support.wait_until(lambda: len(list(self.dir.glob("done.*"))) == 2)
            job.send_signal(signal.SIGINT)
            out, _ = job.communicate(timeout=support.TIMEOUT)
        self.assertIn(job.returncode, (130, -signal.SIGINT))
        self.assertEqual(sum(shown_and_hidden(out)), 200, out)

    def test_files_must_have_all_lines(self):
        rejected = {b"--console-rate requires --output-filename DIR: log files must contain all lines of stdout": [[], ["--stderr-file", "e:copy"]],
                    b"--console-rate requires --output-filename DIR: log files must contain all lines of stderr": [
                        ["--stdout-file", "o"], ["--stdout-file", "o.{rank}:copy"], ["--stdout-file", "o:copy", "--stderr-file", "e:local=0"]]}
        for text, lines in rejected.items():
            for options in lines:
                result = self.run_dlaunch("-n", 2, "--console-rate", 5, *options, "echo", "hello")
                self.assert_exit(result, 2)
                self.assertIn(text, result.stderr, options)
        for options in (["--output-filename", "l/{rank}"],
                        ["--stdout-file", "o.{rank}:copy", "--merge-stderr-to-stdout"],
                        ["--stdout-file", "o.{rank}:copy", "--stderr-file", "e.{rank}"]):
            self.assert_succeeds("-n", 2, "--console-rate", 5, *options, "true")

    def test_conflicts_and_values(self):
        result = self.run_dlaunch("-n", 2, "--console-rate", 5, "--output-filename", "logs:nocopy", "echo", "hello")
        self.assert_exit(result, 2)
        self.assertIn(b"no output reaches the console", result.stderr)
        for options in (["--raw"], ["--pty"], ["--format=jsonl"]):
            result = self.run_dlaunch("-n", 2, "--console-rate", 5, "--output-filename", "logs", *options, "echo", "hello")
            self.assert_exit(result, 2)
            self.assertIn(b"conflicts with", result.stderr)
        for value in ("0", "-1", "x", "5/m"):
            self.assert_exit(self.run_dlaunch("-n", 2, f"--console-rate={value}", "--output-filename", "logs", "true"), 2)

    def test_the_configuration_file_has_no_effect_without_files(self):
        (self.dir / "config").write_text('console-rate = "5"\n')
        out = self.assert_succeeds("--config", "config", "-n", 1, "seq", "100")
        self.assertEqual(len(out.split()), 100)
        out = self.assert_succeeds("--config", "config", "-n", 1, "--output-filename", "logs", "seq", "100")
        self.assertEqual(shown_and_hidden(out), (5, 95))

    def test_a_closed_reader_ends_the_job(self):
        command = " ".join([*map(str, [support.DLAUNCH, "-n", 2, "--console-rate", 5, "--output-filename", "logs", "yes"]), "| head -2"])
        self.assertEqual(support.subprocess.run(["timeout", "20", "sh", "-c", command], cwd=self.dir, stdout=-1, check=True).stdout, b"y\ny\n")


class ProgressBars(Case):
    def shown(self, *args, ranks=4, columns=120, env=None):
        (self.dir / "bar.py").write_text(TQDM)
        with self.under_pty("-n", ranks, "--oversubscribe", "--quiet", *args, columns=columns, env={"NO_COLOR": "1", **(env or {})}) as terminal:
            code, shown = terminal.finish()
        self.assertEqual(code, 0, shown)
        return shown

    def test_a_single_line_shows_every_bar(self):
        shown = self.shown("--output-filename", "logs", PYTHON, "bar.py", 40, 0.05)
        drawn = re.findall(rb"slowest (\d+)% \(rank \d\) \xc2\xb7 median (\d+)% \xc2\xb7 fastest (\d+)% \(rank \d\) \xc2\xb7 train: +(\d+)%", shown)
        self.assertGreater(len(drawn), 2, shown)
        for slowest, median, fastest, text in drawn:
            self.assertTrue(int(slowest) <= int(median) <= int(fastest), drawn)
            self.assertEqual(slowest, text)
        lines = [line for line in screen(shown) if line.strip()]
        self.assertEqual(len(lines), 4, shown)
        self.assertTrue(all(re.fullmatch(rb"train: 100%\|#{20}\| 40/40 \[00:01\]", line) for line in lines), lines)
        self.assertEqual((self.dir / "logs/1/rank.0/stderr").read_bytes().count(b"\r"), 41)

    def test_the_line_is_drawn_at_most_4_times_per_second(self):
        started = time.monotonic()
        shown = self.shown(PYTHON, "bar.py", 1000, 0.001)
        self.assertLessEqual(shown.count(b"slowest"), 4 * (time.monotonic() - started) + 1)

    def test_lines_of_ranks_erase_the_bars(self):
        (self.dir / "bar.py").write_text(TQDM)
        script = f'if test $RANK_ID = 3; then sleep 1; echo said; sleep 1; else exec {PYTHON} bar.py 40 0.05; fi'
        shown = self.shown(*sh(script))
        self.assertIn(CLEAR + b"said\r\n", shown)
        self.assertEqual([line for line in screen(shown) if b"said" in line or b"slowest" in line], [b"said"], shown)

    def test_folded_bars_leave_one_line(self):
        for _ in range(10):  # on a busy machine, ranks that end late miss the 250 ms
            lines = [line for line in screen(self.shown("--fold", *sh("printf '\\r10%%'; sleep 0.5; printf '\\r100%%\\n'"), ranks=9)) if line]
            if lines == [b"[0-8] 100%"]:
                break
        self.assertEqual(lines, [b"[0-8] 100%"])

    def test_without_a_line_all_updates_are_printed(self):
        for words, env in ((["--status", "off"], {}), ([], {"TERM": "dumb"}), (["--raw"], {})):
            shown = self.shown(*words, PYTHON, "bar.py", 10, 0.01, ranks=2, env=env)
            self.assertEqual(shown.count(b"train:"), 22, shown)
        out = self.run_dlaunch("-n", 2, PYTHON, "bar.py", 10, 0).stderr
        self.assertEqual(out.count(b"\r"), 22)

    def test_a_bar_narrower_than_its_text_stays_in_one_row(self):
        with self.under_pty("-n", 2, "--quiet", PYTHON, "-c", TQDM, 60, 0.03, columns=30, env={"NO_COLOR": "1"}) as terminal:
            terminal.read_until(b"slowest")
            terminal.resize(24, 20)
            code, shown = terminal.finish()
        self.assertEqual(code, 0)
        drawn = re.findall(rb"\x1bE(slowest[^\x1b]*)\x1b8", shown)
        self.assertLessEqual(max(len(text.decode()) for text in drawn), 29, drawn)
        self.assertLessEqual(len(drawn[-1].decode()), 19, drawn)


class Groups(Case):
    def groups(self, text):
        """[(title, lines)] of the groups of GitHub."""
        found = re.findall(rb"::group::(.*)\n::stop-commands::(.*)\n((?s:.*?))::\2::\n::endgroup::\n", text)
        self.assertEqual(text.count(b"::group::"), len(found), text)
        return sorted((title.decode(), lines.decode()) for title, _, lines in found)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_the_lines_of_each_rank_are_together(self):
        out = self.assert_succeeds("-n", 3, "--group-output", *sh("for i in 1 2 3; do echo $RANK_ID.$i; sleep 0.05; done; echo oops >&2"),
                                   env={"GITHUB_ACTIONS": "true"})
        host = re.search(rb"rank 0 \((.*)\)", out).group(1).decode()
        self.assertEqual(self.groups(out), [(f"rank {rank} ({host})", f"{rank}.1\n{rank}.2\n{rank}.3\noops\n") for rank in range(3)])

    def test_commands_of_a_rank_stay_in_its_group(self):
        script = "echo ::endgroup::; echo '::add-mask::x'; printf '::stop-commands::y'"
        out = self.assert_succeeds("-n", 2, "--group-output=github", *sh(script))
        tokens = re.findall(rb"\n::stop-commands::(dlaunch-[0-9a-f]{32})\n::endgroup::\n::add-mask::x\n::stop-commands::y\n::\1::\n", out)
        self.assertEqual(len(tokens), 2, out)

    def test_gitlab(self):
        out = self.assert_succeeds("-n", 2, "--group-output", "echo", "hello", env={"GITLAB_CI": "true"})
        pattern = rb"\x1b\[0Ksection_start:(\d+):dlaunch_(\d)\[collapsed=true\]\r\x1b\[0Krank \d \(.*\)\nhello\n\x1b\[0Ksection_end:\d+:dlaunch_\2\r\x1b\[0K\n"
        self.assertEqual(len(re.findall(pattern, out)), 2, out)
        self.assertLess(abs(int(re.search(pattern, out).group(1)) - time.time()), 60)

    def test_without_a_ci_system_or_the_option_lines_do_not_change(self):
        self.assertEqual(self.assert_succeeds("-n", 2, "--group-output", "echo", "hello", env={"GITHUB_ACTIONS": "", "GITLAB_CI": ""}), b"hello\n" * 2)
        self.assertEqual(self.assert_succeeds("-n", 2, "echo", "::debug::x", env={"GITHUB_ACTIONS": "true"}), b"::debug::x\n" * 2)

    @promise(LOSES_NOTHING, mode=FAILURE)
    def test_a_failed_job_prints_all_groups_before_the_summary(self):
        result = self.run_dlaunch("-n", 3, "--group-output=github", *sh(
            "echo hello; touch $RANK_ID; [ $RANK_ID = 1 ] || exec sleep 60; until [ -e 0 ] && [ -e 2 ]; do sleep 0.05; done; exit 3"), stderr=-2, cwd=self.dir)
        self.assert_exit(result, 3)
        groups, summary = result.stdout.split(b"dlaunch: ", 1)
        self.assertEqual([lines for _, lines in self.groups(groups)], ["hello\n"] * 3)
        self.assertNotIn(b"::group::", summary)

    def test_conflicts(self):
        for option in ("--raw", "--pty", "--format=jsonl", "--fold"):
            result = self.run_dlaunch("-n", 2, "--group-output", option, "echo", "hello")
            self.assert_exit(result, 2)
            self.assertIn(b"conflicts with", result.stderr)


if __name__ == "__main__":
    support.main(side_by_side=3)
