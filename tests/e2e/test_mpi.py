"""Real MPI programs of the MPICH family, unmodified: one world on one host and over several, and how it ends. Clients
that break PMI are tests/e2e/test_pmi.py's."""
import json
import re
import shutil
import signal

import support
from hosts_case import HostsCase, lines
from support import Case, program

NO_MPICH = None if shutil.which("mpicc.mpich") else "no mpicc.mpich: scripts/install-packages mpi"


def mpich(name):
    return program("mpich/" + name)


def hellos(stdout):
    """Of mpi_hello: {rank: (size, host, app, universe)}."""
    found = re.findall(r"^rank (\d+) of (\d+) on (\S+) app (\d+) universe (-?\d+)$", stdout.decode(), re.M)
    return {int(rank): (int(size), host, int(app), int(universe)) for rank, size, host, app, universe in found}


def last_words(result):
    return result.stderr.decode().splitlines()[-1]


class MpichCase(Case):
    def setUp(self):
        if NO_MPICH:
            self.skipTest(NO_MPICH)
        super().setUp()


class World(MpichCase):
    def test_the_ranks_are_one_world(self):
        seen = hellos(self.assert_succeeds("-n", 4, mpich("mpi_hello")))
        self.assertEqual(sorted(seen), [0, 1, 2, 3])
        self.assertEqual({size for size, _, _, _ in seen.values()}, {4})
        self.assertTrue(all(universe >= 4 for _, _, _, universe in seen.values()), seen)

    def test_one_rank_alone(self):
        self.assertEqual({rank: seen[0] for rank, seen in hellos(self.assert_succeeds("-n", 1, mpich("mpi_hello"))).items()},
                         {0: 1})

    def test_programs_are_told_apart_and_share_the_world(self):
        hello = mpich("mpi_hello")
        seen = hellos(self.assert_succeeds("-n", 1, hello, ":", "-n", 2, hello))
        self.assertEqual({rank: (size, app) for rank, (size, _, app, _) in seen.items()}, {0: (3, 0), 1: (3, 1), 2: (3, 1)})

    def test_behind_a_script(self):
        out = self.assert_succeeds("-n", 2, "sh", "-c", 'exec 3>/dev/null; "$0"; echo done', mpich("mpi_ring"))
        self.assertEqual(sorted(out.splitlines()), [b"done", b"done", b"sum 1"])

    def test_none_makes_singletons(self):
        self.assertEqual(self.assert_succeeds("--mpi", "none", "-n", 2, mpich("mpi_split")), b"rank 0: 0\nrank 0: 0\n")

    def test_inside_an_outer_mpi_job(self):
        outer = {"PMI_FD": "9", "PMI_RANK": "7", "PMI_SIZE": "9", "PMI_SPAWNED": "1", "PMIX_NAMESPACE": "x", "PMIX_RANK": "3"}
        out = self.assert_succeeds("-n", 2, mpich("mpi_ring"), env=outer)
        self.assertEqual(out, b"sum 1\n")

    def test_ring_and_ranks_of_one_host(self):
        self.assertEqual(self.assert_succeeds("-n", 3, mpich("mpi_ring"), 3), b"sum 9\n")
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 2, mpich("mpi_split")))), ["rank 0: 0 1", "rank 1: 0 1"])

    def test_allreduce_of_64_mib(self):
        self.assertEqual(self.assert_succeeds("-n", 2, mpich("mpi_allreduce"), 64, timeout=120),
                         b"8388608 doubles, 0 wrong\n")

    def test_many_ranks_on_few_cores(self):
        seen = hellos(self.assert_succeeds("-n", 64, mpich("mpi_hello"), timeout=120))
        self.assertEqual(sorted(seen), list(range(64)))

    def test_published_names(self):
        self.assertEqual(self.assert_succeeds("-n", 2, mpich("mpi_names")), b"ocean is tag#0$here\nthen it is gone\n")


class End(MpichCase):
    def test_abort_gives_its_code_and_its_rank(self):
        result = self.run_dlaunch("-n", 3, "--report", "r.json", mpich("mpi_leave"), "abort", 1, 7)
        self.assert_exit(result, 7)
        self.assertRegex(last_words(result), r"^dlaunch: rank 1 \(host \S+, pid \d+\) called MPI_Abort with code 7 after")
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual(record["ranks"][1]["status"], {"kind": "aborted", "code": 7})
        self.assertEqual([rank["ended_by_us"] for rank in record["ranks"]], [True, False, True])

    def test_abort_ends_all_also_where_failures_do_not(self):
        result = self.run_dlaunch("-n", 2, "--on-failure", "continue", mpich("mpi_leave"), "abort", 0, 9)
        self.assert_exit(result, 9)

    def test_abort_with_0_is_a_failure(self):
        self.assert_exit(self.run_dlaunch("-n", 2, mpich("mpi_leave"), "abort", 0, 0), 1)

    def test_leaving_without_finalize_is_a_failure(self):
        for who in ("1", "all"):
            with self.subTest(who):
                result = self.run_dlaunch("-n", 2, mpich("mpi_leave"), "exit", who, 0)
                self.assert_exit(result, 1)
                self.assertIn("exited with code 0 after MPI_Init and without MPI_Finalize", last_words(result))

    def test_its_own_code_stays(self):
        self.assert_exit(self.run_dlaunch("-n", 2, mpich("mpi_leave"), "exit", 1, 5), 5)

    def test_a_rank_killed_while_the_others_wait_for_it(self):
        result = self.run_dlaunch("-n", 3, "--grace", 1, mpich("mpi_leave"), "kill", 2)
        self.assert_exit(result, 128 + signal.SIGKILL)
        self.assertRegex(last_words(result) + result.stderr.decode(), r"rank 2 \(host \S+, pid \d+\) killed by signal 9")

    def test_a_rank_that_never_enters_mpi_lets_nobody_wait(self):
        result = self.run_dlaunch("-n", 1, "true", ":", "-n", 2, mpich("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 0 has left MPI, or never entered it", result.stderr.decode())


class Hosts(HostsCase):
    count = 3

    def setUp(self):
        if NO_MPICH:
            self.skipTest(NO_MPICH)
        super().setUp()

    def run_mpich(self, *args, complete):
        """stdout of a job that succeeds. MPICH 4.0.2 over UCX and TCP hangs now and then in MPI_Finalize, under any
        launcher (docs/mpi.md): a job that does so, after all that it had to say (`complete`), is run again."""
        for _ in range(4):
            result = self.run_dlaunch("--timeout", 15, "-x", "UCX_TCP_PUT_ENABLE=n", *args)
            self.assertTrue(complete(result.stdout), result)
            if result.returncode != 124:
                break
            print("MPICH hung in MPI_Finalize: run again", flush=True)
        self.assert_exit(result, 0)
        return result.stdout

    def test_one_world_over_hosts(self):
        out = self.run_mpich("-n", 4, "-H", "node1:2,node2:2", mpich("mpi_hello"), complete=lambda o: len(lines(o)) == 4)
        seen = hellos(out)
        self.assertEqual({rank: host for rank, (_, host, _, _) in seen.items()},
                         {0: "node1", 1: "node1", 2: "node2", 3: "node2"})
        self.assertEqual({(size, universe) for size, _, _, universe in seen.values()}, {(4, 4)})

    def test_a_ring_over_three(self):
        self.run_mpich("-H", "node1:2,node2:1,node3:1", mpich("mpi_ring"), 5, complete=lambda o: o == b"sum 30\n")

    def test_ranks_of_a_host_find_each_other(self):
        for placed, expected in (((), ["rank 0: 0 1", "rank 1: 0 1", "rank 2: 2 3", "rank 3: 2 3", "rank 4: 4"]),
                                 (("--map-by", "node"), ["rank 0: 0 3", "rank 1: 1 4", "rank 2: 2", "rank 3: 0 3", "rank 4: 1 4"])):
            with self.subTest(placed):
                self.run_mpich("-n", 5, "-H", "node1:2,node2:2,node3:1", *placed, mpich("mpi_split"),
                               complete=lambda o: sorted(lines(o)) == expected)

    def test_data_and_names_go_between_hosts(self):
        self.run_mpich("-H", "node1,node2", mpich("mpi_allreduce"), 64, complete=lambda o: o == b"8388608 doubles, 0 wrong\n")
        self.run_mpich("-H", "node1,node2", mpich("mpi_names"),
                       complete=lambda o: o == b"ocean is tag#0$here\nthen it is gone\n")

    def test_abort_on_another_host(self):
        result = self.run_dlaunch("-H", "node1,node2,node3", mpich("mpi_leave"), "abort", 2, 7)
        self.assert_told(result, 7, "rank 2 (host node3", "called MPI_Abort with code 7")

    def test_a_host_whose_ranks_never_enter_mpi(self):
        result = self.run_dlaunch("-n", 1, "-H", "node1", "true", ":", "-n", 2, "-H", "node2:2", mpich("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 0 has left MPI, or never entered it", result.stderr.decode())


if __name__ == "__main__":
    support.main()
