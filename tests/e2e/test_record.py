"""Tests --report: the report of a job is complete JSON, however the job ended."""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from xml.etree import ElementTree

import support
from promises import BAD_DISK, FAILURE, NAMES_FIRST, promise
from support import Case, program, sh, until_there, wait_until


class Record(Case):
    def record(self):
        record = json.loads((self.dir / "job.json").read_text())
        self.assertEqual([path.name for path in self.dir.iterdir() if "json" in path.name and ".stacks." not in path.name], ["job.json"])
        self.assertLessEqual(moment(record["start"]), moment(record["end"]))
        self.assertGreater(record["wall_s"], 0)
        self.assertIn("plan", record)
        self.assertRegex(record["dlaunch"]["version"], r"^\d+\.\d+")
        self.assertEqual([rank["rank"] for rank in record["ranks"]], list(range(len(record["ranks"]))))
        return record

    def run_recorded(self, code, *args):
        result = self.run_dlaunch("--report", "job.json", *args)
        self.assert_exit(result, code)
        record = self.record()
        self.assertEqual(record["exit_code"], code)
        return record

    def test_report_of_a_successful_job(self):
        record = self.run_recorded(0, "-n", 3, "--fake-devices", 4, "--output-filename", "logs", *sh('printf "%s" "$RANK_ID" ; echo ab >&2'))
        self.assertEqual((record["cause"], record["first_failure"], record["signal"], record["leftovers"]), ("success", None, None, []))
        self.assertEqual(record["command"], [sh('printf "%s" "$RANK_ID" ; echo ab >&2')])
        for number, rank in enumerate(record["ranks"]):
            self.assertEqual((rank["device"], rank["local_rank"]), (number, number))
            self.assertEqual((rank["status"], rank["shell_code"]), ({"kind": "exited", "code": 0}, 0))
            self.assertEqual((rank["stdout_bytes"], rank["stderr_bytes"]), (1, 3))
            self.assertEqual((self.dir / rank["stdout_path"]).read_bytes(), b"%d" % number)
            self.assertLessEqual(moment(rank["start"]), moment(rank["end"]))
            self.assertFalse(rank["ended_by_us"] or rank["needed_kill"])

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_report_of_a_failed_job(self):
        record = self.run_recorded(3, "-n", 3, *sh(
            f': >up.$RANK_ID; [ "$RANK_ID" != 1 ] || {{ {until_there("up.0")}; {until_there("up.2")}; exit 3; }}; exec sleep 1000'))
        self.assertEqual(record["cause"], "rank_failed")
        first = record["first_failure"]
        self.assertEqual((first["rank"], first["status"]), (1, {"kind": "exited", "code": 3}))
        self.assertEqual(first["pid"], record["ranks"][1]["pid"])
        self.assertEqual([rank["ended_by_us"] for rank in record["ranks"]], [True, False, True])
        self.assertEqual(record["ranks"][0]["status"]["name"], "SIGTERM")
        self.assertEqual(record["ranks"][0]["shell_code"], 143)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_report_of_a_rank_killed_by_a_signal(self):
        record = self.run_recorded(139, "-n", 1, program("die_by"), 11)
        self.assertEqual(record["first_failure"]["status"] | {"core": False},
                         {"kind": "signaled", "signal": 11, "name": "SIGSEGV", "core": False, "out_of_memory": False})

    def test_report_of_a_program_that_did_not_start(self):
        record = self.run_recorded(127, "-n", 2, "./no-such-program")
        self.assertEqual(record["cause"], "rank_failed")
        for rank in record["ranks"]:
            self.assertIsNone(rank["pid"])
            self.assertIsNone(rank["start"])
            self.assertEqual((rank["status"]["kind"], rank["status"]["errno"]), ("not_started", 2))

    def test_report_of_a_timeout(self):
        record = self.run_recorded(124, "-n", 2, "--timeout", "0.4", "--grace", "0.3", program("ignore_term"))
        self.assertEqual((record["cause"], record["first_failure"]), ("timeout", None))
        for rank in record["ranks"]:
            self.assertEqual((rank["ended_by_us"], rank["needed_kill"], rank["status"]["name"]), (True, True, "SIGKILL"))

    def test_report_of_an_interrupted_job(self):
        job = self.start("-n", 2, "--report", "job.json", *sh("echo up; exec sleep 1000"), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        with job:
            job.stdout.readline(), job.stdout.readline()
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.wait(support.TIMEOUT), 130)
        record = self.record()
        self.assertEqual((record["cause"], record["signal"], record["exit_code"]), ("interrupted", "SIGINT", 130))
        self.assertEqual([rank["status"]["name"] for rank in record["ranks"]], ["SIGINT", "SIGINT"])

    def test_report_of_a_running_job(self):
        job = self.start("-n", 2, "--report", "job.json", *sh("exec sleep 1000"), stderr=subprocess.DEVNULL)
        with job:
            self.assertTrue(wait_until((self.dir / "job.json").exists))
            record = json.loads((self.dir / "job.json").read_text())
            self.assertEqual((record["cause"], record["exit_code"], record["end"]), ("running", None, None))
            for rank in record["ranks"]:
                self.assertIsNone(rank["status"])
                words = pathlib.Path(f"/proc/{rank['pid']}/cmdline")
                # The command line is empty during exec.
                self.assertTrue(wait_until(lambda: b"1000" in words.read_bytes()))
            job.terminate()
            job.wait(support.TIMEOUT)
        self.assertEqual(self.record()["cause"], "interrupted")

    def test_report_to_a_descriptor_of_the_shell(self):
        line = ('"$0" -n 2 --report >(cat > job.json) --report-pid /dev/fd/5 echo up 5> pid; code=$?; wait $!; exit $code')
        result = subprocess.run(["bash", "-c", line, support.DLAUNCH], cwd=self.dir, env=self.env, capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=support.TIMEOUT, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "up\n" * 2, ""))
        self.assertEqual(len(self.record()["ranks"]), 2)
        self.assertRegex((self.dir / "pid").read_text(), r"^\d+\n$")

    def test_report_to_a_descriptor_for_reading_is_refused_before_the_job(self):
        for name in (f"/dev/fd/{os.open('/dev/null', os.O_RDONLY)}", "/dev/fd/987"):
            result = self.run_dlaunch("--report", name, "-n", 1, "touch", "started", pass_fds=[int(name[8:])] if name != "/dev/fd/987" else [])
            self.assert_exit(result, 2)
            self.assertIn(f"cannot write {name}: Bad file descriptor", result.stderr.decode())
        self.assertFalse((self.dir / "started").exists())

    def test_report_follows_the_output_in_one_file(self):
        with open(self.dir / "all", "w") as out:
            code = subprocess.run([support.DLAUNCH, "-n", "1", "--report", "/dev/stdout", "echo", "up"], stdout=out, cwd=self.dir,
                                  stdin=subprocess.DEVNULL, timeout=support.TIMEOUT).returncode
        first, rest = (self.dir / "all").read_text().split("\n", 1)
        self.assertEqual((code, first, json.loads(rest)["cause"]), (0, "up", "success"))

    def test_new_report_is_readable_by_its_owner_only(self):
        record = self.dir / "mine.json"
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        mode = lambda: record.stat().st_mode & 0o777
        self.assert_succeeds("--report", record, "-n", 1, "true")
        self.assertEqual(mode(), 0o600)
        record.chmod(0o640)
        self.assert_succeeds("--report", record, "-n", 1, "true")
        self.assertEqual(mode(), 0o640)

    def test_report_is_on_disk_before_the_job_ends(self):
        calls = self.dir / "calls"
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        subprocess.run(["strace", "-f", "-o", calls, "-e", "trace=fsync,renameat", support.DLAUNCH, "--report", "r.json",
                        "-n", "1", "true"], cwd=self.dir, env=self.env, check=True, stderr=subprocess.DEVNULL)
        made = re.findall(r"(fsync|renameat)\(", calls.read_text())
        self.assertEqual(made[-3:], ["fsync", "renameat", "fsync"], "the file, its name, its directory")

    def test_older_report_is_replaced(self):
        (self.dir / "job.json").write_text("older" * 10000)
        self.assertEqual(self.run_recorded(0, "-n", 1, "true")["exit_code"], 0)

    def test_report_contains_no_values_of_variables(self):
        result = self.run_dlaunch("--report", "job.json", "-n", 2, "-x", "TOKEN=secret-1", *sh("exit 3"), env={"OTHER": "secret-2"})
        self.assert_exit(result, 3)
        self.assertNotIn("secret-", (self.dir / "job.json").read_text())

    def test_report_with_invalid_utf8_is_valid_json(self):
        (self.dir / "prog").write_text("#!/bin/sh\n")
        (self.dir / "prog").chmod(0o755)
        job = subprocess.run([support.DLAUNCH.encode(), b"--report", b"job.json", b"-n", b"1", b"./prog", b"\xff\xfe\x01"],
                             cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(self.record()["command"][0][0], "./prog")

    def test_unwritable_report_path_is_reported(self):
        for place, code, started in (("/no/such/folder/job.json", 2, b""), (".", 2, b""), ("/dev/full", 1, b"here\n")):
            with self.subTest(place):
                result = self.run_dlaunch("--report", place, "-n", 1, "echo", "here")
                self.assert_exit(result, code)
                self.assertEqual(result.stdout, started)
                self.assertIn("cannot write", result.stderr.decode())

    def test_report_next_to_the_logs_of_the_job(self):
        self.assert_succeeds("--report", "logs/job.json", "--output-filename", "logs", "-n", 1, "true")
        self.assertEqual(json.loads((self.dir / "logs/job.json").read_text())["cause"], "success")

    @promise(NAMES_FIRST, mode=(BAD_DISK, FAILURE))
    def test_failed_job_keeps_its_code_without_a_report(self):
        result = self.run_dlaunch("--report", "/dev/full", "-n", 1, *sh("exit 3"))
        self.assert_exit(result, 3)
        self.assertIn("/dev/full", result.stderr.decode())
        self.assertIn("code 3", support.cause(result.stderr))


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Results(Case):
    FAILS = sh('echo "words of $RANK_ID" >&2; if test $RANK_ID = 1; then exit 3; fi; exec sleep 1000')

    def test_junit_file_has_a_case_for_each_rank(self):
        result = self.run_dlaunch("--fake-hosts", "2x2", "--junit", "out.xml", *self.FAILS)
        self.assert_exit(result, 3)
        suite = ElementTree.parse(self.dir / "out.xml").getroot()
        self.assertEqual((suite.tag, suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("testsuite", "4", "1", "3"))
        case = suite.findall("testcase")[1]
        self.assertEqual((case.get("classname"), case.get("name")), ("fake1", "rank 1"))
        self.assertEqual((case.find("failure").get("message"), case.find("failure").text), ("exited with code 3", "words of 1\n"))
        self.assert_exit(self.run_dlaunch("-n", 2, "--junit", "out.xml", "true"), 0)
        self.assertEqual(ElementTree.parse(self.dir / "out.xml").getroot().get("failures"), "0")

    def test_junit_file_has_an_error_if_no_rank_failed(self):
        for options, cause in ((["--timeout", 1, "sleep", 60], "tim"), (["--exec", "exit 3; true {host}", "-H", "nohost:1", "true"], "nohost")):
            result = self.run_dlaunch("-n", 1, "--junit", "out.xml", *options, env={"GITHUB_ACTIONS": "true"})
            self.assertNotEqual(result.returncode, 0)
            error = ElementTree.parse(self.dir / "out.xml").getroot().find("testcase/error")
            self.assertIn(cause, error.get("message"))
            self.assertRegex(result.stderr.decode(), "(?m)^::error title=dlaunch::.*" + cause)

    def test_file_that_becomes_a_fifo_ends_the_writer(self):
        for option in ("--report", "--junit"):
            result = self.run_dlaunch("-n", 1, option, self.dir / "r", *sh("sleep 0.5; rm -f r; mkfifo r"))
            self.assert_exit(result, 1)
            self.assertIn(b"no program reads the FIFO", result.stderr)
            self.assert_nothing_left()
            os.remove(self.dir / "r")

    def test_junit_file_of_a_running_job_is_no_log_file(self):
        job = self.start("-n", 1, "--junit", "x", *sh(f": >up; {until_there('go')}"))
        self.assertTrue(wait_until((self.dir / "up").exists))
        self.assert_exit(self.run_dlaunch("-n", 1, "--stdout-file", "x", "echo", "hi"), 2)
        (self.dir / "go").touch()
        self.assertEqual(job.wait(support.TIMEOUT), 0)

    def test_files_of_later_rounds_conflict(self):
        (self.dir / "x.round.1").write_text("localhost")
        for option in (["--report", "x.round.1"], ["--junit", "x.round.1"], ["--hostfile", "x.round.1"]):
            result = self.run_dlaunch("-n", 1, "--restarts", 1, *option, "--stdout-file", "x", "false")
            self.assert_exit(result, 2)
            self.assertIn(b"x.round.1", result.stderr)

    def test_limit_of_file_sizes_gives_a_message(self):
        with open(self.dir / "err", "wb") as err:
            result = subprocess.run(["sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec env --default-signal=XFSZ "$@"', "sh", support.DLAUNCH, "-n", "1", "no-such"],
                                    stderr=err, timeout=support.TIMEOUT)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(self.assert_succeeds("-n", 1, "grep", "SigIgn", "/proc/self/status"), rb"SigIgn:\s0+\n")

    def test_no_stacks_next_to_a_device(self):
        self.assert_exit(self.run_dlaunch("-n", 1, "--timeout", 1, "--stdout-file", "/dev/null", "sleep", 60), 124)
        self.assertEqual([name for name in os.listdir("/dev") if name.startswith("stacks.")], [])

    def test_junit_file_is_no_log_file(self):
        result = self.run_dlaunch("-n", 1, "--junit", "x", "--stdout-file", "x", "echo", "hi")
        self.assert_exit(result, 2)
        self.assertIn(b"both write", result.stderr)

    def test_junit_file_that_cannot_be_written_is_refused_before_the_job(self):
        result = self.run_dlaunch("-n", 1, "--junit", "missing/out.xml", "echo", "started")
        self.assert_exit(result, 2)
        self.assertEqual(result.stdout, b"")
        result = self.run_dlaunch("-n", 1, "--junit", "x", "--report", "x", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"both write", result.stderr)

    def test_summary_table_has_a_line_for_each_rank(self):
        result = self.run_dlaunch("-n", 2, "--summary", "table", *self.FAILS)
        self.assert_exit(result, 3)
        table = [line.split() for line in result.stderr.decode().splitlines() if re.match("rank  |[01]  ", line)]
        self.assertEqual(table[0], ["rank", "host", "end", "time", "last", "line"])
        self.assertEqual([table[2][0], table[2][2:6], table[2][-3:]], ["1", ["exited", "with", "code", "3"], ["words", "of", "1"]])
        self.assertEqual(len(table), 3)

    def test_summary_table_has_the_newest_line_of_each_rank(self):
        script = "echo warned >&2; sleep 0.3; echo finished; sleep 0.3; exit $RANK_ID"
        result = self.run_dlaunch("-n", 2, "--on-failure", "continue", "--summary", "table", *sh(script))
        table = [line.split() for line in result.stderr.decode().splitlines() if re.match("[01]  ", line)]
        self.assertEqual([row[-1] for row in table], ["finished", "warned"])

    def test_github_gets_the_first_failure_as_an_annotation(self):
        found = [self.run_dlaunch("-n", 2, *self.FAILS, env=env).stderr.decode() for env in ({}, {"GITHUB_ACTIONS": "true"})]
        self.assertNotIn("::error", found[0])
        self.assertRegex(found[1], r"(?m)^::error title=dlaunch::rank 1 \(.*\) exited with code 3 after .* s%0Awords of 1$")
        succeeded = self.run_dlaunch("-n", 1, "true", env={"GITHUB_ACTIONS": "true"})
        self.assertEqual(succeeded.stderr, b"")


if __name__ == "__main__":
    support.main()
