"""Tests unmodified programs of Open MPI with PMIx on one host and several hosts (mpi_case.py), and that programs
without MPI start no server."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
from unittest import mock

import mpi_case
import pmi_case
import support
from hosts_case import HostsCase, lines
from openmpi_case import MPI4PY, PYTHON, OpenMpi, OpenMpiCase, left_behind, openmpi
from promises import ATTACK, DEADLINE, ENDS, KILL, LEAVES_NOTHING, MPI, NAMES_FIRST, promise
from support import left_since, open_files, program, until_there, wait_until

REDUCE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
names = world.allreduce({world.rank: "rank %d" % world.rank}, op=lambda a, b: {**a, **b})
if world.rank == 0:
    print(world.size, [names[rank] for rank in sorted(names)])
"""


def expected_events(ranks):
    """The lines that pmix_event prints; the last rank sends the event."""
    return [f"rank {rank}: the event from rank {ranks}: hello" for rank in range(ranks)]


def expected_groups(ranks):
    """The lines that pmix_group prints: the numbers that the last rank, and the last rank of the same half, stored."""
    return [f"rank {rank}: two numbers, {99 + ranks}, {99 + ranks - (ranks - 1 - rank) % 2}" for rank in range(ranks)]


def descendants(pid):
    """(pid, name) of all descendants."""
    rows = [line.split(None, 2) for line in subprocess.check_output(["ps", "-e", "-o", "pid=,ppid=,comm="], text=True).splitlines()]
    found, parents = [], {pid}
    while parents:
        children = [(int(row[0]), row[2]) for row in rows if int(row[1]) in parents]
        found += children
        parents = {child for child, _ in children}
    return found


class Promises(pmi_case.OneHost, OpenMpiCase):
    dialect = pmi_case.PMIX
    test_violations_close_the_connection = None


class PromisesOverHosts(OpenMpi, pmi_case.SeveralHosts, HostsCase):
    dialect = pmi_case.PMIX


class World(mpi_case.OneHost, OpenMpiCase):
    def test_rank_runs_two_mpi_programs_in_sequence(self):
        out = self.assert_succeeds("-n", 2, "sh", "-c", '"$0" && "$0"', openmpi("mpi_ring"))
        self.assertEqual(out, b"sum 1\nsum 1\n")

    def test_personality_ompi_runs_open_mpi_programs(self):
        out = self.assert_succeeds("--personality", "ompi", "--oversubscribe", "-n", 2, openmpi("mpi_ring"))
        self.assertEqual(out, b"sum 1\n")

    def test_mpirun_of_open_mpi_runs_inside_a_rank(self):
        command = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", 2, openmpi("mpi_ring"))
        self.assertEqual(self.assert_succeeds("-n", 1, *command), b"sum 1\n")

    def test_mpi_option_chooses_pmix(self):
        self.assertEqual(self.assert_succeeds("--mpi", "pmix", "-n", 2, openmpi("mpi_ring")), b"sum 1\n")
        out = self.assert_succeeds("--mpi", "pmi1", "-n", 2, *mpi_case.OWN_TMPDIR, openmpi("mpi_split"))
        self.assertEqual(out, b"rank 0: 0\nrank 0: 0\n")

    def test_events_are_sent_between_ranks(self):
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 3, program("pmix_event")))), expected_events(2))

    def test_groups_exchange_values(self):
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 3, program("pmix_group")))), expected_groups(3))

    def test_mpi4py_reduces(self):
        if not MPI4PY:
            self.skipTest("no mpi4py: scripts/install-packages mpi")
        out = self.assert_succeeds("-n", 3, PYTHON, "-c", REDUCE)
        self.assertEqual(out, b"3 ['rank 0', 'rank 1', 'rank 2']\n")


class Environment(OpenMpiCase):
    def environment(self, *args):
        text = self.assert_succeeds(*args).decode()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def test_script_gets_pmi_and_pmix_variables(self):
        env = self.environment("-n", 1, "sh", "-c", "env")
        for name in ("PMI_FD", "PMI_RANK", "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41", "JSM_JSRUN_PORT"):
            self.assertIn(name, env)
        self.assertEqual(env["MPIR_CVAR_PMI_VERSION"], "1")
        for name in ("OMPI_COMMAND", "OMPI_COMM_WORLD_RANK"):
            self.assertNotIn(name, env)

    def test_variables_of_the_user_are_kept(self):
        env = self.environment("-n", 1, "-x", "PMIX_RANK=9", "-x", "JSM_JSRUN_PORT=7", "sh", "-c", "env")
        self.assertEqual((env["PMIX_RANK"], env["JSM_JSRUN_PORT"]), ("9", "7"))

    def test_mpi_none_and_pmi1_set_no_pmix_variables(self):
        for how in ("none", "pmi1"):
            env = self.environment("--mpi", how, "-n", 1, "sh", "-c", "env")
            self.assertFalse([name for name in env if name.startswith(("PMIX_", "OMPI_", "JSM_"))], how)

    def test_mpi_pmix_sets_no_pmi1_variables(self):
        env = self.environment("--mpi", "pmix", "-n", 1, "sh", "-c", "env")
        self.assertEqual(env["OMPI_COMM_WORLD_SIZE"], "1")
        self.assertIn("OMPI_COMMAND", env)
        self.assertNotIn("PMI_RANK", env)

    def test_program_without_mpi_starts_no_server(self):
        # A server would start within this time.
        for command in (("sh", "-c", "sleep 0.3; echo up; sleep 1000"),
                        (PYTHON, "-c", "import time; time.sleep(0.3); print('up', flush=True); time.sleep(1000)")):
            with self.subTest(command), self.start("-n", 2, *command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as job:
                for _ in range(2):
                    self.assertEqual(job.stdout.readline(), b"up\n")
                names = [name for _, name in descendants(job.pid)]
                job.terminate()
                self.assertIn(os.path.basename(command[0]), names)
                self.assertNotIn("dlaunch-pmix", names)


class End(mpi_case.Endings, OpenMpiCase):
    @promise(ENDS, NAMES_FIRST, mode=(KILL, MPI))
    def test_killed_server_is_reported(self):
        job = self.start("-n", 2, "sh", "-c", '"$0"; sleep 1000', openmpi("mpi_hello"), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for _ in range(2):
            self.assertIn(b"rank", job.stdout.readline())
        servers = [pid for pid, name in descendants(job.pid) if name == "dlaunch-pmix"]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)
        _, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 125)
        self.assertRegex(err.decode(), r"PMIx is not available: dlaunch-pmix killed by signal 9")

    @promise(LEAVES_NOTHING, mode=(KILL, MPI))
    def test_killed_launcher_leaves_no_files(self):
        job = self.start("-n", 2, "sh", "-c", '"$0"; sleep 1000', openmpi("mpi_hello"), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        for _ in range(2):
            self.assertIn(b"rank", job.stdout.readline())
        job.kill()
        job.communicate()
        self.assertEqual(left_since(self.before, left_behind), set())


class Missing(OpenMpiCase):
    """A copy of dlaunch with a broken or missing dlaunch-pmix."""

    def run_copy(self, *args, bridge=None):
        copy = self.dir / "bin" / "dlaunch"
        copy.parent.mkdir()
        shutil.copy(support.DLAUNCH, copy)
        if bridge is not None:
            copy.with_name("dlaunch-pmix").write_text(bridge)
            copy.with_name("dlaunch-pmix").chmod(0o755)
        with mock.patch("support.DLAUNCH", str(copy)):
            return self.run_dlaunch(*args)

    def test_missing_libpmix_is_reported(self):
        words = "dlaunch-pmix: error while loading shared libraries: libpmix.so.2: cannot open shared object file"
        result = self.run_copy("-n", 2, openmpi("mpi_hello"), bridge=f"#!/bin/sh\necho '{words}' >&2\nexit 127\n")
        self.assert_exit(result, 125)
        self.assertIn("PMIx is not available: dlaunch-pmix exited with code 127: " + words, result.stderr.decode())
        self.assertIn("install libpmix", result.stderr.decode())

    @promise(ENDS, mode=(MPI, DEADLINE))
    def test_end_of_a_rank_does_not_wait_for_a_hanging_server(self):
        self.assert_exit(self.run_dlaunch("-n", 1, openmpi("mpi_leave")), 99)
        begun = time.monotonic()
        result = self.run_copy("--timeout", 1, "-n", 1, openmpi("mpi_leave"), bridge="#!/bin/sh\nexec sleep 1000\n")
        self.assert_exit(result, 124)
        self.assertLess(time.monotonic() - begun, 6)

    def test_script_without_mpi_runs_without_server(self):
        result = self.run_copy("-n", 1, "sh", "-c", "echo here", bridge="#!/bin/sh\nexit 127\n")
        self.assertEqual((result.returncode, result.stdout), (0, b"here\n"))

    def test_build_without_pmix_runs_singletons(self):
        result = self.run_copy("-n", 2, openmpi("mpi_split"))
        self.assertEqual((result.returncode, result.stdout), (0, b"rank 0: 0\nrank 0: 0\n"))
        self.assertIn("this build of dlaunch has no PMIx", result.stderr.decode())

    def test_build_without_pmix_rejects_mpi_pmix(self):
        result = self.run_copy("--mpi", "pmix", "-n", 2, "true")
        self.assert_exit(result, 2)
        self.assertIn("this build of dlaunch has no PMIx", result.stderr.decode())


def ports_of_pmix(job):
    """The ports on which the job's dlaunch-pmix listens."""
    found = []
    for pid in [pid for pid, name in descendants(job.pid) if name == "dlaunch-pmix"]:
        sockets = open_files(pid)
        for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.append(int(words[1].rsplit(":", 1)[1], 16))
    return found


class Strangers(OpenMpiCase):
    @promise(ENDS, mode=(ATTACK, MPI))
    def test_hostile_bytes_at_the_port_are_ignored(self):
        """The bytes reach no rank, and the job succeeds."""
        job = self.start("-n", 2, "sh", "-c", '[ $PMIX_RANK = 1 ] || echo $PMIX_SERVER_URI41; ' + until_there("go") + '; exec "$0" 3',
                         openmpi("mpi_ring"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        port = int(job.stdout.readline().rsplit(b":", 1)[1])
        strangers = []
        for said in (b"", b"\0" * 20, b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 100000, b"dlaunch-"):
            stranger = socket.create_connection(("127.0.0.1", port))
            strangers.append(stranger)
            stranger.settimeout(5)
            try:
                stranger.sendall(said)
            except OSError:
                pass  # dlaunch closed the connection, as it should
        (self.dir / "go").touch()
        out, err = job.communicate(timeout=60)
        for stranger in strangers:
            stranger.close()
        self.assertEqual((job.returncode, out), (0, b"sum 3\n"), err)


    def test_inner_port_of_libpmix_rejects_strangers(self):
        """The inner port of libpmix closes every connection of a stranger at once, even with the right name."""
        job = self.start("-n", 2, "sh", "-c", '[ $PMIX_RANK = 1 ] || echo $PMIX_SERVER_URI41; ' + until_there("go") + '; exec "$0" 3',
                         openmpi("mpi_ring"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        uri = job.stdout.readline().decode()
        outer = int(uri.rsplit(":", 1)[1])
        knock = socket.create_connection(("127.0.0.1", outer))  # this connection starts dlaunch-pmix
        self.addCleanup(knock.close)
        self.assertTrue(wait_until(lambda: set(ports_of_pmix(job)) - {outer}), "libpmix listens nowhere")
        inner = (set(ports_of_pmix(job)) - {outer}).pop()
        name = uri.split(";")[0].split(".")[0].encode()
        for said in (b"", b"\0" * 4, name.ljust(64, b"\0")):
            with socket.create_connection(("127.0.0.1", inner)) as stranger:
                stranger.settimeout(2)
                with contextlib.suppress(OSError):
                    stranger.sendall(said)
                self.assertEqual(self.received(stranger), b"")
        (self.dir / "go").touch()
        out, err = job.communicate(timeout=60)
        self.assertEqual((job.returncode, out), (0, b"sum 3\n"), err)

    @staticmethod
    def received(stranger):
        """The bytes before the connection is closed; raises if the connection stays open."""
        try:
            return stranger.recv(1)
        except ConnectionError:
            return b""


class Hosts(OpenMpi, mpi_case.SeveralHosts, HostsCase):
    count = 3
    never_entered = "ranks wait in MPI for ranks that have ended"

    def run_world(self, *args, complete):
        out = self.assert_succeeds(*args)
        self.assertTrue(complete(out), out)
        return out

    def test_direct_modex_between_hosts(self):
        self.run_world("-H", "node1,node2:2", "-x", "OMPI_MCA_pmix_base_collect_data=0", openmpi("mpi_ring"), 2,
                       complete=lambda out: out == b"sum 6\n")

    def test_events_are_sent_between_hosts(self):
        self.run_world("-n", 4, "-H", "node1:2,node2:1,node3:1", program("pmix_event"),
                       complete=lambda out: sorted(lines(out)) == expected_events(3))

    def test_groups_span_several_hosts(self):
        self.run_world("-n", 5, "-H", "node1:2,node2:2,node3:1", program("pmix_group"),
                       complete=lambda out: sorted(lines(out)) == expected_groups(5))


if __name__ == "__main__":
    support.main()
