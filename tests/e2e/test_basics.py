"""Tests the start of programs: exit codes, the output of all ranks, and the messages for a program that cannot start.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
from unittest import mock

import support
from promises import ENDS, FAILURE, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RUN, START, promise
from support import Case, NOBODY, TIMEOUT, program, sh


class Basics(Case):
    def test_success_is_quiet_and_zero(self):
        self.assertEqual(self.assert_succeeds("-n", 4, "true"), b"")

    def test_misspelt_variable_is_reported(self):
        misspelt = {"DLAUNCH_GRCE": "4"}
        told = self.run_dlaunch("-n", "1", "true", env=misspelt)
        self.assert_exit(told, 0)
        self.assertEqual(told.stderr, b"dlaunch: note: DLAUNCH_GRCE has no effect: unknown option; use DLAUNCH_GRACE\n")
        self.assertEqual(self.run_dlaunch("-q", "-n", "1", "true", env=misspelt).stderr, b"")
        # The variables that dlaunch sets for a rank are known.
        inner = self.run_dlaunch("-n", "1", support.DLAUNCH, "-n", "1", "true")
        self.assertEqual((inner.returncode, inner.stderr), (0, b""))

    @promise(LOSES_NOTHING, mode=RUN)
    def test_every_rank_prints(self):
        out = self.assert_succeeds("-n", 4, *sh('echo "rank $RANK_ID of $RANK_SIZE"'))
        self.assertEqual(sorted(out.splitlines()), [b"rank %d of 4" % n for n in range(4)])

    def test_successful_run_is_silent(self):
        """Also if ranks share CPUs, or share devices by --oversubscribe."""
        crowd = 2 * os.cpu_count() + 1
        shared = ("--fake-devices", 2, "--oversubscribe", "-n", 5)
        for args in (("-n", crowd), shared):
            result = self.run_dlaunch(*args, "true")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        for args, remark in ((("-n", crowd), b"ranks share cores"), (shared, b"ranks share devices")):
            self.assertIn(remark, self.run_dlaunch("-v", *args, "true").stderr)
            self.assertIn(remark, self.run_dlaunch("--dry-run", *args, "true").stdout)
            self.assertIn(remark, self.run_dlaunch("--dry-run", "--format", "json", *args, "true").stdout)

    def test_stdout_and_stderr_are_separate(self):
        result = self.run_dlaunch("-n", 1, *sh("echo out; echo err >&2"))
        self.assert_exit(result, 0)
        self.assertEqual((result.stdout, result.stderr), (b"out\n", b"err\n"))

    def test_exit_code_of_the_rank_is_the_exit_code(self):
        for code in (1, 3, 125, 255):
            with self.subTest(code=code):
                self.assert_exit(self.run_dlaunch("-n", 1, program("exit_with"), code), code)

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_exit_code_of_the_failed_rank_is_the_exit_code(self):
        result = self.run_dlaunch("-n", 4, *sh('[ "$RANK_ID" != 2 ] || exit 3; exec sleep 100'))
        self.assert_exit(result, 3)
        self.assertIn(b"rank 2", result.stderr)

    def test_signal_gives_exit_code_128_plus_number(self):
        for number in (6, 9, 11, 15):
            with self.subTest(signal=number):
                self.assert_exit(self.run_dlaunch("-n", 1, program("die_by"), number), 128 + number)

    @promise(NAMES_FIRST, mode=START)
    def test_missing_program_gives_exit_code_127(self):
        result = self.run_dlaunch("-n", 2, "./no-such-program")
        self.assert_exit(result, 127)
        self.assertIn(b"./no-such-program", result.stderr)

    def test_missing_program_in_path_gives_exit_code_127(self):
        self.assert_exit(self.run_dlaunch("-n", 2, "no-such-program-anywhere"), 127)

    @promise(NAMES_FIRST, mode=START)
    def test_closed_directory_in_path_does_not_hide_a_missing_program(self):
        closed = self.dir / "closed"
        closed.mkdir(mode=0)
        user = NOBODY if os.geteuid() == 0 else ()
        job = self.start("-n", 2, "no-such-program-anywhere", env={"PATH": f"{closed}:{os.environ['PATH']}"}, before=user,
                         stderr=subprocess.PIPE, cwd="/")
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 127, err)
        self.assertIn(b'program "no-such-program-anywhere": not found on ', err)

    def test_file_that_is_not_executable_gives_exit_code_126(self):
        (self.dir / "data").write_text("not a program\n")
        result = self.run_dlaunch("-n", 2, "./data")
        self.assert_exit(result, 126)
        self.assertIn(b"./data", result.stderr)

    def test_missing_working_directory_is_named(self):
        result = self.run_dlaunch("-n", 2, "-wdir", "/no/such/place", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"/no/such/place", result.stderr)

    def test_working_directory_is_set(self):
        (self.dir / "below").mkdir()
        out = self.assert_succeeds("-n", 1, "-wdir", self.dir / "below", "pwd", "-P")
        self.assertEqual(out.decode().strip(), os.path.realpath(self.dir / "below"))

    def test_arguments_after_the_program_belong_to_the_program(self):
        odd = ["-n", "5", "--label", "", "two words", "*", "a'b\"c", "--", ":x", "\\", "$HOME", "new\nline"]
        out = self.assert_succeeds("-n", 1, "printf", "[%s]", *odd)
        self.assertEqual(out.decode(), "".join(f"[{word}]" for word in odd))

    def test_two_dashes_end_the_options(self):
        named_like_an_option = self.dir / "-n"
        named_like_an_option.write_text("#!/bin/sh\necho me\n")
        named_like_an_option.chmod(0o755)
        path = f"{self.dir}:{os.environ['PATH']}"
        out = self.assert_succeeds("-n", 2, "--", "-n", env={"PATH": path})
        self.assertEqual(out, b"me\nme\n")

    def test_unknown_option_is_rejected(self):
        result = self.run_dlaunch("-n", 2, "--lable", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"--label", result.stderr)


class OtherLaunchers(Case):
    """Environment variables of batch systems and other launchers, on this machine."""

    @promise(ENDS, mode=START)
    def test_node_file_that_hangs_is_read_only_if_needed(self):
        nodes = self.dir / "nodes"
        os.mkfifo(nodes)
        env = {"PBS_NODEFILE": str(nodes), "PBS_JOBID": "1.x"}
        for words in (["--version"], ["-n", 1, "--ignore-resource-manager", "true"], ["-n", 1, "-H", "localhost", "true"]):
            with self.subTest(words=words):
                self.assert_exit(self.run_dlaunch(*words, env=env), 0)

    def test_batch_job_without_host_list_is_an_error(self):
        for env, variable in (({"SLURM_JOB_ID": "5", "SLURM_NNODES": "4", "SLURM_TASKS_PER_NODE": "2(x4)"}, b"SLURM_JOB_NODELIST"),
                              ({"PBS_JOBID": "12.server", "PBS_ENVIRONMENT": "PBS_BATCH"}, b"PBS_NODEFILE"),
                              ({"LSB_JOBID": "7"}, b"LSB_MCPU_HOSTS"), ({"COBALT_JOBID": "3"}, b"COBALT_NODEFILE"),
                              ({"JOB_ID": "5", "PE": "orte", "NHOSTS": "2", "SGE_ROOT": "/sge"}, b"PE_HOSTFILE"),
                              ({"PE_HOSTFILE": "/pe"}, b"SGE_ROOT")):
            with self.subTest(variable):
                done = self.run_dlaunch("-n", 1, "echo", "here", env=env)
                self.assert_exit(done, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(variable + b": not set: ", done.stderr)
                self.assertIn(b"--ignore-resource-manager", done.stderr)
                nested = ["--ignore-resource-manager", "-n", 1, support.DLAUNCH, "-n", 1, "echo", "here"]
                self.assertEqual(self.assert_succeeds(*nested, env=env), b"here\n")

    def test_batch_variables_of_a_login_shell_are_ignored(self):
        shell = {"SLURM_JOB_ID": "5", "SLURM_CONF": "/etc/slurm.conf", "SGE_ROOT": "/sge", "PBS_EXEC": "/opt/pbs", "LSF_BINDIR": "/lsf"}
        self.assertEqual(self.assert_succeeds("-n", 1, "echo", "here", env=shell), b"here\n")

    def test_copy_started_by_another_launcher_is_rejected(self):
        for env, said in (({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, b"OMPI_COMM_WORLD_SIZE=2: mpirun started 2 copies"),
                          ({"PMI_SIZE": "3", "PMI_RANK": "0"}, b"PMI_SIZE=3: mpiexec started 3 copies"),
                          ({"PALS_RANKID": "0"}, b"PALS_RANKID=0: mpiexec or aprun may have started several copies"),
                          ({"PBS_TASKNUM": "21"}, b"PBS_TASKNUM=21: pbsdsh or pbs_tmrsh may have started several copies")):
            with self.subTest(said):
                done = self.run_dlaunch("-n", 1, "true", env=env)
                self.assert_exit(done, 2)
                self.assertIn(said, done.stderr)
                nested = ["--ignore-resource-manager", "-n", 1, support.DLAUNCH, "-n", 1, "echo", "here"]
                self.assertEqual(self.assert_succeeds(*nested, env=env), b"here\n")
        self.assertEqual(self.assert_succeeds("-n", 1, "echo", "here", env={"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "1"}), b"here\n")


class AgentFile(Case):
    """dlaunch runs the installed agent if the file is of this build and no other user can write it, else an agent in
    memory."""
    IN_MEMORY = "/memfd:dlaunch-agent (deleted)"

    def setUp(self):
        super().setUp()
        self.copy = self.dir / "bin" / "dlaunch"
        self.copy.parent.mkdir()
        shutil.copy(support.DLAUNCH, self.copy)
        self.agent = self.copy.with_name("dlaunch-agent")

    def agent_of(self, dlaunch):
        with mock.patch("support.DLAUNCH", str(dlaunch)):
            return self.assert_succeeds("-n", 1, *sh("readlink /proc/$PPID/exe")).decode().strip()

    def plant(self, change=lambda agent: None):
        self.agent.unlink(missing_ok=True)
        shutil.copy(pathlib.Path(support.DLAUNCH).with_name("dlaunch-agent"), self.agent)
        change(self.agent)
        return self.agent_of(self.copy)

    def test_installed_agent_runs(self):
        self.assertEqual(self.plant(), str(self.agent))
        self.assertEqual(self.agent_of(support.DLAUNCH), str(pathlib.Path(support.DLAUNCH).with_name("dlaunch-agent").resolve()))

    def test_dlaunch_without_installed_agent_uses_memory(self):
        self.assertEqual(self.agent_of(self.copy), self.IN_MEMORY)

    @promise(LEAVES_NOTHING, mode=START)
    def test_agent_without_a_job_ends_with_dlaunch(self):
        self.plant()
        with mock.patch("support.DLAUNCH", str(self.copy)):
            # The agent starts before dlaunch finds the error.
            refused = self.run_dlaunch("-n", 3, "--fake-devices", 2, "true")
        still = [pid for pid in os.listdir("/proc") if pid.isdigit() and executable(pid) == str(self.agent)]
        self.assertEqual((refused.returncode, still), (2, []))

    def test_foreign_agent_file_does_not_run(self):
        def other_build(agent):
            with agent.open("r+b") as file:
                file.seek(0x200)
                file.write(bytes(0x200))

        def fifo(agent):
            agent.unlink()
            os.mkfifo(agent, 0o755)

        changes = {"another build": other_build, "longer": lambda agent: agent.write_bytes(agent.read_bytes() + b"x"),
                   "a script": lambda agent: agent.write_text("#!/bin/sh\nexit 9\n"), "a pipe": fifo,
                   "that all may write": lambda agent: agent.chmod(0o757), "not for execution": lambda agent: agent.chmod(0o644)}
        if os.getuid() == 0:
            changes["somebody else's"] = lambda agent: os.chown(agent, 65534, -1)
        for what, change in changes.items():
            with self.subTest(what):
                self.assertEqual(self.plant(change), self.IN_MEMORY)


def executable(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/exe")


if __name__ == "__main__":
    support.main()
