"""Tests worlds that ranks spawn through PMIx (MPI_Comm_spawn of Open MPI): their ranks, their hosts, and the end of the
job."""
import json
import re
import subprocess

import support
from promises import ENDS, FAILURE, SPAWN, promise
from hosts_case import HostsCase
from openmpi_case import MPI4PY, PYTHON, OpenMpi, OpenMpiCase, openmpi

MET = re.compile(r"^(?:\[(\S+)\] )?(parent|child) (\d+) of (\d+) app (\d+) on (\S+) in (\S+): (\d+) of (\d+), sum (right|wrong)(.*)$", re.M)

SPAWNER = """
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
world = MPI.COMM_WORLD
if parent == MPI.COMM_NULL:
    children = world.Spawn(sys.executable, args=[sys.argv[0]], maxprocs=2)
    both = children.Merge(False)
else:
    both = parent.Merge(True)
said = both.allgather((both.rank, world.rank, parent != MPI.COMM_NULL))
if both.rank == 0:
    print(said)
both.Free()  # a second disconnect from the same ranks hangs in Open MPI 4.1, with any launcher
(children if parent == MPI.COMM_NULL else parent).Disconnect()
"""


def met(stdout):
    """Parses the output of mpi_spawn: {(who, rank): (size, app, host, wdir, rank in both, size of both, words)}. Every
    sum must be right."""
    found = {}
    for label, who, rank, size, app, host, wdir, both, of_both, sum_is, words in MET.findall(stdout.decode()):
        assert sum_is == "right", stdout
        found[(label or who, int(rank))] = (int(size), int(app), host, wdir, int(both), int(of_both), words.lstrip(": "))
    return found


class Spawn(OpenMpiCase):
    def test_spawned_world_merges_with_its_parent(self):
        seen = met(self.assert_succeeds("-n", 2, openmpi("mpi_spawn"), 3))
        self.assertEqual(sorted(seen), [("child", rank) for rank in range(3)] + [("parent", rank) for rank in range(2)])
        self.assertEqual({rank: all_of[4] for (_, rank), all_of in seen.items() if all_of[4] > 1}, {0: 2, 1: 3, 2: 4})
        self.assertEqual({all_of[5] for all_of in seen.values()}, {5})

    def test_several_spawned_programs_are_one_world(self):
        seen = met(self.assert_succeeds("-n", 1, openmpi("mpi_spawn"), "1+2"))
        self.assertEqual({rank: (all_of[0], all_of[1], all_of[6]) for (who, rank), all_of in seen.items() if who == "child"},
                         {0: (3, 0, "[program 0]"), 1: (3, 1, "[program 1]"), 2: (3, 1, "[program 1]")})

    def test_each_spawn_makes_a_new_world(self):
        seen = met(self.assert_succeeds("-n", 1, "--label", openmpi("mpi_spawn"), 2, "times=2"))
        self.assertEqual(sorted(label for label, _ in seen), ["0", "2/0", "2/1", "3/0", "3/1"])

    def test_spawn_info_sets_the_working_directory(self):
        seen = met(self.assert_succeeds("-n", 1, openmpi("mpi_spawn"), 1, f"wdir={self.dir}"))
        self.assertEqual(seen[("child", 0)][3], str(self.dir))

    def test_impossible_spawn_is_reported_and_the_job_continues(self):
        result = self.run_dlaunch("-n", 1, openmpi("mpi_spawn"), 2, "host=nowhere")
        self.assert_exit(result, 3)  # the program's own code
        self.assertIn(b"no spawn: MPI_ERR_SPAWN", result.stdout)
        self.assertIn('rank 0 cannot spawn: unknown host "nowhere"', result.stderr.decode())

    @promise(ENDS, mode=(SPAWN, FAILURE))
    def test_failed_spawned_rank_fails_the_job(self):
        result = self.run_dlaunch("-n", 1, "--report", "r.json", openmpi("mpi_spawn"), 2, "command=" + openmpi("mpi_leave"))
        self.assertNotEqual(result.returncode, 0)
        worlds = [rank.get("world", 1) for rank in json.loads((self.dir / "r.json").read_text())["ranks"]]
        self.assertEqual(worlds, [1, 2, 2])

    def test_mpi4py_spawns(self):
        if not MPI4PY:
            self.skipTest("no mpi4py: scripts/install-packages mpi")
        (self.dir / "spawner.py").write_text(SPAWNER)
        out = self.assert_succeeds("-n", 2, PYTHON, "spawner.py")
        self.assertEqual(out, b"[(0, 0, False), (1, 1, False), (2, 0, True), (3, 1, True)]\n")


class Hosts(OpenMpi, HostsCase):
    count = 3

    def test_spawned_world_spans_several_hosts(self):
        seen = met(self.assert_succeeds("-n", 3, "-H", "node1:2,node2:2,node3:2", "--map-by", "node", openmpi("mpi_spawn"), 3))
        self.assertEqual(sorted((who, all_of[2]) for (who, _), all_of in seen.items()),
                         [(who, f"node{host}") for who in ("child", "parent") for host in (1, 2, 3)])
        self.assertEqual({all_of[5] for all_of in seen.values()}, {6})

    def test_spawned_ranks_use_hosts_without_ranks(self):
        seen = met(self.assert_succeeds("-n", 1, "--label", "-H", "node1:1,node2:2,node3:2", openmpi("mpi_spawn"), 3, "times=2"))
        self.assertEqual([seen[f"2/{rank}", rank][2] for rank in range(3)], ["node2", "node2", "node3"])
        self.assertEqual({all_of[5] for all_of in seen.values()}, {4})
        self.assertEqual(len(seen), 7)

    def test_spawn_info_chooses_the_host(self):
        seen = met(self.assert_succeeds("-n", 2, "-H", "node1:2,node2:2", "--map-by", "node", openmpi("mpi_spawn"), 2, "host=node2", "times=2"))
        self.assertEqual({all_of[2] for (who, _), all_of in seen.items() if who == "child"}, {"node2"})


if __name__ == "__main__":
    support.main()
