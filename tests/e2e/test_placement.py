"""Tests the placement of ranks: devices, CPUs, binding, several programs, environment, and --dry-run."""
import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest

import support
from support import DLAUNCH, Case, program, sh

CPUS = sorted(os.sched_getaffinity(0))


NOBODY = 65534


def limited(limit, user, what=resource.RLIMIT_NOFILE):
    """A preexec_fn: sets a limit, of open files by default, and the user."""
    resource.setrlimit(what, (limit, limit))
    if user != os.geteuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)


def cores():
    """The CPUs that this process may use, as one set per core."""
    found = set()
    for cpu in CPUS:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
            found.add(frozenset(unfold(file.read())) & frozenset(CPUS))
    return found


def unfold(text):
    """Returns {0, 1, 2, 8} for "0-2,8"."""
    numbers = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


class Devices(Case):
    def test_each_rank_has_its_own_device(self):
        result = self.run_dlaunch("-n", 4, "--fake-devices", 4, *sh("echo $RANK_ID $DEVICE_ID $DLAUNCH_DEVICE"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), [f"{n} {n} {n}" for n in range(4)])

    def test_default_is_one_rank_per_device(self):
        result = self.run_dlaunch("--fake-devices", 5, *sh("echo $DEVICE_ID"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.split()), [b"0", b"1", b"2", b"3", b"4"])

    def test_more_ranks_than_devices_are_rejected_with_a_table(self):
        result = self.run_dlaunch("-n", 5, "--fake-devices", 4, "touch", "started")
        self.assert_exit(result, 2)
        self.assertFalse((self.dir / "started").exists())
        said = result.stderr.decode()
        self.assertIn("more ranks than devices: 5 ranks requested, 4 devices available", said)
        row = next(line.split() for line in said.splitlines() if "5 ranks" in line and "fake" in line)
        self.assertIn("4", row)
        self.assertIn("add --oversubscribe", said.splitlines()[-1])

    def test_oversubscribe_shares_devices(self):
        result = self.run_dlaunch("-v", "-n", 5, "--fake-devices", 2, "--oversubscribe", *sh("echo $RANK_ID $DEVICE_ID"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), [f"{n} {n % 2}" for n in range(5)])
        self.assertIn("5 ranks on 2 devices", result.stderr.decode())

    def remarks(self, *args, **options):
        """The lines of -v about shared cores, in a job that succeeds."""
        result = self.run_dlaunch("-v", *args, **options)
        self.assert_exit(result, 0)
        return [line for line in result.stderr.decode().splitlines() if "ranks share cores" in line]

    def test_more_ranks_than_cpus_are_reported_once(self):
        told = self.remarks("-n", 2 * len(CPUS) + 1, "true")
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], rf"^dlaunch: {2 * len(CPUS) + 1} ranks on \d+ CPUs?")

    def test_allowed_cpus_are_counted(self):
        told = self.remarks("-n", 2, "true", preexec_fn=lambda: os.sched_setaffinity(0, {CPUS[0]}))
        self.assertEqual(len(told), 1, told)
        self.assertIn("2 ranks on 1 CPU", told[0])


class Binding(Case):
    def masks(self, *args):
        """The CPUs of each of two ranks; --report-bindings must print the same CPUs."""
        result = self.run_dlaunch("-n", 2, "--report-bindings", "--label", *args, program("affinity"))
        self.assert_exit(result, 0)
        own = {int(rank): unfold(cpus) for rank, cpus in re.findall(r"^\[(\d+)\] ([\d,-]+)$", result.stdout.decode(), re.M)}
        said = {int(rank): unfold(cpus) for rank, cpus in
                re.findall(r"^dlaunch: rank (\d+) on .*: CPUs ([\d,-]+)$", result.stderr.decode(), re.M)}
        self.assertEqual(sorted(own), [0, 1])
        self.assertEqual(own, said)
        return own[0], own[1]

    def test_default_is_no_binding(self):
        for args in ((), ("--bind-to", "none")):
            self.assertEqual(self.masks(*args), (set(CPUS), set(CPUS)))

    @unittest.skipIf(len(cores()) < 2, "needs two cores")
    def test_bind_to_core(self):
        one, other = self.masks("--bind-to", "core")
        self.assertEqual(one & other, set())
        self.assertLessEqual({frozenset(one), frozenset(other)}, cores())

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_bind_to_hwthread(self):
        one, other = self.masks("--bind-to", "hwthread")
        self.assertEqual((len(one), len(other), one & other), (1, 1, set()))

    def test_more_ranks_than_cores_are_rejected_with_a_hint(self):
        result = self.run_dlaunch("-n", len(CPUS) + 1, "--bind-to", "core", "true")
        self.assert_exit(result, 126)
        last = support.cause(result.stderr)
        self.assertRegex(last, r"ranks? \d+.* did not start: cannot bind each rank to a separate core: .*--oversubscribe")
        self.assertNotIn("Invalid argument", last)

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_unbound_jobs_have_all_cpus(self):
        self.assertEqual(self.masks(), self.masks())

    def rankfile(self, *slots):
        (self.dir / "ranks").write_text("".join(f"rank {rank}=localhost slot={slot}\n" for rank, slot in enumerate(slots)))
        return "--rankfile", "ranks"

    @unittest.skipIf(len(cores()) < 2, "needs two cores")
    def test_rankfile_chooses_cores(self):
        one, other = self.masks(*self.rankfile(0, 1))
        self.assertEqual(one & other, set())
        self.assertLessEqual({frozenset(one), frozenset(other)}, cores())
        self.assertEqual(self.masks(*self.rankfile(f"p{CPUS[1]}", "*")), ({CPUS[1]}, set(CPUS)))
        one_by_socket, _ = self.masks(*self.rankfile("0:0", "0:*"))
        self.assertEqual(one_by_socket, one)

    def test_rankfile_with_missing_cores_is_rejected(self):
        for slot, why in (("9999", 'unknown core "9999"'), ("99:0", 'unknown socket "99"'), ("p9999", 'unknown CPU "9999"')):
            result = self.run_dlaunch(*self.rankfile("*", slot), *sh("exec sleep 1000"))
            self.assert_exit(result, 126)
            self.assertRegex(support.cause(result.stderr),
                             rf"rank 1 .* did not start: cannot bind the rank to slot={slot}: {why}")

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_rankfile_with_forbidden_cpus_is_rejected(self):
        result = self.run_dlaunch(*self.rankfile(f"p{CPUS[0]}"), "true", preexec_fn=lambda: os.sched_setaffinity(0, {CPUS[1]}))
        self.assert_exit(result, 126)
        self.assertIn(f"CPU {CPUS[0]} is not allowed (allowed CPUs: {CPUS[1]})", result.stderr.decode())

    def test_binding_stays_within_allowed_cpus(self):
        last = {CPUS[-1]}
        result = self.run_dlaunch("-n", 1, "--bind-to", "core", program("affinity"), preexec_fn=lambda: os.sched_setaffinity(0, last))
        self.assert_exit(result, 0)
        self.assertEqual(unfold(result.stdout.decode()), last)


class Programs(Case):
    def test_several_programs_are_one_job(self):
        result = self.run_dlaunch("-n", 1, *sh("echo a $RANK_ID $RANK_SIZE"), ":", "-n", 2, *sh("echo b $RANK_ID $RANK_SIZE"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), ["a 0 3", "b 1 3", "b 2 3"])

    def test_app_file_names_programs(self):
        (self.dir / "apps").write_text("# two programs\n-n 1 sh -c 'echo \"first  one\" $X' \n-n 1 -x X=5 echo second\\ one\n")
        result = self.run_dlaunch("--app", "apps")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.decode().splitlines()), ["first  one", "second one"])

    def test_each_program_has_its_own_variables_and_directory(self):
        for name in "ab":
            (self.dir / name).mkdir()
        result = self.run_dlaunch("-n", 1, "-x", "V=1", "-wdir", "a", *sh('echo "$V ${PWD##*/}"'), ":",
                                  "-n", 1, "-x", "V=2", "-wdir", "b", *sh('echo "$V ${PWD##*/}"'))
        self.assertEqual(sorted(result.stdout.decode().splitlines()), ["1 a", "2 b"])

    def test_program_named_like_an_option_or_command_runs(self):
        for name in ("help", "version", "run", "--help", "-n", ":x"):
            with self.subTest(name):
                path = self.dir / name
                path.write_text(f"#!/bin/sh\necho me \"$@\"\n")
                path.chmod(0o755)
                out = self.assert_succeeds("-n", 1, "--", name, "--version", env={"PATH": f"{self.dir}:{os.environ['PATH']}"})
                self.assertEqual(out, b"me --version\n")


ODD = {
    "SPACES": "  two  words ", "QUOTES": "'\"`", "SHELL": "$HOME;|&<>*?[]{}~#!", "BACKSLASH": "a\\b\\", "EQUALS": "a=b==c", "NEWLINE": "one\ntwo\n",
    "TAB": "\t\r\x0b\x1b[31m", "EMPTY": "", "UTF8": "žluťoučký 模型 🚀", "BASH_FUNC_x%%": "() {  echo hi\n}", "DASH": "-n", "COLON": ":",
}


class Environment(Case):
    def shown(self, args, env=None):
        """The variables that --show-env 0 prints, as one text, and the variables of the started rank."""
        args = ["-n", 1, "--mpi", "pmi1", *args]  # the variables of PMIx come from the agent
        shown = self.run_dlaunch(*args, "--show-env", 0, "env", "-0", env=env)
        self.assert_exit(shown, 0)
        got = self.run_dlaunch(*args, "--raw", "env", "-0", env=env)
        self.assert_exit(got, 0)
        return shown.stdout, got.stdout

    def test_show_env_prints_the_environment_of_a_rank(self):
        shown, got = self.shown(["--fake-devices", 2, "-x", "A=1", "-x", "DLAUNCH_RANK=7", "-wdir", "/"], env={"B": "2", "PYTHONUNBUFFERED": "0"})
        job_id = re.search(rb"DLAUNCH_JOB_ID=([^\0\n]*)", got)[1]
        other = re.search(rb"DLAUNCH_JOB_ID=([^\0\n]*)", shown)[1]
        self.assertNotEqual(job_id, other)
        self.assertEqual(sorted(shown.replace(other, job_id).splitlines()), sorted(got.rstrip(b"\0").split(b"\0")))
        for entry in (b"A=1", b"B=2", b"DLAUNCH_RANK=7", b"PYTHONUNBUFFERED=0", b"DEVICE_ID=0", b"PWD=/"):
            self.assertIn(entry, got.split(b"\0"))

    def test_show_env_of_an_unknown_rank_is_rejected(self):
        self.assert_exit(self.run_dlaunch("-n", 2, "--show-env", 2, "true"), 2)

    def test_arbitrary_values_reach_the_rank(self):
        options = [word for name, value in ODD.items() for word in ("-x", f"{name}={value}")]
        for args, env in ((options, None), ([], ODD)):
            result = self.run_dlaunch("-n", 1, *args, "--raw", "env", "-0", env=env)
            self.assert_exit(result, 0)
            got = dict(entry.split("=", 1) for entry in result.stdout.decode().rstrip("\0").split("\0"))
            self.assertEqual({name: got.get(name) for name in ODD}, ODD)

    def test_every_byte_reaches_the_rank(self):
        every = bytes(range(1, 256))
        out = self.assert_succeeds("-n", 1, "--raw", program("print_env"), "EVERY", env={"EVERY": os.fsdecode(every)})
        self.assertEqual(out, every + b"\n")

    def test_long_value_reaches_the_rank(self):
        long = "x" * 131000
        out = self.assert_succeeds("-n", 2, program("print_env"), "LONG", env={"LONG": long})
        self.assertEqual(out.decode(), f"{long}\n{long}\n")

    def test_two_megabytes_reach_the_rank(self):
        """The kernel limits arguments and environment to a quarter of the stack limit."""
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, (soft, hard))
        stack = 8 << 20
        resource.setrlimit(resource.RLIMIT_STACK, (stack, hard if hard < 0 else max(hard, stack)))
        many = {f"PART_{n}": "y" * 100000 for n in range(19)}
        out = self.assert_succeeds("-n", 1, program("print_env"), *many, env=many)
        self.assertEqual(len(out), 19 * 100001)

    def test_too_long_value_is_reported(self):
        (self.dir / "values").write_text("LONG=" + "x" * 200000 + "\n")
        result = self.run_dlaunch("-n", 2, "--env-file", "values", "true")
        self.assert_exit(result, 126)
        said = result.stderr.decode()
        self.assertIn("Argument list too long", said)
        self.assertNotIn("xxx", said)

    def test_variables_are_passed_by_name_and_pattern(self):
        out = self.assert_succeeds("-n", 1, "-x", "ONE", "-x", "GROUP_*", program("print_env"), "ONE", "GROUP_A", "GROUP_B",
                                   env={"ONE": "1", "GROUP_A": "a", "GROUP_B": "b"})
        self.assertEqual(out, b"1\na\nb\n")

    def test_variables_of_an_outer_job_are_replaced(self):
        inner = f'exec "{DLAUNCH}" -n 1 env'
        result = self.run_dlaunch("-n", 2, "--ranks", "1", "-x", "DLAUNCH_JOB_ID=outer", *sh(inner))
        self.assert_exit(result, 0)
        values = dict(line.split("=", 1) for line in result.stdout.decode().splitlines() if line.startswith(("DLAUNCH_", "RANK_")))
        self.assertEqual((values["RANK_ID"], values["RANK_SIZE"], values["DLAUNCH_LOCAL_SIZE"]), ("0", "1", "1"))
        self.assertNotEqual(values["DLAUNCH_JOB_ID"], "outer")


class DryRun(Case):
    def test_dry_run_starts_nothing(self):
        out = self.assert_succeeds("--dry-run", "-n", 2, "--fake-devices", 2, "touch", "started").decode()
        self.assertFalse((self.dir / "started").exists())
        for rank in range(2):
            self.assertRegex(out, rf"(?m)^\s*{rank}\s+\S+\s+{rank}\s+{rank}\s+touch started$")

    def test_dry_run_prints_json(self):
        plan = json.loads(self.assert_succeeds("--dry-run", "--format", "json", "-n", 2, "--fake-devices", 2, "touch", "started"))
        self.assertFalse((self.dir / "started").exists())
        self.assertEqual([rank["device"] for rank in plan["ranks"]], [0, 1])

    def test_dry_run_prints_no_values(self):
        for form in ("text", "json"):
            out = self.assert_succeeds("--dry-run", "--format", form, "-n", 1, "-x", "TOKEN=secret-1", "true", env={"OTHER": "secret-2"})
            self.assertIn(b"TOKEN", out)
            self.assertNotIn(b"secret-", out)

    def test_values_are_not_in_logs_or_command_lines(self):
        result = self.run_dlaunch("-n", 1, "-vv", "-x", "OTHER", *sh('for p in /proc/[0-9]*; do { tr "\\0" " " <$p/cmdline; } 2>/dev/null; done; :'),
                                  env={"OTHER": "secret-2"})
        self.assert_exit(result, 0)
        self.assertNotIn(b"secret-2", result.stdout + result.stderr)


class OpenFiles(Case):
    def test_too_low_file_limit_is_rejected_before_the_start(self):
        result = self.run_dlaunch("-n", 100, "touch", "started",
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        self.assert_exit(result, 2)
        self.assertFalse((self.dir / "started").exists())
        self.assertIn("ulimit -n", result.stderr.decode())
        self.assertRegex(result.stderr.decode(), r"100 ranks require \d+, the hard limit is 64")

    def test_each_command_rejects_a_limit_too_low_for_dlaunch(self):
        """As an ordinary user too: root differs only in the hint's right to raise the hard limit."""
        key = {"DLAUNCH_KEY": "a key which is long enough"}
        for user in (os.geteuid(), NOBODY) if os.geteuid() == 0 else (os.geteuid(),):
            nodes = ("--same-line", "--nodes", 2, "--wait-hosts", 1, "--rendezvous", "127.0.0.1:4999")
            for words in (("-n", 1, "true"), ("-H", "elsewhere:1", "true"), ("check",), ("check", "-H", "elsewhere"),
                          (*nodes, "--node-rank", 0, "true"), (*nodes, "--node-rank", 1, "true"),
                          ("chaos", "--fault", "kill:rank=0@1s", "--", "-n", 1, "true")):
                for limit in (12, 32):
                    with self.subTest(words, user=user, limit=limit):
                        result = self.run_dlaunch(*words, cwd="/", env={"HOME": "/"} | key,
                                                  preexec_fn=functools.partial(limited, limit, user))
                        self.assert_exit(result, 2)
                        self.assertEqual(result.stderr.decode(),
                                         f"dlaunch: ulimit -n: too few open files: dlaunch requires 64, the hard limit is {limit}\n"
                                         "dlaunch:   set ulimit -Hn 64 (as root), or LimitNOFILE= of the service\n")

    def test_too_small_files_are_rejected_before_the_start(self):
        """A write over the limit would end dlaunch by SIGXFSZ."""
        for user in (os.geteuid(), NOBODY) if os.geteuid() == 0 else (os.geteuid(),):
            with self.subTest(user=user):
                result = self.run_dlaunch("-n", 1, "true", cwd="/", env={"HOME": "/"},
                                          preexec_fn=functools.partial(limited, 0, user, resource.RLIMIT_FSIZE))
                self.assert_exit(result, 2)
                self.assertEqual(result.stderr.decode(), "dlaunch: ulimit -f: limit of the file size too low: dlaunch requires 4096 bytes, the limit is 0\n"
                                                         "dlaunch:   set a higher limit with ulimit -f, or LimitFSIZE= of the service\n")

    def test_agent_that_exceeds_the_limit_of_file_sizes_is_reported(self):
        """Without an agent next to it, dlaunch writes the agent into memory. A rank does not inherit an ignored SIGXFSZ."""
        alone = shutil.copy(support.DLAUNCH, self.dir / "alone")
        result = subprocess.run([alone, "-n", "1", "true"], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=support.TIMEOUT, preexec_fn=functools.partial(limited, 1 << 16, os.geteuid(), resource.RLIMIT_FSIZE))
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("cannot unpack the agent into memory: File too large\n", result.stderr)
        self.assertIn("set a higher limit of the size of files: ulimit -f\n", result.stderr)
        out = self.assert_succeeds("-n", 1, "grep", "SigIgn", "/proc/self/status")
        self.assertEqual(int(out.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1, 0)

    def test_soft_file_limit_is_raised_for_dlaunch_only(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        result = self.run_dlaunch("-n", 60, "--ranks", "0", program("rlimit_nofile"),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout.split()[0], b"64")

    def test_rank_has_no_open_files_of_dlaunch(self):
        out = self.assert_succeeds("-n", 1, program("fd_list")).decode()
        self.assertEqual([int(line.split()[0]) for line in out.splitlines()], [0, 1, 2], out)

    def test_rank_has_no_open_files_of_the_caller(self):
        with open("/etc/passwd") as extra:
            out = self.assert_succeeds("-n", 1, program("fd_list"), pass_fds=[extra.fileno()]).decode()
        self.assertEqual([int(line.split()[0]) for line in out.splitlines()], [0, 1, 2], out)


if __name__ == "__main__":
    support.main()
