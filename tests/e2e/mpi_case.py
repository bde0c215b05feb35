"""Tests for every MPI library: test_mpi.py runs them on programs of MPICH, test_pmix.py on programs of Open MPI. The
classes are mixins for a Case; its mpi(name) returns the path of a program."""
import json
import re
import signal
import subprocess

from hosts_case import interrupt, lines
from promises import DEADLINE, ENDS, KILL, LEAVES_NOTHING, MPI, NAMES_FIRST, SIGNAL, promise
from support import cause, left_since

# Two singletons of Open MPI fail if both create the same session directory at the same time.
OWN_TMPDIR = ("sh", "-c", 'mkdir -p $RANK_ID; TMPDIR=$PWD/$RANK_ID exec "$0"')


def hellos(stdout):
    """Parses the output of mpi_hello: {rank: (size, host, app, universe)}."""
    found = re.findall(r"^rank (\d+) of (\d+) on (\S+) app (\d+) universe (-?\d+)$", stdout.decode(), re.M)
    return {int(rank): (int(size), host, int(app), int(universe)) for rank, size, host, app, universe in found}


class OneHost:
    def test_ranks_of_a_job_share_one_world(self):
        seen = hellos(self.assert_succeeds("-n", 4, self.mpi("mpi_hello")))
        self.assertEqual(sorted(seen), [0, 1, 2, 3])
        self.assertEqual({size for size, _, _, _ in seen.values()}, {4})
        self.assertTrue(all(universe >= 4 for _, _, _, universe in seen.values()), seen)

    def test_programs_have_app_numbers_and_share_the_world(self):
        hello = self.mpi("mpi_hello")
        seen = hellos(self.assert_succeeds("-n", 1, hello, ":", "-n", 2, hello))
        self.assertEqual({rank: (size, app) for rank, (size, _, app, _) in seen.items()}, {0: (3, 0), 1: (3, 1), 2: (3, 1)})

    def test_mpi_program_runs_below_a_shell_script(self):
        out = self.assert_succeeds("-n", 2, "sh", "-c", 'exec 3>/dev/null; "$0"; echo done', self.mpi("mpi_ring"))
        self.assertEqual(sorted(out.splitlines()), [b"done", b"done", b"sum 1"])

    def test_mpi_none_makes_singletons(self):
        self.assertEqual(self.assert_succeeds("--mpi", "none", "-n", 2, *OWN_TMPDIR, self.mpi("mpi_split")),
                         b"rank 0: 0\nrank 0: 0\n")

    def test_ring_and_ranks_of_one_host(self):
        self.assertEqual(self.assert_succeeds("-n", 3, self.mpi("mpi_ring"), 3), b"sum 9\n")
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 2, self.mpi("mpi_split")))), ["rank 0: 0 1", "rank 1: 0 1"])

    def test_allreduce_of_64_mib_is_correct(self):
        self.assertEqual(self.assert_succeeds("-n", 2, self.mpi("mpi_allreduce"), 64, timeout=120),
                         b"8388608 doubles, 0 wrong\n")

    def test_many_ranks_run_on_few_cores(self):
        seen = hellos(self.assert_succeeds("-n", 64, self.mpi("mpi_hello"), timeout=120))
        self.assertEqual(sorted(seen), list(range(64)))

    def test_published_names_are_found(self):
        self.assertEqual(self.assert_succeeds("-n", 2, self.mpi("mpi_names")), b"ocean is tag#0$here\nthen it is gone\n")


class Endings:
    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_abort_gives_its_code_and_its_rank(self):
        result = self.run_dlaunch("-n", 3, "--report", "r.json", self.mpi("mpi_leave"), "abort", 1, 7)
        self.assert_exit(result, 7)
        self.assertRegex(cause(result.stderr), r"^dlaunch: rank 1 \(host \S+, pid \d+\) called MPI_Abort with code 7 after")
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual(record["ranks"][1]["status"], {"kind": "aborted", "code": 7})
        self.assertEqual([rank["ended_by_us"] for rank in record["ranks"]], [True, False, True])

    @promise(ENDS, mode=MPI)
    def test_abort_ends_the_job_with_on_failure_continue(self):
        result = self.run_dlaunch("-n", 2, "--on-failure", "continue", self.mpi("mpi_leave"), "abort", 0, 9)
        self.assert_exit(result, 9)

    def test_abort_with_0_is_a_failure(self):
        self.assert_exit(self.run_dlaunch("-n", 2, self.mpi("mpi_leave"), "abort", 0, 0), 1)

    def test_leaving_without_finalize_is_a_failure(self):
        for who in ("1", "all"):
            with self.subTest(who):
                result = self.run_dlaunch("-n", 2, self.mpi("mpi_leave"), "exit", who, 0)
                self.assert_exit(result, 1)
                self.assertIn("exited with code 0 after MPI_Init and without MPI_Finalize", cause(result.stderr))

    def test_exit_code_of_a_rank_without_finalize_is_kept(self):
        self.assert_exit(self.run_dlaunch("-n", 2, self.mpi("mpi_leave"), "exit", 1, 5), 5)

    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_killed_rank_ends_ranks_that_wait_for_it(self):
        result = self.run_dlaunch("-n", 3, "--grace", 1, self.mpi("mpi_leave"), "kill", 2)
        self.assert_exit(result, 128 + signal.SIGKILL)
        self.assertRegex(result.stderr.decode(), r"rank 2 \(host \S+, pid \d+\) killed by signal 9")

    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_rank_that_never_enters_mpi_does_not_block_the_others(self):
        result = self.run_dlaunch("-n", 1, "true", ":", "-n", 2, self.mpi("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 0 has left MPI or never entered MPI", result.stderr.decode())


class SeveralHosts:
    """A mixin for a HostsCase. run_world(*args, complete=…) returns the stdout of a job that succeeds; complete(stdout)
    must be true."""

    never_entered = "rank 0 has left MPI or never entered MPI"

    def test_ranks_of_two_hosts_share_one_world(self):
        seen = hellos(self.run_world("-n", 4, "-H", "node1:2,node2:2", self.mpi("mpi_hello"), complete=lambda o: len(lines(o)) == 4))
        self.assertEqual({rank: host for rank, (_, host, _, _) in seen.items()},
                         {0: "node1", 1: "node1", 2: "node2", 3: "node2"})
        self.assertEqual({(size, universe) for size, _, _, universe in seen.values()}, {(4, 4)})

    def test_ring_over_three_hosts(self):
        self.run_world("-H", "node1:2,node2:1,node3:1", self.mpi("mpi_ring"), 5, complete=lambda o: o == b"sum 30\n")

    def test_ranks_of_a_host_find_each_other(self):
        for placed, expected in (((), ["rank 0: 0 1", "rank 1: 0 1", "rank 2: 2 3", "rank 3: 2 3", "rank 4: 4"]),
                                 (("--map-by", "node"), ["rank 0: 0 3", "rank 1: 1 4", "rank 2: 2", "rank 3: 0 3", "rank 4: 1 4"])):
            with self.subTest(placed):
                self.run_world("-n", 5, "-H", "node1:2,node2:2,node3:1", *placed, self.mpi("mpi_split"),
                               complete=lambda o: sorted(lines(o)) == expected)

    def test_data_and_names_cross_hosts(self):
        self.run_world("-H", "node1,node2", self.mpi("mpi_allreduce"), 64, complete=lambda o: o == b"8388608 doubles, 0 wrong\n")
        self.run_world("-H", "node1,node2", self.mpi("mpi_names"),
                       complete=lambda o: o == b"ocean is tag#0$here\nthen it is gone\n")

    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_abort_on_another_host_names_the_rank(self):
        result = self.run_dlaunch("-H", "node1,node2,node3", self.mpi("mpi_leave"), "abort", 2, 7)
        self.assert_told(result, 7, "rank 2 (host node3", "called MPI_Abort with code 7")

    @promise(ENDS, mode=MPI)
    def test_host_whose_ranks_never_enter_mpi_does_not_block_the_others(self):
        result = self.run_dlaunch("-n", 1, "-H", "node1", "true", ":", "-n", 2, "-H", "node2:2", self.mpi("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(self.never_entered, result.stderr.decode())


class EndedFromOutside:
    """A mixin for a HostsCase with two hosts."""

    shares_files = False  # in /dev/shm

    def setUp(self):
        super().setUp()
        self.before = self.left_behind()

    def tearDown(self):
        super().tearDown()
        self.assert_all_gone()

    def left_behind(self):
        """Job directories and shared memory on all hosts. All hosts share /tmp."""
        hosts = [self.bed.head, self.host(1), self.host(2)]
        return {(host.name, path) for host in hosts
                for path in host.sh("ls -d /tmp/dlaunch-????????????????-???????????????? /dev/shm/* 2>/dev/null || true").split()}

    def staying(self, *options):
        """A running job with two ranks on each host, all inside MPI."""
        job = self.start(*options, "-H", "node1:2,node2:2", self.mpi("mpi_leave"), "stay", "all",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4):
            if job.stdout.readline() != b"up\n":
                job.kill()
                self.fail(job.communicate()[1].decode())
        return job

    @promise(ENDS, LEAVES_NOTHING, mode=(MPI, SIGNAL, KILL))
    def test_ended_job_leaves_no_files(self):
        for name, end, code in (("Ctrl-C", interrupt, 130), ("kill -9", lambda job: job.kill(), -signal.SIGKILL)):
            with self.subTest(name):
                job = self.staying()
                self.assertEqual(any("/dev/shm" in path for _, path in self.left_behind() - self.before), self.shares_files)
                end(job)
                result, seconds = self.finish(job)
                self.assert_exit(result, code)
                self.assertLess(seconds, 10)
                self.assert_all_gone()

    @promise(ENDS, LEAVES_NOTHING, mode=(MPI, DEADLINE))
    def test_job_that_timed_out_leaves_no_files(self):
        job = self.staying("--timeout", 20)  # MPI_Init over two hosts takes up to 8 s on a busy machine
        result, _ = self.finish(job)
        self.assert_exit(result, 124)
        self.assert_all_gone()

    def assert_all_gone(self):
        self.assert_hosts_clean()
        self.assertEqual(left_since(self.before, self.left_behind), set())
