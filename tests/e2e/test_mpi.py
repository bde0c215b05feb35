"""Tests unmodified MPI programs of the MPICH family on one host and several hosts (mpi_case.py). test_pmi.py has the
clients that violate PMI."""
import shutil

import mpi_case
import support
from hosts_case import HostsCase
from mpi_case import hellos
from support import Case, program

NO_MPICH = None if shutil.which("mpicc.mpich") else "no mpicc.mpich: scripts/install-packages mpi"


class Mpich:
    def setUp(self):
        if NO_MPICH:
            self.skipTest(NO_MPICH)
        super().setUp()

    def mpi(self, name):
        return program("mpich/" + name)


class World(Mpich, mpi_case.OneHost, Case):
    def test_single_rank_is_a_world(self):
        self.assertEqual({rank: seen[0] for rank, seen in hellos(self.assert_succeeds("-n", 1, self.mpi("mpi_hello"))).items()},
                         {0: 1})

    def test_variables_of_an_outer_mpi_job_are_ignored(self):
        outer = {"PMI_FD": "9", "PMI_RANK": "7", "PMI_SIZE": "9", "PMI_SPAWNED": "1", "PMIX_NAMESPACE": "x", "PMIX_RANK": "3"}
        out = self.assert_succeeds("--ignore-resource-manager", "-n", 2, self.mpi("mpi_ring"), env=outer)
        self.assertEqual(out, b"sum 1\n")


class End(Mpich, mpi_case.Endings, Case):
    pass


class Hosts(Mpich, mpi_case.SeveralHosts, HostsCase):
    count = 3

    def run_world(self, *args, complete):
        """MPICH 4.0.2 over UCX and TCP sometimes hangs in MPI_Finalize, under any launcher (docs/mpi.md). A job that
        hangs after its complete output is run again."""
        for _ in range(4):
            result = self.run_dlaunch("--timeout", 15, "-x", "UCX_TCP_PUT_ENABLE=n", *args)
            self.assertTrue(complete(result.stdout), result)
            if result.returncode != 124:
                break
            print("MPICH hung in MPI_Finalize: run again", flush=True)
        self.assert_exit(result, 0)
        return result.stdout


class EndedOverHosts(Mpich, mpi_case.EndedFromOutside, HostsCase):
    pass


if __name__ == "__main__":
    support.main()
