"""Tests the output on the console: whole lines, labels, arbitrary bytes, prompts, jsonl, colour, and a closed or full
stdout."""
import base64
import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import time

import support
from promises import BAD_DISK, ENDS, FAILURE, FILES, LEAVES_NOTHING, LOSES_NOTHING, READER, RUN, promise
from support import Case, SANITIZED, program, screen, sh, until_there, wait_until

ESCAPE = b"\x1b["
MANY = 2000 if SANITIZED else 20000


class Lines(Case):
    def check_lines(self, *options, prefix=b""):
        """8 ranks write short lines as fast as possible. Each line arrives complete and in the order of its rank."""
        out = self.assert_succeeds("-n", 8, *options, *sh(f'exec seq -f "line $RANK_ID %.0f end" 1 {MANY}'))
        seen = [0] * 8
        for line in out.splitlines():
            self.assertRegex(line, rb"^" + prefix + rb"line [0-7] \d+ end$")
            rank, number = map(int, re.search(rb"line (\d) (\d+)", line).groups())
            seen[rank] += 1
            self.assertEqual(number, seen[rank])
        self.assertEqual(seen, [MANY] * 8)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_lines_are_complete(self):
        self.check_lines()

    @promise(LOSES_NOTHING, mode=RUN)
    def test_labelled_lines_are_complete(self):
        self.check_lines("--label", prefix=rb"\[[0-7]\] ")

    def test_label_names_the_rank_of_the_line(self):
        out = self.assert_succeeds("-n", 12, "--label", *sh('echo "I am $RANK_ID"'))
        self.assertEqual(sorted(out.splitlines()), sorted(b"[%2d] I am %d" % (n, n) for n in range(12)))

    def test_label_template_fields_are_replaced(self):
        host = os.uname().nodename.encode()
        label = "{{{rank}/{local_rank}@{host}:{stream}:{device}}} {time} "
        result = self.run_dlaunch("-n", 2, "--fake-devices", 2, f"--label={label}", *sh("echo out; echo err >&2"))
        self.assert_exit(result, 0)
        when = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} "
        for stream, text in ((b"stdout", result.stdout), (b"stderr", result.stderr)):
            for rank, line in enumerate(sorted(text.splitlines())):
                self.assertRegex(line, rb"^\{%d/%d@%s:%s:%d\} %s%s$" %
                                 (rank, rank, re.escape(host), stream, rank, when, stream[3:]))

    def test_unknown_label_field_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--label={rnak}", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"rnak", result.stderr)

    def test_tag_and_timestamp_have_open_mpis_format(self):
        date = rb"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d \d{4}"
        for options, form in ((["--tag-output"], rb"\[1,%d\]<%s>:"),
                              (["--timestamp-output"], date + rb"<%s>:"),
                              (["--tag-output", "--timestamp-output"], date + rb"\[1,%d\]<%s>:")):
            with self.subTest(options=options):
                result = self.run_dlaunch("-n", 12, *options, *sh("echo a; echo; printf b; echo c >&2"))
                self.assert_exit(result, 0)
                for stream, text, lines in ((b"stdout", result.stdout, [b"a", b"", b"b"]),
                                            (b"stderr", result.stderr, [b"c"])):
                    for rank in (range(12) if b"%d" in form else [None]):
                        tag = form % ((stream,) if rank is None else (rank, stream))
                        found = re.findall(rb"(?m)^" + tag + rb"(.*)$", text)
                        self.assertEqual(sorted(found), sorted(lines * (12 if rank is None else 1)))
                    self.assertEqual(len(text.splitlines()), 12 * len(lines))

    def test_stderr_of_ranks_is_on_stderr(self):
        result = self.run_dlaunch("-n", 4, *sh("echo out $RANK_ID; echo err $RANK_ID >&2"))
        self.assert_exit(result, 0)
        for name, text in (("out", result.stdout), ("err", result.stderr)):
            self.assertEqual(sorted(text.decode().splitlines()), [f"{name} {n}" for n in range(4)])

    @promise(LOSES_NOTHING, mode=RUN)
    def test_merged_stderr_keeps_the_order(self):
        script = "i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done"
        out = self.assert_succeeds("-n", 2, "--merge-stderr-to-stdout", "--label", *sh(script))
        for rank in (0, 1):
            mine = [line[4:] for line in out.splitlines() if line.startswith(b"[%d] " % rank)]
            self.assertEqual(mine, [b"%c%d" % (c, n) for n in range(500) for c in b"oe"])

    def test_ranks_option_chooses_the_shown_ranks(self):
        out = self.assert_succeeds("-n", 8, "--ranks", "0,3-5", *sh("echo $RANK_ID"))
        self.assertEqual(sorted(out.split()), [b"0", b"3", b"4", b"5"])

    def test_unknown_ranks_are_rejected(self):
        result = self.run_dlaunch("-n", 4, "--ranks", "2,7", *sh("echo $RANK_ID"))
        self.assert_exit(result, 2)
        self.assertIn(b"--ranks", result.stderr)


class Bytes(Case):
    def blob(self, size, name="blob"):
        path = self.dir / name
        path.write_bytes(os.urandom(size))
        return path

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_of_a_single_rank_is_byte_exact(self):
        blob = self.blob((2 if SANITIZED else 20) << 20)
        self.assertEqual(self.assert_succeeds("-n", 1, "cat", blob), blob.read_bytes())

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_of_a_single_shown_rank_is_byte_exact(self):
        (self.dir / "odd").write_bytes(b"\r\r\n\0no newline\xff\n\n\x1b[31m\rend")
        out = self.assert_succeeds("-n", 4, "--ranks", "2", "cat", "odd")
        self.assertEqual(out, (self.dir / "odd").read_bytes())

    @promise(LOSES_NOTHING, mode=RUN)
    def test_raw_output_is_byte_exact(self):
        blob = self.blob(3 << 20)
        out = self.assert_succeeds("-n", 3, "--raw", *sh(f'[ $RANK_ID = 1 ] && exec cat {blob}; exit 0'))
        self.assertEqual(out, blob.read_bytes())

    @promise(LOSES_NOTHING, mode=RUN)
    def test_long_lines_are_not_mixed(self):
        """Lines of 1 MiB from several ranks are not mixed, and each has its label."""
        write = 'import sys; sys.stdout.write((sys.argv[1] * (1 << 20) + "\\n") * 3)'
        for options, prefix in ([], b""), (["--label"], b"[%d] "):
            with self.subTest(options=options):
                out = self.assert_succeeds("-n", 3, *options, *sh(f"exec {sys.executable} -c '{write}' $RANK_ID"))
                lines = out.split(b"\n")
                self.assertEqual(lines.pop(), b"")
                expected = [(prefix % n if prefix else b"") + b"%d" % n * (1 << 20) for n in range(3) for _ in range(3)]
                self.assertTrue(sorted(lines) == sorted(expected), f"{[(len(l), l[:9], l[-3:]) for l in lines]}")

    @promise(LOSES_NOTHING, mode=RUN)
    def test_arbitrary_bytes_are_unchanged(self):
        odd = b"\0nul\0\n\xff\xfe\xc3\n\n  \xe2\x82\n\x1b[31mred\nlast"
        (self.dir / "odd").write_bytes(odd)
        out = self.assert_succeeds("-n", 2, "--label", "cat", "odd")
        lines = [b"[%d] %s" % (n, line) for n in (0, 1) for line in odd.split(b"\n")]
        self.assertEqual(sorted(out.rstrip(b"\n").split(b"\n")), sorted(lines))

    def test_missing_final_newline_is_added(self):
        out = self.assert_succeeds("-n", 3, *sh("printf %s $RANK_ID"))
        self.assertEqual(sorted(out.splitlines()), [b"0", b"1", b"2"])

    def test_carriage_return_ends_a_record(self):
        out = self.assert_succeeds("-n", 2, "--label", *sh(r"printf '10%%\r'; printf '20%%\r'; printf '30%%\n'"))
        for rank in (0, 1):
            mine = re.findall(rb"\[%d\] (\d+%%[\r\n])" % rank, out)
            self.assertEqual(mine, [b"10%\r", b"20%\r", b"30%\n"])

    @promise(LOSES_NOTHING, mode=FAILURE)
    def test_last_output_of_a_failed_rank_is_not_lost(self):
        for _ in range(10):
            result = self.run_dlaunch("-n", 2, "--on-failure", "continue", *sh("seq 5000; printf end; exit 3"))
            self.assert_exit(result, 3)
            self.assertEqual(result.stdout.count(b"end"), 2)


class PartialLines(Case):
    SLOW = ("""[ $RANK_ID = 1 ] || { printf '0 half '; sleep 0.3; printf 'more '; sleep 3; echo end; exit; }
            for i in $(seq 20); do printf '1 half '; sleep 0.15; echo more end; done""")
    WHOLE = [b"0 half more end"] + [b"1 half more end"] * 20

    @promise(LOSES_NOTHING, mode=(RUN, FILES))
    def test_pause_within_a_line_does_not_cut_it(self):
        """In pipes and files, whatever their form. On a terminal, a partial line is shown."""
        srun = ["--as", "srun", "--overcommit", "-n2", *sh(self.SLOW)]
        jobs = {}
        for name, args in {"pipe": ["-n", 2], "file": ["-n", 2], "label": ["-n", 2, "--label"],
                           "jsonl": ["-n", 2, "--format", "jsonl"], "shared": ["-n", 2, "--stdout-file", "shared.log"],
                           "tagged": ["-n", 2, "--tag-output", "--output-filename", "logs:nocopy"]}.items():
            with open(self.dir / name, "wb") as out:
                jobs[name] = self.start(*args, *sh(self.SLOW), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        stdout=out if name == "file" else subprocess.PIPE)
        jobs["srun"] = self.start(*srun, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with self.under_pty("-n", 2, *sh(self.SLOW)) as terminal:
            for name, job in jobs.items():
                out, err = job.communicate(timeout=support.TIMEOUT)
                self.assertEqual((job.returncode, err), (0, b""), name)
                if name == "jsonl":
                    out = b"".join(json.loads(line)["text"].encode() + b"\n" for line in out.splitlines())
                elif name == "shared":
                    out = (self.dir / "shared.log").read_bytes()
                elif name == "file":
                    out = (self.dir / "file").read_bytes()
                elif name == "tagged":
                    out = b"".join((self.dir / f"logs/1/rank.{n}/stdout").read_bytes() for n in (0, 1))
                self.assertEqual(sorted(re.sub(rb"(?m)^\[.*?\] |^\[.*?>:", b"", out).splitlines()), self.WHOLE, name)
            code, shown = terminal.finish()
        self.assertEqual(code, 0)
        self.assertIn(b"0 half \r\n", shown)

    @promise(LOSES_NOTHING, mode=(RUN, FILES))
    def test_lines_are_whole_under_load(self):
        """256 ranks fill one file and one pipe. Blocks of their libraries end within lines, and most ranks wait."""
        ranks, lines = (32, 500) if SANITIZED else (256, 3000)
        program = sh(f'exec seq -f "rank $RANK_ID line %.0f end" 1 {lines}')
        expected = sorted(b"rank %d line %d end" % (rank, line + 1) for rank in range(ranks) for line in range(lines))
        self.assert_succeeds("--as", "srun", "--overcommit", f"-n{ranks}", "-o", "all.log", *program, timeout=100)
        self.assertTrue(sorted((self.dir / "all.log").read_bytes().splitlines()) == expected)
        out = self.assert_succeeds("--as", "srun", "--overcommit", f"-n{ranks}", *program, timeout=100)
        self.assertTrue(sorted(out.splitlines()) == expected)


class Prompts(Case):
    def check_prompt(self, *args, shown):
        """A prompt is shown without delay while its rank waits for the answer."""
        with self.start(*args, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
            os.set_blocking(job.stdout.fileno(), False)
            seen = [b""]

            def has(wanted):
                seen[0] += job.stdout.read() or b""
                return wanted in seen[0]

            self.assertTrue(wait_until(lambda: has(b"ready")))
            job.stdin.write(b"go\n")
            job.stdin.flush()
            start = time.monotonic()
            self.assertTrue(wait_until(lambda: has(shown), 5, 0.005), seen[0])
            late = time.monotonic() - start
            job.communicate(b"me\n", support.TIMEOUT)
        self.assertEqual(job.returncode, 0)
        return late

    def test_prompt_is_shown_on_a_terminal(self):
        ask = sh('[ $RANK_ID = 0 ] || exit 0; echo ready; read x; printf "name? "; read name')
        delays = []
        for _ in range(3):
            with self.under_pty("-n", 2, "--label", "--color", "never", *ask) as terminal:
                terminal.read_until(b"ready")
                terminal.type(b"go\n")
                start = time.monotonic()
                terminal.read_until(b"[0] name? ", 5)
                delays.append(time.monotonic() - start)
                terminal.type(b"me\n")
                self.assertEqual(terminal.finish()[0], 0)
        self.assertLess(min(delays), 0.5 if SANITIZED else 0.15)

    def test_raw_prompt_is_shown_in_a_pipe(self):
        ask = sh('[ $RANK_ID = 0 ] || exit 0; echo ready; read x; printf "name? "; read name')
        self.check_prompt("-n", 2, "--raw", *ask, shown=b"name? ")

    def test_prompt_of_a_single_rank_is_shown_at_once(self):
        ask = sh('echo ready; read x; printf "name? "; read name')
        late = min(self.check_prompt("-n", 1, *ask, shown=b"name? ") for _ in range(3))
        self.assertLess(late, 0.5 if SANITIZED else 0.05)


class Jsonl(Case):
    @promise(LOSES_NOTHING, mode=RUN)
    def test_jsonl_contains_the_bytes_of_each_rank(self):
        content = {}
        for rank in range(3):
            for stream in ("stdout", "stderr"):
                content[rank, stream] = b"".join([
                    f"rank {rank} {stream} \u20ac \"quoted\" \\ \t".encode(), b"\n\n", os.urandom(100_000), b"\nnul \0\n10%\r20%\r\n",
                    b"x" * 200_000, b"\n", "é".encode() * 50_000, b"\n", b"" if rank == 1 else b"no newline"])
                (self.dir / f"{stream}.{rank}").write_bytes(content[rank, stream])
        out = self.assert_succeeds("-n", 3, "--format", "jsonl", *sh("cat stdout.$RANK_ID; cat stderr.$RANK_ID >&2"))
        again = dict.fromkeys(content, b"")
        for line in out.splitlines():
            record = json.loads(line)
            self.assertEqual(record["local_rank"], record["rank"])
            self.assertEqual(record["host"], os.uname().nodename)
            self.assertRegex(record["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            data = record["text"].encode() if "text" in record else base64.b64decode(record["base64"])
            again[record["rank"], record["stream"]] += data + (b"\n" if record.get("eol", True) else b"")
        for key in content:
            self.assertTrue(again[key] == content[key], f"{key}: {len(again[key])} of {len(content[key])} bytes")


class Colour(Case):
    def test_labels_are_coloured_only_on_a_terminal(self):
        self.assertNotIn(ESCAPE, self.assert_succeeds("-n", 2, "--label", "echo", "x"))
        with self.under_pty("-n", 2, "--label", "echo", "x") as terminal:
            code, shown = terminal.finish()
        self.assertEqual(code, 0)
        self.assertEqual(shown.count(b"\x1b[0mx"), 2)

    def test_no_color_disables_colours(self):
        with self.under_pty("-n", 2, "--label", "echo", "x", env={"NO_COLOR": "1"}) as terminal:
            code, shown = terminal.finish()
        self.assertEqual(sorted(screen(shown)), [b"", b"[0] x", b"[1] x"])

    def test_color_option_overrides_the_terminal(self):
        self.assertIn(ESCAPE, self.assert_succeeds("-n", 2, "--label", "--color", "always", "echo", "x"))
        with self.under_pty("-n", 2, "--label", "--color", "never", "echo", "x") as terminal:
            self.assertNotIn(ESCAPE, b"".join(screen(terminal.finish()[1])))


class BadStdout(Case):
    @promise(ENDS, LOSES_NOTHING, mode=BAD_DISK)
    def test_full_disk_is_reported_once(self):
        for options in ([], ["--label"], ["--raw"], ["--format", "jsonl"]):
            with self.subTest(options=options), open("/dev/full", "wb") as full:
                result = self.run_dlaunch("-n", 2, *options, *sh("while echo x; do :; done"), stdout=full)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr.count(b"No space left on device"), 1, result.stderr)
                self.assertIn(b"cannot write stdout", result.stderr)

    @promise(LOSES_NOTHING, mode=BAD_DISK)
    def test_on_output_error_continue_survives_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            job = self.start("-n", 2, "--on-output-error", "continue",
                             *sh(f"seq 1000; {until_there('full')}; : > done.$RANK_ID"), stdin=subprocess.DEVNULL,
                             stdout=full, stderr=subprocess.PIPE)
        with job:
            said = job.stderr.readline()
            (self.dir / "full").touch()
            said += job.communicate(timeout=support.TIMEOUT)[1]
        self.assertEqual(sorted(p.name for p in self.dir.glob("done.*")), ["done.0", "done.1"])
        self.assertNotEqual(job.returncode, 0)  # the output is not complete
        self.assertEqual(said.count(b"No space left on device"), 1, said)

    @promise(ENDS, LEAVES_NOTHING, mode=READER)
    def test_closed_reader_ends_the_job_silently(self):
        for ranks in (1, 4):
            with self.subTest(ranks=ranks), self.start("-n", ranks, "yes", stdin=subprocess.DEVNULL,
                                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                self.assertEqual(job.stdout.readline(), b"y\n")
                start = time.monotonic()
                job.stdout.close()
                self.assertEqual(job.stderr.read(), b"")
                self.assertEqual(job.wait(support.TIMEOUT), 128 + 13)
                self.assertLess(time.monotonic() - start, 5)
                self.assert_nothing_left()

    def test_streams_closed_at_the_start_are_ignored(self):
        for closed, out, err in ((">&-", b"", b"err\n"), ("2>&-", b"out\n", b""), ("<&-", b"out\n", b"err\n"),
                                 ("<&- >&- 2>&-", b"", b"")):
            with self.subTest(closed=closed):
                line = f'"$0" -n 2 sh -c \'cat; [ $RANK_ID = 0 ] || exit 0; echo out; echo err >&2\' {closed}'
                result = subprocess.run(["sh", "-c", line, support.DLAUNCH], env=self.env, cwd=self.dir,
                                        stdin=subprocess.DEVNULL, capture_output=True, timeout=support.TIMEOUT)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, out, err))


if __name__ == "__main__":
    support.main()
