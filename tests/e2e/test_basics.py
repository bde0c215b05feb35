"""Starting programs: exit codes, everybody's output, and what is said of a program that cannot be started."""
import contextlib
import os
import pathlib
import shutil
from unittest import mock

import support
from support import Case, program, sh


class Basics(Case):
    def test_success_is_quiet_and_zero(self):
        self.assertEqual(self.assert_succeeds("-n", 4, "true"), b"")

    def test_a_misspelt_variable_is_told(self):
        misspelt = {"DLAUNCH_GRCE": "4"}
        told = self.run_dlaunch("-n", "1", "true", env=misspelt)
        self.assert_exit(told, 0)
        self.assertEqual(told.stderr, b"dlaunch: note: DLAUNCH_GRCE has no effect: did you mean DLAUNCH_GRACE?\n")
        self.assertEqual(self.run_dlaunch("-q", "-n", "1", "true", env=misspelt).stderr, b"")
        inner = self.run_dlaunch("-n", "1", support.DLAUNCH, "-n", "1", "true")  # a rank's own variables are known
        self.assertEqual((inner.returncode, inner.stderr), (0, b""))

    def test_every_rank_is_heard(self):
        out = self.assert_succeeds("-n", 4, *sh('echo "rank $RANK_ID of $RANK_SIZE"'))
        self.assertEqual(sorted(out.splitlines()), [b"rank %d of 4" % n for n in range(4)])

    def test_a_good_run_is_silent(self):
        """Also where ranks share CPUs, or devices as they were asked to."""
        crowd = 2 * os.cpu_count() + 1
        shared = ("--fake-devices", 2, "--oversubscribe", "-n", 5)
        for args in (("-n", crowd), shared):
            result = self.run_dlaunch(*args, "true")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        for args, remark in ((("-n", crowd), b"ranks share cores"), (shared, b"ranks share devices")):
            self.assertIn(remark, self.run_dlaunch("-v", *args, "true").stderr)
            self.assertIn(remark, self.run_dlaunch("--dry-run", *args, "true").stdout)
            self.assertIn(remark, self.run_dlaunch("--dry-run", "--format", "json", *args, "true").stdout)

    def test_streams_stay_apart(self):
        result = self.run_dlaunch("-n", 1, *sh("echo out; echo err >&2"))
        self.assert_exit(result, 0)
        self.assertEqual((result.stdout, result.stderr), (b"out\n", b"err\n"))

    def test_exit_code_is_the_ranks(self):
        for code in (1, 3, 125, 255):
            with self.subTest(code=code):
                self.assert_exit(self.run_dlaunch("-n", 1, program("exit_with"), code), code)

    def test_exit_code_is_the_failing_ranks(self):
        result = self.run_dlaunch("-n", 4, *sh('[ "$RANK_ID" != 2 ] || exit 3; exec sleep 100'))
        self.assert_exit(result, 3)
        self.assertIn(b"rank 2", result.stderr)

    def test_signal_is_128_more(self):
        for number in (6, 9, 11, 15):
            with self.subTest(signal=number):
                self.assert_exit(self.run_dlaunch("-n", 1, program("die_by"), number), 128 + number)

    def test_missing_program(self):
        result = self.run_dlaunch("-n", 2, "./no-such-program")
        self.assert_exit(result, 127)
        self.assertIn(b"./no-such-program", result.stderr)

    def test_missing_program_by_name(self):
        self.assert_exit(self.run_dlaunch("-n", 2, "no-such-program-anywhere"), 127)

    def test_not_executable(self):
        (self.dir / "data").write_text("not a program\n")
        result = self.run_dlaunch("-n", 2, "./data")
        self.assert_exit(result, 126)
        self.assertIn(b"./data", result.stderr)

    def test_missing_working_directory_is_named_and_not_the_program(self):
        result = self.run_dlaunch("-n", 2, "-wdir", "/no/such/place", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"/no/such/place", result.stderr)

    def test_working_directory(self):
        (self.dir / "below").mkdir()
        out = self.assert_succeeds("-n", 1, "-wdir", self.dir / "below", "pwd", "-P")
        self.assertEqual(out.decode().strip(), os.path.realpath(self.dir / "below"))

    def test_arguments_after_the_program_are_its_own(self):
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

    def test_unknown_option_is_refused(self):
        result = self.run_dlaunch("-n", 2, "--lable", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"--label", result.stderr)


class SeenJobs(Case):
    """What the environment tells of a resource manager or another launcher, on this machine."""

    def test_a_job_that_names_no_host_is_an_error(self):
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

    def test_what_stands_in_a_login_shell_is_no_job(self):
        shell = {"SLURM_JOB_ID": "5", "SLURM_CONF": "/etc/slurm.conf", "SGE_ROOT": "/sge", "PBS_EXEC": "/opt/pbs", "LSF_BINDIR": "/lsf"}
        self.assertEqual(self.assert_succeeds("-n", 1, "echo", "here", env=shell), b"here\n")

    def test_a_copy_that_another_launcher_started_is_refused(self):
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


class WhichAgent(Case):
    """The file that is installed, if it is this build's and nobody else could have written it; else one in memory."""
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

    def test_the_installed_one_runs(self):
        self.assertEqual(self.plant(), str(self.agent))
        self.assertEqual(self.agent_of(support.DLAUNCH), str(pathlib.Path(support.DLAUNCH).with_name("dlaunch-agent").resolve()))

    def test_dlaunch_alone_brings_its_own(self):
        self.assertEqual(self.agent_of(self.copy), self.IN_MEMORY)

    def test_one_that_gets_no_job_is_gone_with_dlaunch(self):
        self.plant()
        with mock.patch("support.DLAUNCH", str(self.copy)):
            refused = self.run_dlaunch("-n", 3, "--fake-devices", 2, "true")  # it was started before this was found out
        still = [pid for pid in os.listdir("/proc") if pid.isdigit() and executable(pid) == str(self.agent)]
        self.assertEqual((refused.returncode, still), (2, []))

    def test_another_one_does_not_run(self):
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
