"""Real programs of Open MPI, unmodified, served by PMIx: one world on one host and over several, how it ends, and that
what needs none pays nothing."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
from unittest import mock

import support
from hosts_case import HostsCase, lines
from support import Case, program, wait_until

BRIDGE = pathlib.Path(os.environ["DLAUNCH"]).with_name("dlaunch-pmix")
WHY_NOT = None
if not shutil.which("mpicc.openmpi"):
    WHY_NOT = "no mpicc.openmpi: scripts/install-packages mpi"
elif not BRIDGE.exists():
    WHY_NOT = "this build has no dlaunch-pmix: scripts/install-packages mpi, then configure and build again"
PYTHON = "/usr/bin/python3"  # Debian's own, which has its packages
MPI4PY = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode == 0

# What Open MPI needs on this machine whatever starts it: root, no real network.
REDUCE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
names = world.allreduce({world.rank: "rank %d" % world.rank}, op=lambda a, b: {**a, **b})
if world.rank == 0:
    print(world.size, [names[rank] for rank in sorted(names)])
"""


def openmpi(name):
    return program("openmpi/" + name)


def hellos(stdout):
    """Of mpi_hello: {rank: (size, host, app, universe)}."""
    found = re.findall(r"^rank (\d+) of (\d+) on (\S+) app (\d+) universe (-?\d+)$", stdout.decode(), re.M)
    return {int(rank): (int(size), host, int(app), int(universe)) for rank, size, host, app, universe in found}


def told_of_event(ranks):
    """By pmix_event, from the rank after them."""
    return [f"rank {rank}: the event from rank {ranks}: hello" for rank in range(ranks)]


def last_words(result):
    return result.stderr.decode().splitlines()[-1]


def left_behind():
    """Directories of jobs, and files of Open MPI's."""
    found = [path for place in ("/tmp", "/dev/shm") for pattern in ("dlaunch-????????????????", "dlaunch-kvs_*")
             for path in pathlib.Path(place).glob(pattern)]
    return sorted(map(str, found + list(pathlib.Path("/dev/shm").glob("vader_segment*"))
                      + list(pathlib.Path("/tmp").glob("ompi.*"))))


def descendants(pid):
    """(pid, name) of all of them."""
    rows = [line.split(None, 2) for line in subprocess.check_output(["ps", "-e", "-o", "pid=,ppid=,comm="], text=True).splitlines()]
    found, parents = [], {pid}
    while parents:
        children = [(int(row[0]), row[2]) for row in rows if int(row[1]) in parents]
        found += children
        parents = {child for child, _ in children}
    return found


class OpenMpiCase(Case):
    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()
        self.before = set(left_behind())

    def tearDown(self):
        super().tearDown()
        new = set(left_behind()) - self.before  # some may be of tests that run at the same time, which end
        wait_until(lambda: not new & set(left_behind()), 30)
        self.assertEqual(new & set(left_behind()), set())


class World(OpenMpiCase):
    def test_the_ranks_are_one_world(self):
        seen = hellos(self.assert_succeeds("-n", 4, openmpi("mpi_hello")))
        self.assertEqual(sorted(seen), [0, 1, 2, 3])
        self.assertEqual({size for size, _, _, _ in seen.values()}, {4})
        self.assertTrue(all(universe >= 4 for _, _, _, universe in seen.values()), seen)

    def test_programs_are_told_apart_and_share_the_world(self):
        hello = openmpi("mpi_hello")
        seen = hellos(self.assert_succeeds("-n", 1, hello, ":", "-n", 2, hello))
        self.assertEqual({rank: (size, app) for rank, (size, _, app, _) in seen.items()}, {0: (3, 0), 1: (3, 1), 2: (3, 1)})

    def test_behind_a_script(self):
        out = self.assert_succeeds("-n", 2, "sh", "-c", '"$0"; echo done', openmpi("mpi_ring"))
        self.assertEqual(sorted(out.splitlines()), [b"done", b"done", b"sum 1"])

    def test_one_program_after_the_other(self):
        out = self.assert_succeeds("-n", 2, "sh", "-c", '"$0" && "$0"', openmpi("mpi_ring"))
        self.assertEqual(out, b"sum 1\nsum 1\n")

    def test_called_as_mpirun(self):
        out = self.assert_succeeds("--personality", "ompi", "--oversubscribe", "-n", 2, openmpi("mpi_ring"))
        self.assertEqual(out, b"sum 1\n")

    def test_open_mpis_own_mpirun_inside(self):
        command = ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", 2, openmpi("mpi_ring"))
        self.assertEqual(self.assert_succeeds("-n", 1, *command), b"sum 1\n")

    def test_how_it_is_chosen(self):
        self.assertEqual(self.assert_succeeds("--mpi", "pmix", "-n", 2, openmpi("mpi_ring")), b"sum 1\n")
        for none in ("none", "pmi1"):
            out = self.assert_succeeds("--mpi", none, "-n", 2, openmpi("mpi_split"))
            self.assertEqual(out, b"rank 0: 0\nrank 0: 0\n", none)

    def test_ring_and_ranks_of_one_host(self):
        self.assertEqual(self.assert_succeeds("-n", 3, openmpi("mpi_ring"), 3), b"sum 9\n")
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 2, openmpi("mpi_split")))), ["rank 0: 0 1", "rank 1: 0 1"])

    def test_allreduce_of_64_mib(self):
        self.assertEqual(self.assert_succeeds("-n", 2, openmpi("mpi_allreduce"), 64, timeout=120),
                         b"8388608 doubles, 0 wrong\n")

    def test_published_names(self):
        self.assertEqual(self.assert_succeeds("-n", 2, openmpi("mpi_names")), b"ocean is tag#0$here\nthen it is gone\n")

    def test_events_go_from_rank_to_rank(self):
        self.assertEqual(sorted(lines(self.assert_succeeds("-n", 3, program("pmix_event")))), told_of_event(2))

    def test_mpi4py(self):
        if not MPI4PY:
            self.skipTest("no mpi4py: scripts/install-packages mpi")
        out = self.assert_succeeds("-n", 3, PYTHON, "-c", REDUCE)
        self.assertEqual(out, b"3 ['rank 0', 'rank 1', 'rank 2']\n")


class Environment(OpenMpiCase):
    def environment(self, *args):
        text = self.assert_succeeds(*args).decode()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def test_a_script_gets_both_and_what_tells_mpich_which(self):
        env = self.environment("-n", 1, "sh", "-c", "env")
        for name in ("PMI_FD", "PMI_RANK", "PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41", "JSM_JSRUN_PORT"):
            self.assertIn(name, env)
        self.assertEqual(env["MPIR_CVAR_PMI_VERSION"], "1")
        for name in ("OMPI_COMMAND", "OMPI_COMM_WORLD_RANK"):
            self.assertNotIn(name, env)

    def test_what_the_user_chose_stays(self):
        env = self.environment("-n", 1, "-x", "PMIX_RANK=9", "-x", "JSM_JSRUN_PORT=7", "sh", "-c", "env")
        self.assertEqual((env["PMIX_RANK"], env["JSM_JSRUN_PORT"]), ("9", "7"))

    def test_none_and_pmi1_have_none_of_it(self):
        for how in ("none", "pmi1"):
            env = self.environment("--mpi", how, "-n", 1, "sh", "-c", "env")
            self.assertFalse([name for name in env if name.startswith(("PMIX_", "OMPI_", "JSM_"))], how)

    def test_pmix_has_all_of_open_mpis_and_nothing_of_pmi1(self):
        env = self.environment("--mpi", "pmix", "-n", 1, "sh", "-c", "env")
        self.assertEqual(env["OMPI_COMM_WORLD_SIZE"], "1")
        self.assertIn("OMPI_COMMAND", env)
        self.assertNotIn("PMI_RANK", env)

    def test_a_program_without_mpi_starts_no_server(self):
        for command in (("sh", "-c"), ("python3", "-c")):
            code = "sleep 0.3; ps -e -o args" if command[0] == "sh" else "import os; os.system('ps -e -o args')"
            self.assertNotIn(b"dlaunch-pmix", self.assert_succeeds("-n", 2, *command, code))


class End(OpenMpiCase):
    def test_abort_gives_its_code_and_its_rank(self):
        result = self.run_dlaunch("-n", 3, "--report", "r.json", openmpi("mpi_leave"), "abort", 1, 7)
        self.assert_exit(result, 7)
        self.assertRegex(last_words(result), r"^dlaunch: rank 1 \(host \S+, pid \d+\) called MPI_Abort with code 7 after")
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual(record["ranks"][1]["status"], {"kind": "aborted", "code": 7})

    def test_leaving_without_finalize_is_a_failure(self):
        for who in ("1", "all"):
            with self.subTest(who):
                result = self.run_dlaunch("-n", 2, openmpi("mpi_leave"), "exit", who, 0)
                self.assert_exit(result, 1)
                self.assertIn("exited with code 0 after MPI_Init and without MPI_Finalize", last_words(result))

    def test_its_own_code_stays(self):
        self.assert_exit(self.run_dlaunch("-n", 2, openmpi("mpi_leave"), "exit", 1, 5), 5)

    def test_a_rank_killed_while_the_others_wait_for_it(self):
        result = self.run_dlaunch("-n", 3, "--grace", 1, openmpi("mpi_leave"), "kill", 2)
        self.assert_exit(result, 128 + signal.SIGKILL)
        self.assertRegex(result.stderr.decode(), r"rank 2 \(host \S+, pid \d+\) killed by signal 9")

    def test_a_rank_that_never_enters_mpi_lets_nobody_wait(self):
        result = self.run_dlaunch("-n", 1, "true", ":", "-n", 2, openmpi("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("rank 0 has left MPI, or never entered it", result.stderr.decode())

    def test_a_server_that_is_killed_is_told(self):
        job = self.start("-n", 2, "sh", "-c", '"$0"; sleep 1000', openmpi("mpi_hello"), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for _ in range(2):
            self.assertIn(b"rank", job.stdout.readline())
        servers = [pid for pid, name in descendants(job.pid) if name == "dlaunch-pmix"]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)
        _, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 125)
        self.assertRegex(err.decode(), r"no PMIx for MPI programs: dlaunch-pmix killed by signal 9")

    def test_kill_of_the_launcher_leaves_nothing(self):
        job = self.start("-n", 2, "sh", "-c", '"$0"; sleep 1000', openmpi("mpi_hello"), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        for _ in range(2):
            self.assertIn(b"rank", job.stdout.readline())
        job.kill()
        job.communicate()
        wait_until(lambda: [path for path in left_behind() if path not in self.before] == [], 10, every=0.1)


class Missing(OpenMpiCase):
    """dlaunch with another dlaunch-pmix beside it, or none."""

    def run_copy(self, *args, bridge=None):
        copy = self.dir / "bin" / "dlaunch"
        copy.parent.mkdir()
        shutil.copy(support.DLAUNCH, copy)
        if bridge is not None:
            copy.with_name("dlaunch-pmix").write_text(bridge)
            copy.with_name("dlaunch-pmix").chmod(0o755)
        with mock.patch("support.DLAUNCH", str(copy)):
            return self.run_dlaunch(*args)

    def test_a_host_without_libpmix(self):
        words = "dlaunch-pmix: error while loading shared libraries: libpmix.so.2: cannot open shared object file"
        result = self.run_copy("-n", 2, openmpi("mpi_hello"), bridge=f"#!/bin/sh\necho '{words}' >&2\nexit 127\n")
        self.assert_exit(result, 125)
        self.assertIn("no PMIx for MPI programs: dlaunch-pmix exited with code 127: " + words, result.stderr.decode())
        self.assertIn("install libpmix", result.stderr.decode())

    def test_a_script_without_mpi_does_not_need_it(self):
        result = self.run_copy("-n", 1, "sh", "-c", "echo here", bridge="#!/bin/sh\nexit 127\n")
        self.assertEqual((result.returncode, result.stdout), (0, b"here\n"))

    def test_a_build_without_it(self):
        result = self.run_copy("-n", 2, openmpi("mpi_split"))
        self.assertEqual((result.returncode, result.stdout), (0, b"rank 0: 0\nrank 0: 0\n"))
        self.assertIn("this build of dlaunch has not", result.stderr.decode())

    def test_a_build_without_it_refuses_what_needs_it(self):
        result = self.run_copy("--mpi", "pmix", "-n", 2, "true")
        self.assert_exit(result, 2)
        self.assertIn("this build of dlaunch has no PMIx", result.stderr.decode())


class Strangers(OpenMpiCase):
    def test_hostile_bytes_at_the_port(self):
        """They reach nobody, and the job is not touched."""
        job = self.start("-n", 2, "sh", "-c", '[ $PMIX_RANK = 1 ] || echo $PMIX_SERVER_URI41; sleep 1; exec "$0" 3',
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
                pass  # hung up on, which is what it should be
        out, err = job.communicate(timeout=60)
        for stranger in strangers:
            stranger.close()
        self.assertEqual((job.returncode, out), (0, b"sum 3\n"), err)


class Hosts(HostsCase):
    count = 3

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()

    def run_openmpi(self, *args, **options):
        return self.assert_succeeds(*args, **options)

    def test_one_world_over_hosts(self):
        seen = hellos(self.run_openmpi("-n", 4, "-H", "node1:2,node2:2", openmpi("mpi_hello")))
        self.assertEqual({rank: host for rank, (_, host, _, _) in seen.items()},
                         {0: "node1", 1: "node1", 2: "node2", 3: "node2"})
        self.assertEqual({(size, universe) for size, _, _, universe in seen.values()}, {(4, 4)})

    def test_ranks_of_a_host_find_each_other(self):
        for placed, expected in (((), ["rank 0: 0 1", "rank 1: 0 1", "rank 2: 2 3", "rank 3: 2 3", "rank 4: 4"]),
                                 (("--map-by", "node"), ["rank 0: 0 3", "rank 1: 1 4", "rank 2: 2", "rank 3: 0 3", "rank 4: 1 4"])):
            with self.subTest(placed):
                out = self.run_openmpi("-n", 5, "-H", "node1:2,node2:2,node3:1", *placed, openmpi("mpi_split"))
                self.assertEqual(sorted(lines(out)), expected)

    def test_data_and_names_go_between_hosts(self):
        self.assertEqual(self.run_openmpi("-H", "node1,node2", openmpi("mpi_allreduce"), 64), b"8388608 doubles, 0 wrong\n")
        self.assertEqual(self.run_openmpi("-H", "node1,node2", openmpi("mpi_names")), b"ocean is tag#0$here\nthen it is gone\n")

    def test_a_direct_modex(self):
        out = self.run_openmpi("-H", "node1,node2:2", "-x", "OMPI_MCA_pmix_base_collect_data=0", openmpi("mpi_ring"), 2)
        self.assertEqual(out, b"sum 6\n")

    def test_events_go_between_hosts(self):
        out = self.run_openmpi("-n", 4, "-H", "node1:2,node2:1,node3:1", program("pmix_event"))
        self.assertEqual(sorted(lines(out)), told_of_event(3))

    def test_abort_on_another_host(self):
        result = self.run_dlaunch("-H", "node1,node2,node3", openmpi("mpi_leave"), "abort", 2, 7)
        self.assert_told(result, 7, "rank 2 (host node3", "called MPI_Abort with code 7")

    def test_a_host_whose_ranks_never_enter_mpi(self):
        result = self.run_dlaunch("-n", 1, "-H", "node1", "true", ":", "-n", 2, "-H", "node2:2", openmpi("mpi_hello"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ranks wait in MPI for ranks that have ended", result.stderr.decode())


if __name__ == "__main__":
    support.main()
