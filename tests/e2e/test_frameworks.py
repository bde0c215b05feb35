"""Tests --env-for: the fake start-up code of each framework finds its rank and connects to the others, on this machine and on
several hosts. Tests --devices with --visible, too."""
import json
import pathlib
import re
import shutil
import sys
import time

import framework_readers
import support
from hosts_case import HostsCase
from promises import ENDS, FAILURE, NAMES_FIRST, RUN, promise
from support import Case, TELL_PID, sh, until_ended, until_there

READERS = pathlib.Path(framework_readers.__file__)
# Hosts have no home directory with pyenv.
PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or sys.executable
HELD = re.compile(r"^MASTER_PORT=(\d+)$", re.M)
# Variables that mpirun, srun, torchrun and msrun leave.
OUTER = {"TORCHELASTIC_RUN_ID": "7", "RANK": "7", "WORLD_SIZE": "9", "LOCAL_RANK": "7", "MASTER_ADDR": "outer", "TORCHELASTIC_USE_AGENT_STORE": "True",
         "OMPI_COMM_WORLD_RANK": "7", "OMPI_COMM_WORLD_SIZE": "9", "OMPI_COMM_WORLD_LOCAL_RANK": "7",
         "OMPI_COMMAND": "python3", "OMPI_MCA_orte_hnp_uri": "1.0;tcp://127.0.0.1:1", "PMIX_RANK": "7",
         "PMIX_NAMESPACE": "x", "PMI_RANK": "7", "PMI_SIZE": "9", "SLURM_STEP_NODELIST": "outer", "SLURM_PROCID": "7",
         "MS_ROLE": "MS_WORKER", "MS_SCHED_HOST": "outer", "HOROVOD_RANK": "7"}


class Readers:
    """Shared by the tests of one host and of several hosts."""

    def found(self, framework, *args, size, **options):
        """The values that each rank read from its environment, ordered by rank."""
        result = self.run_dlaunch("--env-for", framework, *args, PYTHON, READERS, framework, **options)
        self.assert_exit(result, 0)
        said = [line for line in result.stdout.decode().splitlines() if not line.startswith("[scheduler] ")]
        self.assertTrue(all(line.startswith("{") for line in said), result)
        ranks = sorted(map(json.loads, said), key=lambda found: found["rank"])
        self.assertEqual([(found["rank"], found["size"]) for found in ranks], [(n, size) for n in range(size)], framework)
        return ranks


class OneHost(Readers, Case):
    def test_every_framework_ignores_variables_of_an_outer_launcher(self):
        for framework in framework_readers.READERS:
            with self.subTest(framework):
                ranks = self.found(framework, "-n", 3, size=3, env=OUTER)
                for name, values in (("local", [0, 1, 2]), ("local_size", [3] * 3), ("node", [0] * 3)):
                    if name in ranks[0]:
                        self.assertEqual([found[name] for found in ranks], values, name)

    def test_port_is_outside_the_ephemeral_range(self):
        shown = self.assert_succeeds("-n", 1, "--env-for", "torch", "--show-env", 0, "true").decode()
        self.assertIn(int(HELD.search(shown)[1]), range(20000, 29400))

    def test_reserved_port_is_free_for_rank_0(self):
        script = ("import os, socket; s = socket.socket(); s.bind(('', int(os.environ['MASTER_PORT']))); s.listen(); "
                  "print('mine')")  # without SO_REUSEADDR: dlaunch has closed the port
        self.assertEqual(self.assert_succeeds("-n", 1, "--env-for", "torch", PYTHON, "-c", script), b"mine\n")

    def test_option_x_overrides_framework_variables(self):
        out = self.assert_succeeds("-n", 1, "--env-for", "torch", "-x", "MASTER_PORT=4", "-x", "RANK", "--show-env", 0, "true",
                                   env={"RANK": "7"}).decode().splitlines()
        self.assertIn("MASTER_PORT=4", out)
        self.assertEqual([line for line in out if line.startswith("RANK=")], ["RANK=7"])

    def test_repeated_options_add_up(self):
        out = self.assert_succeeds("--env-for", "torch", "--env-for", "jax,mpich", "-n", 1, "--show-env", 0, "true")
        for name in (b"MASTER_ADDR=", b"JAX_PROCESS_ID=", b"PMI_RANK="):
            self.assertIn(name, out)

    def test_invalid_options_are_rejected(self):
        for args, said in ((("--env-for", "pytorch"), "use torch"),
                           (("--env-for", "openmpi,mpich"), "conflicts with mpich"),
                           (("--env-for", "mindspore,mindspore-dynamic"), "both choose how MindSpore's ranks connect"),
                           (("--env-for", "mindspore-dynamic,openmpi"), "OMPI_COMM_WORLD_RANK"),
                           (("--env-for", "mindspore-dynamic", "--visible", "rank"), "conflicts with --visible rank"),
                           (("--visible", "rank", "--fake-devices", 0), "unknown devices"),
                           (("--devices", "[4,8]"), "expected [4,8), 4-7 or 0,2")):
            result = self.run_dlaunch("-n", 1, *args, "touch", "started")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())
        self.assertFalse((self.dir / "started").exists())

    def test_visible_chooses_the_devices_that_a_rank_sees(self):
        show = sh("echo $RANK_ID $DLAUNCH_DEVICE $DEVICE_ID $CUDA_VISIBLE_DEVICES $ASCEND_RT_VISIBLE_DEVICES")
        for how, seen in (("rank", ["0 4 0 4 4", "1 5 0 5 5"]), ("host", ["0 4 0 4,5 4,5", "1 5 1 4,5 4,5"]),
                          ("none", ["0 4 4 outer", "1 5 5 outer"])):
            result = self.run_dlaunch("-n", 2, "--devices", "[4,8)", "--visible", how, *show,
                                      env={"CUDA_VISIBLE_DEVICES": "outer"})
            self.assert_exit(result, 0)
            self.assertEqual(sorted(result.stdout.decode().splitlines()), seen)
        result = self.run_dlaunch("--devices", "2,0", "--fake-devices", 4, *sh("echo $DLAUNCH_DEVICE"))
        self.assertEqual(sorted(result.stdout.split()), [b"0", b"2"])


class Scheduler(Case):
    """The scheduler process of MindSpore's dynamic cluster, which runs next to the ranks."""

    def dynamic(self, *args, env=None, program=(PYTHON, READERS, "mindspore-dynamic")):
        return self.run_dlaunch("-n", 2, "--oversubscribe", "--env-for", "mindspore-dynamic", *args, *program, env=env)

    def test_scheduler_output_is_labelled(self):
        for args, line in (((), "[scheduler] scheduler of 2"), (("--label",), "[scheduler] scheduler of 2"),
                           (("--label={rank}@{stream}:",), "scheduler@stdout:scheduler of 2"),
                           (("--tag-output",), "[1,scheduler]<stdout>:scheduler of 2")):
            result = self.dynamic(*args)
            self.assert_exit(result, 0)
            self.assertIn(line, result.stdout.decode().splitlines())
        records = [json.loads(line) for line in self.dynamic("--format", "jsonl").stdout.splitlines()]
        said, = (record for record in records if record["rank"] is None)
        self.assertEqual((said["process"], said["text"]), ("scheduler", "scheduler of 2"))

    def test_scheduler_output_is_in_the_log_directory(self):
        result = self.dynamic("--output-filename", "logs")
        self.assert_exit(result, 0)
        self.assertEqual((self.dir / "logs" / "scheduler.log").read_text(), "scheduler of 2\n")
        self.assertEqual(sorted(file.name for file in (self.dir / "logs" / "1").iterdir()), ["rank.0", "rank.1"])
        self.assertNotIn(b"scheduler of", result.stdout)
        self.assert_exit(self.dynamic("--output-filename", "out/{rank}.log:nocopy", "--rank-dir", "d{rank}"), 0)
        self.assertEqual((self.dir / "out" / "scheduler.log").read_text(), "scheduler of 2\n")

    @promise(ENDS, mode=(RUN, FAILURE))
    def test_scheduler_ends_with_the_job(self):
        start = time.monotonic()
        result = self.dynamic(program=sh("[ $MS_ROLE = MS_SCHED ] && exec sleep 1000; true"))
        self.assert_exit(result, 0)
        self.assertLess(time.monotonic() - start, 8)  # the scheduler has five seconds to end by itself
        result = self.dynamic(program=sh("[ $MS_ROLE = MS_SCHED ] && exec sleep 1000; exit 4"))
        self.assert_exit(result, 4)

    @promise(ENDS, NAMES_FIRST, mode=FAILURE)
    def test_scheduler_failure_ends_the_job(self):
        result = self.dynamic("--report", "r.json", program=sh("[ $MS_ROLE = MS_SCHED ] && { echo no port; exit 3; }; exec sleep 1000"))
        self.assert_exit(result, 3)
        said = result.stderr.decode()
        self.assertRegex(said, r"the scheduler \(host .*, pid \d+\) exited with code 3")
        self.assertIn("last output lines of the scheduler:\ndlaunch:   | no port", said)
        self.assertIn("stopped 2 ranks", said)
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual((record["cause"], record["exit_code"], len(record["ranks"])), ("companion_failed", 3, 2))

    def test_scheduler_failure_after_the_ranks_is_only_reported(self):
        ends = f"for rank in 0 1; do {until_ended('$rank')}; done; exit 3"
        result = self.dynamic(program=sh(f"[ $MS_ROLE = MS_SCHED ] && {{ {ends}; }}; {TELL_PID}"))
        self.assert_exit(result, 0)
        self.assertIn("exited with code 3", result.stderr.decode())

    def test_scheduler_has_no_visible_devices(self):
        out = self.assert_succeeds("-n", 2, "--devices", "4,5", "--fake-devices", 8, "--env-for", "mindspore-dynamic",
                                   *sh("echo $MS_ROLE $RANK_ID $ASCEND_RT_VISIBLE_DEVICES"))
        self.assertEqual(sorted(out.decode().splitlines()), ["MS_WORKER 0 4,5", "MS_WORKER 1 4,5", "[scheduler] MS_SCHED"])

    def test_auto_sets_a_fixed_list_of_variables(self):
        auto = self.assert_succeeds("-n", 1, "--env-for", "auto", "--mpi", "none", "--show-env", 0, "true")
        for name in (b"MASTER_ADDR=", b"CROSS_RANK=", b"JAX_PROCESS_ID=", b"DEVICE_NUM="):
            self.assertIn(name, auto)
        for name in (b"OMPI_", b"PMI_", b"SLURM_", b"HOROVOD_", b"TF_CONFIG", b"MS_ROLE"):
            self.assertNotIn(name, auto)


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

    def test_rank_0_runs_on_another_host(self):
        self.check("node1:2,node2:2")

    def test_rank_0_runs_on_localhost(self):
        self.check("localhost:2,node2:2")

    def test_scheduler_runs_with_rank_0_and_its_log_is_local(self):
        result = self.run_dlaunch("-H", "node2:1,node1:1", "--env-for", "mindspore-dynamic", "--output-filename", "logs",
                                  *sh(f"uname -n; [ $MS_ROLE = MS_SCHED ] && : >said || {until_there('said')}"))
        self.assert_exit(result, 0)
        self.assertEqual((self.dir / "logs" / "scheduler.log").read_text(), "node2\n")

    def test_master_address_of_local_and_remote_hosts(self):
        for hosts, expected in (("node1:2,node2:2", "node1"), ("node1:4", "127.0.0.1"), ("localhost:2,node1", r"10\.77\.\S+")):
            out = self.assert_succeeds("-H", hosts, "--env-for", "torch", "--show-env", 1, "true").decode()
            self.assertRegex(out, rf"(?m)^MASTER_ADDR={expected}$")


if __name__ == "__main__":
    support.main()
