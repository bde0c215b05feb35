"""Tests debuggers: gdb in place of one rank, with its input, and gdb attached to a running rank by the pid in the
record."""
import json
import shutil
import subprocess

import support
from hosts_case import HostsCase
from openmpi_case import OpenMpiCase, openmpi
from support import Case, program, sh, wait_until

NO_GDB = None if shutil.which("gdb") else "no gdb: scripts/install-packages mpi"
NO_MPICH = None if shutil.which("mpicc.mpich") else "no mpicc.mpich: scripts/install-packages mpi"


def backtrace(pid):
    """The command line that prints the backtrace."""
    return ["gdb", "-nx", "-q", "-p", str(pid), "-batch", "-ex", "bt"]


class OneRank(Case):
    def setUp(self):
        if NO_GDB:
            self.skipTest(NO_GDB)
        super().setUp()

    def gdb(self):
        if NO_MPICH:
            self.skipTest(NO_MPICH)
        ring = program("mpich/mpi_ring")
        return ["--stdin", 3, "-n", 3, ring, ":", "-n", 1, "gdb", "-nx", "-q", ring]

    def test_gdb_replaces_one_rank_of_an_mpi_job(self):
        typed = b"set confirm off\nset debuginfod enabled off\nbreak main\nrun\nprint 40 + 2\ncontinue\nquit\n"
        out = self.assert_succeeds(*self.gdb(), input=typed, timeout=120)
        self.assertIn(b"$1 = 42", out)
        self.assertIn(b"exited normally", out)
        self.assertIn(b"sum 6", out)

    def test_gdb_runs_on_a_terminal(self):
        for own in ([], ["--pty"]):
            with self.subTest(own), self.under_pty(*own, *self.gdb()) as terminal:
                for shown, typed in ((b"Reading symbols", b"break main\n"), (b"Breakpoint 1 at", b"run\n"),
                                     (b"Breakpoint 1, ", b"print 40 + 2\n"), (b"$1 = 42", b"continue\n")):
                    terminal.read_until(shown)
                    terminal.type(typed)
                terminal.read_until(b"exited normally")
                terminal.type(b"quit\n")
                code, _ = terminal.finish()
                self.assertEqual(code, 0)

    def test_gdb_attaches_by_the_pid_in_the_record(self):
        job = self.start("-n", 2, "--report", "job.json", *sh("exec sleep 1000"), stderr=subprocess.DEVNULL)
        with job:
            self.assertTrue(wait_until((self.dir / "job.json").exists))
            for rank in json.loads((self.dir / "job.json").read_text())["ranks"]:
                shown = subprocess.run(backtrace(rank["pid"]), stdin=subprocess.DEVNULL, capture_output=True,
                                       timeout=support.TIMEOUT, check=False).stdout
                self.assertIn(b"nanosleep", shown)
            job.terminate()
            self.assertEqual(job.wait(support.TIMEOUT), 143)


class OneRankOfOpenMpi(OpenMpiCase):
    def test_gdb_batch_replaces_one_rank(self):
        if NO_GDB:
            self.skipTest(NO_GDB)
        ring = openmpi("mpi_ring")
        out = self.assert_succeeds("-n", 3, ring, ":", "-n", 1, "gdb", "-nx", "-q", "--batch", "-ex", "set debuginfod enabled off",
                                   "-ex", "break main", "-ex", "run", "-ex", "print 40 + 2", "-ex", "continue", "--args", ring,
                                   timeout=120)
        self.assertIn(b"$1 = 42", out)
        self.assertIn(b"exited normally", out)
        self.assertIn(b"sum 6", out)


class OnAnotherHost(HostsCase):
    count = 1

    def test_gdb_attaches_by_the_pid_in_the_record(self):
        if NO_GDB:
            self.skipTest(NO_GDB)
        job = self.start("-H", "node1", "--report", self.dir / "job.json", *sh("exec sleep 1000"), stderr=subprocess.DEVNULL)
        with job:
            self.assertTrue(wait_until((self.dir / "job.json").exists))
            rank = json.loads((self.dir / "job.json").read_text())["ranks"][0]
            self.assertEqual(rank["host"], "node1")
            self.assertIn("nanosleep", self.host(1).sh(" ".join(backtrace(rank["pid"])) + " </dev/null 2>&1"))
            job.terminate()
            self.assertEqual(job.wait(support.TIMEOUT), 143)


if __name__ == "__main__":
    support.main()
