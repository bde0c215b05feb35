"""--env-for: each framework's stand-in finds who it is and meets the others, on this machine and on several hosts; and
--devices with --visible."""
import json
import pathlib
import re
import shutil
import sys

import framework_readers
import support
from hosts_case import HostsCase
from support import Case, sh

READERS = pathlib.Path(framework_readers.__file__)
PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or sys.executable  # hosts have no home with a pyenv in it
HELD = re.compile(r"^MASTER_PORT=(\d+)$", re.M)
# What mpirun, srun, torchrun and msrun leave.
OUTER = {"RANK": "7", "WORLD_SIZE": "9", "LOCAL_RANK": "7", "MASTER_ADDR": "outer", "TORCHELASTIC_USE_AGENT_STORE": "True",
         "OMPI_COMM_WORLD_RANK": "7", "OMPI_COMM_WORLD_SIZE": "9", "OMPI_COMM_WORLD_LOCAL_RANK": "7",
         "OMPI_COMMAND": "python3", "OMPI_MCA_orte_hnp_uri": "1.0;tcp://127.0.0.1:1", "PMIX_RANK": "7",
         "PMIX_NAMESPACE": "x", "PMI_RANK": "7", "PMI_SIZE": "9", "SLURM_STEP_NODELIST": "outer", "SLURM_PROCID": "7",
         "MS_ROLE": "MS_WORKER", "MS_SCHED_HOST": "outer", "HOROVOD_RANK": "7"}


class Readers:
    """What the tests of one and of several hosts have in common."""

    def found(self, framework, *args, size, **options):
        """What each rank's stand-in took itself for, in the order of ranks."""
        result = self.run_dlaunch("--env-for", framework, *args, PYTHON, READERS, framework, **options)
        self.assert_exit(result, 0)
        ranks = sorted(map(json.loads, result.stdout.decode().splitlines()), key=lambda found: found["rank"])
        self.assertEqual([(found["rank"], found["size"]) for found in ranks], [(n, size) for n in range(size)], framework)
        return ranks


class OneHost(Readers, Case):
    def test_every_framework_knows_itself_whatever_an_outer_launcher_left(self):
        for framework in framework_readers.READERS:
            with self.subTest(framework):
                ranks = self.found(framework, "-n", 3, size=3, env=OUTER)
                for name, values in (("local", [0, 1, 2]), ("local_size", [3] * 3), ("node", [0] * 3)):
                    if name in ranks[0]:
                        self.assertEqual([found[name] for found in ranks], values, name)

    def test_the_port_is_none_that_the_kernel_hands_out(self):
        shown = self.assert_succeeds("-n", 1, "--env-for", "torch", "--show-env", 0, "true").decode()
        self.assertIn(int(HELD.search(shown)[1]), range(20000, 29400))

    def test_the_held_port_is_free_for_rank_0(self):
        script = ("import os, socket; s = socket.socket(); s.bind(('', int(os.environ['MASTER_PORT']))); s.listen(); "
                  "print('mine')")  # without SO_REUSEADDR: dlaunch has let go
        self.assertEqual(self.assert_succeeds("-n", 1, "--env-for", "torch", PYTHON, "-c", script), b"mine\n")

    def test_x_wins(self):
        out = self.assert_succeeds("-n", 1, "--env-for", "torch", "-x", "MASTER_PORT=4", "-x", "RANK", "--show-env", 0, "true",
                                   env={"RANK": "7"}).decode().splitlines()
        self.assertIn("MASTER_PORT=4", out)
        self.assertEqual([line for line in out if line.startswith("RANK=")], ["RANK=7"])

    def test_given_again_they_add_up(self):
        out = self.assert_succeeds("--env-for", "torch", "--env-for", "jax,mpich", "-n", 1, "--show-env", 0, "true")
        for name in (b"MASTER_ADDR=", b"JAX_PROCESS_ID=", b"PMI_RANK="):
            self.assertIn(name, out)

    def test_refusals(self):
        for args, said in ((("--env-for", "pytorch"), "did you mean torch?"),
                           (("--env-for", "openmpi,mpich"), "does not go with mpich"),
                           (("--env-for", "mindspore-dynamic"), "scheduler process"),
                           (("--visible", "rank", "--fake-devices", 0), "are not known"),
                           (("--devices", "[4,8]"), "write [4,8), 4-7 or 0,2")):
            result = self.run_dlaunch("-n", 1, *args, "touch", "started")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())
        self.assertFalse((self.dir / "started").exists())

    def test_devices_and_what_ranks_see_of_them(self):
        show = sh("echo $RANK_ID $DLAUNCH_DEVICE $DEVICE_ID $CUDA_VISIBLE_DEVICES $ASCEND_RT_VISIBLE_DEVICES")
        for how, seen in (("rank", ["0 4 0 4 4", "1 5 0 5 5"]), ("host", ["0 4 0 4,5 4,5", "1 5 1 4,5 4,5"]),
                          ("none", ["0 4 4 outer", "1 5 5 outer"])):
            result = self.run_dlaunch("-n", 2, "--devices", "[4,8)", "--visible", how, *show,
                                      env={"CUDA_VISIBLE_DEVICES": "outer"})
            self.assert_exit(result, 0)
            self.assertEqual(sorted(result.stdout.decode().splitlines()), seen)
        result = self.run_dlaunch("--devices", "2,0", "--fake-devices", 4, *sh("echo $DLAUNCH_DEVICE"))
        self.assertEqual(sorted(result.stdout.split()), [b"0", b"2"])


class SeveralHosts(Readers, HostsCase):
    count = 2

    def found(self, framework, *args, size, **options):
        return super().found(framework, *args, size=size, env=OUTER, **options)

    def check(self, hosts):
        for framework in framework_readers.READERS:
            with self.subTest(framework):
                ranks = self.found(framework, "-H", hosts, size=4)
                for name, values in (("local", [0, 1, 0, 1]), ("local_size", [2] * 4), ("node", [0, 0, 1, 1])):
                    if name in ranks[0]:
                        self.assertEqual([found[name] for found in ranks], values, name)

    def test_rank_0_on_another_host(self):
        self.check("node1:2,node2:2")

    def test_rank_0_here_under_a_name_that_only_we_know(self):
        self.check("localhost:2,node2:2")

    def test_addresses(self):
        for hosts, expected in (("node1:2,node2:2", "node1"), ("node1:4", "127.0.0.1"), ("localhost:2,node1", r"10\.77\.\S+")):
            out = self.assert_succeeds("-H", hosts, "--env-for", "torch", "--show-env", 1, "true").decode()
            self.assertRegex(out, rf"(?m)^MASTER_ADDR={expected}$")


if __name__ == "__main__":
    support.main()
