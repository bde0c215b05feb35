"""Tests the command lines of mpirun and mpiexec.hydra, through links with these names and without, on one host next to
the real Open MPI and Hydra if these are installed, and on several hosts."""
import os
import re
import shutil
import signal
import subprocess
from unittest import mock

import support
from hosts_case import HostsCase
from promises import ENDS, READER, promise
from support import Case, TELL_PID, sh, until_ended

OPEN_MPI = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.hydra")
CORES = len({tuple(sorted(open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read().split()))
             for cpu in os.sched_getaffinity(0)})


def sorted_lines(data):
    return sorted(data.splitlines())


class CalledByName:
    """A mixin for a Case: runs dlaunch through a link with another name."""

    def run_called(self, name, *args, **options):
        link = self.dir / name
        if not link.is_symlink():
            link.symlink_to(support.DLAUNCH)
        with mock.patch("support.DLAUNCH", str(link)):
            return self.run_dlaunch(*args, **options)

    def mpirun(self, *args, **options):
        return self.run_called("mpirun", *args, **options)


class Names(CalledByName, Case):
    def test_each_name_keeps_the_defaults_of_open_mpi(self):
        for name in ("mpirun", "mpiexec", "orterun"):
            with self.subTest(name):
                result = self.run_called(name, "-n", 2, *sh('echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"'))

                if CORES >= 2:
                    self.assert_exit(result, 0)
                    self.assertEqual(sorted_lines(result.stdout), [b"0 of 2", b"1 of 2"])
                too_many = self.run_called(name, "-n", CORES + 1, "true")
                self.assert_exit(too_many, 2)
                self.assertIn(b"--oversubscribe", too_many.stderr)

    def test_default_is_one_rank_per_core(self):
        result = self.mpirun("--use-hwthread-cpus", "echo", "here")
        self.assertEqual(result.stdout.count(b"here"), len(os.sched_getaffinity(0)))
        self.assertEqual(self.mpirun("echo", "here").stdout.count(b"here"), CORES)

    def test_two_ranks_are_bound_to_cores_and_oversubscribed_ranks_are_not(self):
        whole = str(sorted(os.sched_getaffinity(0))).encode()
        see = ["python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
        one = self.mpirun("-n", 1, *see).stdout.strip()
        self.assertEqual(one != whole, CORES > 1)
        self.assertEqual(set(self.mpirun("-oversubscribe", "-n", CORES + 1, *see).stdout.splitlines()), {whole})
        self.assertEqual(self.mpirun("-n", 1, "--bind-to", "none", *see).stdout.strip(), whole)
        self.assertEqual(self.run_dlaunch("-n", 1, *see).stdout.strip(), whole)

    def test_mpirun_has_no_subcommands(self):
        program = self.dir / "check"
        program.write_text("#!/bin/sh\necho mine\n")
        program.chmod(0o755)
        result = self.mpirun("check", env={"PATH": f"{self.dir}:{os.environ['PATH']}"})
        self.assertEqual(set(result.stdout.splitlines()), {b"mine"})

    def test_timeout_has_the_code_of_mpirun(self):
        self.assert_exit(self.mpirun("-n", 1, "--timeout", 1, "sleep", 100), 110)
        self.assert_exit(self.mpirun("-n", 1, "sleep", 100, env={"MPIEXEC_TIMEOUT": "1"}), 110)
        self.assert_exit(self.run_dlaunch("-n", 1, "--timeout", 1, "sleep", 100, env={"MPIEXEC_TIMEOUT": "50"}), 124)

    def test_variables_of_a_program_stay_with_the_program(self):
        show = sh('echo "[$A$B]"')
        args = ["-oversubscribe", "-x", "A=1", "-genv", "B", "2", "-n", 1, *show, ":", "-n", 1, *show]
        self.assertEqual(sorted_lines(self.mpirun(*args).stdout), [b"[12]", b"[2]"])
        self.assertEqual(sorted_lines(self.run_dlaunch(*args).stdout), [b"[12]", b"[12]"])


class Options(CalledByName, Case):
    def test_mca_parameters_reach_the_ranks(self):
        result = self.run_dlaunch("-n", 1, "-mca", "pml", "ob1", "--mca", "made_up", "7", "-mca", "oob_tcp_if_include", "lo",
                                  *sh("env | grep ^OMPI_MCA | grep -v _backing_directory= | sort"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"OMPI_MCA_made_up=7\nOMPI_MCA_pml=ob1\n")
        self.assertIn(b"note: --mca made_up: unknown key, passed on", result.stderr)
        self.assertIn(b"note: -mca oob_tcp_if_include changes nothing here", result.stderr)
        self.assertEqual(self.run_dlaunch("-q", "-n", 1, "-mca", "made_up", "7", "true").stderr, b"")

    def test_mca_parameter_keeps_the_other_ranks_running(self):
        script = sh(f'{TELL_PID}; [ "$RANK_ID" != 0 ] || exit 3; {until_ended(0)}; echo alive')
        result = self.run_dlaunch("-n", 2, "-mca", "orte_abort_on_non_zero_status", 0, *script)
        self.assert_exit(result, 3)
        self.assertEqual(result.stdout, b"alive\n")

    def test_environment_sets_mca_parameters(self):
        out = self.assert_succeeds("-n", 1, "echo", "hi", env={"OMPI_MCA_orte_tag_output": "1"})
        self.assertEqual(out, b"[1,0]<stdout>:hi\n")

    def test_map_and_allocation_are_printed_and_the_job_runs(self):
        out = self.assert_succeeds("-n", 1, "--display-map", "-display-allocation", "echo", "ran").decode()
        self.assertRegex(out, r"(?s)host +slots.*rank +host +local rank.*\nran\n$")
        planned = self.assert_succeeds("-n", 1, "-do-not-launch", "-display-map", "echo", "ran")
        self.assertNotIn(b"\nran\n", planned)

    def test_report_pid_writes_the_pid(self):
        job = self.start("-n", 1, "--report-pid", "pid", "true")
        job.wait(support.TIMEOUT)
        self.assertEqual((self.dir / "pid").read_text(), f"{job.pid}\n")
        self.assertRegex(self.assert_succeeds("-n", 1, "--report-pid", "-", "true"), rb"^\d+\n$")

    @promise(ENDS, mode=READER)
    def test_report_pid_to_a_pipe_without_a_reader_fails_within_10_s(self):
        os.mkfifo(self.dir / "pipe")
        result = self.run_dlaunch("-n", 1, "--report-pid", "pipe", "true")
        self.assert_exit(result, 2)
        self.assertIn(b"pipe: no program reads the FIFO\ndlaunch:   start the reader first", result.stderr)

    def test_prefix_is_first_in_the_paths(self):
        out = self.assert_succeeds("-n", 1, "--prefix", "/opt/m", *sh('echo "$PATH"; echo "$LD_LIBRARY_PATH"'),
                                   env={"LD_LIBRARY_PATH": "/lib"})
        path, library_path = out.decode().splitlines()
        self.assertTrue(path.startswith("/opt/m/bin:"), path)
        self.assertEqual(library_path, "/opt/m/lib:/lib")

    def test_rank_gets_several_cores(self):
        see = ["python3", "-c", "import os; print(len(os.sched_getaffinity(0)))"]
        cpus = len(os.sched_getaffinity(0))
        out = self.assert_succeeds("-n", 1, "--map-by", f"slot:PE={CORES}", *see)
        self.assertEqual(int(out), cpus)
        refused = self.run_dlaunch("-n", 1, "--map-by", f"slot:PE={CORES + 1}", "true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(b"separate cores", refused.stderr)
        free = self.assert_succeeds("-n", 1, "--map-by", f"slot:PE={CORES + 1}", "--bind-to", "core:if-supported", *see)
        self.assertEqual(int(free), cpus)

    def test_cpu_set_binds_all_ranks(self):
        first = min(os.sched_getaffinity(0))
        out = self.assert_succeeds("-n", 2, "--cpu-set", f"p{first}", "python3", "-c",
                                   "import os; print(sorted(os.sched_getaffinity(0)))")
        self.assertEqual(set(out.splitlines()), {f"[{first}]".encode()})

    def test_options_of_hydra_are_accepted(self):
        out = self.assert_succeeds("-genv", "A", "1", "-l", "-n", 1, *sh("echo $A"))
        self.assertEqual(out, b"[0] 1\n")
        out = self.assert_succeeds("-env", "A", "2", "-prepend-pattern", "<%r>", "-n", 1, *sh("echo $A"))
        self.assertEqual(out, b"<0>2\n")
        streams = sh("echo out $RANK_ID; echo err $RANK_ID >&2")
        result = self.run_dlaunch("-outfile-pattern", "o/%r.out", "-n", 2, *streams)
        self.assertEqual((result.stdout, sorted_lines(result.stderr)), (b"", [b"err 0", b"err 1"]))
        result = self.run_dlaunch("-outfile-pattern", "o/%r.out", "-errfile-pattern", "o/%r.err", "-n", 2, *streams)
        self.assertEqual((result.stdout, result.stderr), (b"", b""))
        kept = {path.name: path.read_text() for path in (self.dir / "o").iterdir()}
        self.assertEqual(kept, {"0.out": "out 0\n", "1.out": "out 1\n", "0.err": "err 0\n", "1.err": "err 1\n"})
        for pattern in (["-outfile-pattern", "same"], ["-outfile-pattern", "same.%r", "-errfile-pattern", "same.%r"]):
            self.assert_exit(self.run_dlaunch(*pattern, "-n", 2, *streams), 0)
        self.assertEqual(sorted((self.dir / "same").read_text().splitlines()), ["out 0", "out 1"])
        self.assertEqual(sorted((self.dir / "same.1").read_text().splitlines()), ["err 1", "out 1"])
        chosen = self.assert_succeeds("-iface", "eth0", "-n", 1, "printenv", "MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE")
        self.assertEqual(chosen, b"eth0\n")


class ComparedWith(CalledByName):
    """Runs dlaunch and the real launcher `command` (named `name`) with the same arguments and requires the same exit
    code and the same lines in any order. `their_options` and `own_options` are options of one launcher only, which
    choose the hosts."""
    their_options = own_options = ()

    def theirs(self, *args, env=None, **options):
        for _ in range(3):
            result = subprocess.run([*self.command, *map(str, args)], cwd=self.dir, env=self.env | (env or {}),
                                    **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options,
                                    capture_output=True, timeout=support.TIMEOUT, check=False)
            if result.returncode != -signal.SIGPIPE:  # Hydra 4.0 dies of SIGPIPE now and then on a busy machine
                break
        return result.returncode, sorted_lines(result.stdout)

    def assert_same(self, *args, env=None, code=None, **options):
        with self.subTest(" ".join(map(str, args))):
            theirs = self.theirs(*self.their_options, *args, env=env, **options)
            result = self.run_called(self.name, *self.own_options, *args, env=env, **options)
            self.assertEqual((result.returncode, sorted_lines(result.stdout)), theirs, result.stderr)
            if code is not None:
                self.assertEqual(theirs[0], code)


class ComparedWithHydra(ComparedWith, Case):
    name = "mpiexec.hydra"
    command = (HYDRA,)
    show = sh("echo $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS")

    def setUp(self):
        if not HYDRA:
            self.skipTest("no mpiexec.hydra: install mpich")
        super().setUp()
        self.env = {k: v for k, v in self.env.items() if not k.startswith(("HYDRA_", "PMI", "MPIEXEC_"))}

    def test_ranks_get_the_same_variables(self):
        self.assert_same(*self.show, code=0)
        self.assert_same("-n", 5, *self.show, code=0)
        self.assert_same("-ppn", 2, *self.show, code=0)
        self.assert_same("-n", 3, "-ppn", 2, *self.show, code=0)
        self.assert_same("-hosts", "localhost:3", *self.show, code=0)
        self.assert_same("-n", 1, *self.show, ":", "-n", 2, *self.show, code=0)

    def test_hosts_get_the_same_ranks(self):
        """With `-launcher fork`, Hydra uses this machine for each host; dlaunch does so with --exec."""
        (self.dir / "hosts").write_text("a\n# none\nb:2\n\n")
        self.their_options = ["-launcher", "fork", "-prepend-pattern", "%r@%h "]
        self.own_options = ["--exec", "env", "-prepend-pattern", "%r@%h "]
        for args in (["-hosts", "a,b"], ["-hosts", "a:2,b"], ["-hosts", "a:2,b", "-n", 7], ["-hosts", "a,b", "-ppn", 2],
                     ["-hosts", "a,b", "-ppn", 2, "-n", 3], ["-hosts", "a:3,b:1", "-ppn", 2, "-n", 7], ["-f", "hosts"],
                     ["-f", "hosts", "-n", 4], ["-hosts", "a,a,b"]):
            self.assert_same(*args, *self.show, code=0)
        self.assert_same("-hosts", "a:2,b", "-n", 2, *self.show, ":", *self.show, code=0)
        self.assert_same(*self.show, env={"HYDRA_HOST_FILE": "hosts"}, code=0)

    def test_stdin_output_and_labels_are_the_same(self):
        self.assert_same("-n", 2, *sh("[ $PMI_RANK = 1 ] || cat"), input=b"for rank 0\n", code=0)
        self.assert_same("-l", "-n", 2, "echo", "hi", code=0)
        self.assert_same("-n", 3, "-output-from", 1, *sh("echo $PMI_RANK"), code=0)

    def test_environment_directory_and_cpus_are_the_same(self):
        show = sh('echo "[$A][$B] $(pwd) $(grep Cpus_allowed_list /proc/self/status)"')
        self.assert_same("-n", 3, *show, env={"B": "from here"}, code=0)
        self.assert_same("-genv", "A", 1, "-env", "B", 2, "-wdir", "/", "-n", 1, *show, ":", "-n", 1, *show, code=0)
        self.assert_same("-genvlist", "A", "-n", 1, *show, env={"A": "x y"}, code=0)

    def test_exit_codes_are_the_same(self):
        self.assert_same("-n", 2, *sh("exit 7"), code=7)
        limit = {"MPIEXEC_TIMEOUT": "1"}
        self.assertEqual(self.theirs("-n", 2, "sleep", 50, env=limit)[0], 255)
        self.assert_exit(self.run_called(self.name, "-n", 2, "sleep", 50, env=limit), 255)
        self.assert_exit(self.run_dlaunch("-n", 2, "sleep", 50, env=limit), 124)

    def test_hydra_has_no_subcommands_and_other_names(self):
        for name in ("hosts", "check"):
            self.assertEqual(self.run_called(self.name, name).returncode, 127)
        for name in ("mpiexec.mpich", "mpirun.mpich"):
            self.assertEqual(self.run_called(name, *self.show).stdout, b"0 1 0 1\n")
        self.assertEqual(self.run_dlaunch("--personality", "hydra", *self.show).stdout, b"0 1 0 1\n")

    def test_mpi_program_runs(self):
        ring = support.PROGRAMS / "mpich" / "mpi_ring"
        if not ring.exists():
            self.skipTest("no MPICH to compile with: scripts/install-packages mpi")
        self.assert_same("-n", 4, ring, code=0)


class ComparedWithOpenMpi(ComparedWith, Case):
    name = "mpirun"
    command = (OPEN_MPI, "--allow-run-as-root")

    def setUp(self):
        if not OPEN_MPI:
            self.skipTest("no mpirun.openmpi: install openmpi-bin")
        super().setUp()
        self.env = {k: v for k, v in self.env.items() if not k.startswith(("OMPI_", "PMIX_"))}
        self.env |= {"OMPI_MCA_orte_tmpdir_base": str(self.dir), "OMPI_MCA_odls_base_sigkill_timeout": "0"}

    def test_ranks_get_the_same_variables(self):
        names = "OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE OMPI_UNIVERSE_SIZE"
        show = sh("echo " + " ".join("$" + name for name in names.split()))
        self.assert_same("-np", 1, *show, code=0)
        self.assert_same(*show, code=0)
        self.assert_same("-H", "localhost:3", *show, code=0)
        self.assert_same("--oversubscribe", "-n", 5, *sh("echo $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE"), code=0)
        self.assert_same("-H", "localhost:4", "-N", 2, *show, code=0)
        self.assert_same("-H", "localhost:4", "-pernode", *show, code=0)

    def test_ranks_get_the_same_cpus(self):
        # One write, because Open MPI mixes lines.
        see = sh('echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)')
        self.assert_same("-n", 1, *see, code=0)
        self.assert_same("-H", "localhost:2", "-n", 2, *see, code=0)
        self.assert_same("--oversubscribe", "-n", CORES + 1, *see, code=0)
        self.assert_same("-n", 1, "--bind-to", "none", *see, code=0)
        self.assert_same("-n", 1, "--use-hwthread-cpus", *see, code=0)
        self.assert_same("-H", "localhost:2", "-n", 2, "--map-by", "socket", *see, code=0)
        self.assert_same("-n", 1, "--map-by", f"slot:PE={CORES}", *see, code=0)

    def test_exit_codes_are_the_same(self):
        self.assert_same("-n", 1, *sh("exit 7"), code=7)
        self.assert_same("-n", 1, *sh("kill -9 $$"), code=137)
        self.assert_same("-n", 1, "--timeout", 1, "sleep", 50, code=110)

    def test_variables_are_the_same(self):
        show = sh('echo "[$A][$B]"')
        self.assert_same("-n", 1, "-x", "A=b=c", "-x", "B", *show, env={"B": "from here"}, code=0)
        self.assert_same("--oversubscribe", "-x", "A=1", "-n", 1, *show, ":", "-n", 1, *show, code=0)
        self.assert_same("-n", 1, "-mca", "mca_base_env_list", "A=1;B=2", *show, code=0)
        self.assert_same("-n", 1, "-mca", "pml", "ob1", *sh("echo $OMPI_MCA_pml"), code=0)

    def test_output_is_the_same(self):
        self.assert_same("-n", 1, "-tag-output", "echo", "hi", code=0)
        self.assert_same("-n", 1, "-mca", "orte_tag_output", 1, "echo", "hi", code=0)
        both = sh("echo out; echo err >&2")
        kept = []
        for run, name in ((self.theirs, "a"), (self.mpirun, "b")):
            run("-n", 1, "--output-filename", name, "--merge-stderr-to-stdout", *both)
            kept.append(sorted((str(p.relative_to(self.dir / name)), sorted_lines(p.read_bytes()))
                               for p in (self.dir / name).rglob("*") if p.is_file()))
        self.assertEqual(kept[0], kept[1])

    def test_both_launchers_reject_invalid_lines(self):
        for args in (["-n", CORES + 1, "true"], ["-n", "x", "true"], ["--no-such-option", "true"], ["-n", 1]):
            with self.subTest(args):
                self.assertNotEqual(self.theirs(*args)[0], 0)
                self.assert_exit(self.mpirun(*args), 2)


class SeveralHosts(CalledByName, HostsCase):
    count = 2
    show = sh('echo "$DLAUNCH_HOST $OMPI_COMM_WORLD_RANK $OMPI_MCA_pml $OMPI_MCA_btl $OMPI_MCA_orte_launch"')

    def test_mca_parameters_reach_ranks_on_other_hosts(self):
        env = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_orte_launch": "1"}
        result = self.mpirun("-H", "node1,node2", "-mca", "btl", "self,tcp", *self.show, env=env)
        self.assert_exit(result, 0)
        self.assertEqual(sorted_lines(result.stdout), [b"node1 0 ob1 self,tcp ", b"node2 1 ob1 self,tcp "])
        plain = self.run_dlaunch("-H", "node1,node2", "-gmca", "btl", "self", *sh('echo "$OMPI_MCA_pml $OMPI_MCA_btl"'),
                                 env=env)
        self.assertEqual(plain.stdout, b"ob1 self\n" * 2)

    def test_hosts_without_slots_have_one_slot_per_core(self):
        (self.dir / "hosts").write_text("node1\nnode2\n")
        result = self.mpirun("--hostfile", "hosts", "--display-map", *sh("echo ran"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout.splitlines().count(b"ran"), 2 * CORES)
        self.assertIn(b"cores of the affinity mask there", result.stdout)

    def test_remote_shell_of_an_mca_parameter_is_used(self):
        shell = self.dir / "my-rsh"
        shell.write_text(f'#!/bin/sh\necho "$@" >> {self.dir}/calls\nhost=$2; shift 2\nexec ssh -T -o BatchMode=yes "$host" "$@"\n')
        shell.chmod(0o755)
        result = self.mpirun("-H", "node1,node2", "-mca", "plm_rsh_agent", f"{shell} -q", "-mca", "plm_rsh_num_concurrent", 1,
                             "echo", "there")
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"there\n" * 2)
        self.assertEqual(sorted_lines((self.dir / "calls").read_bytes()), [b"-q node1 sh", b"-q node2 sh"])

    def test_arguments_of_the_remote_shell_are_accepted(self):
        result = self.run_dlaunch("-H", "node1", "echo", "there", env={"OMPI_MCA_plm_rsh_args": "-o ConnectTimeout=7"})
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"there\n")
        self.assertFalse(re.search(b"note", result.stderr), result.stderr)


if __name__ == "__main__":
    support.main()
