"""Tests command lines of accelerate, msrun, deepspeed and horovodrun, through links with their names: the variables of
the ranks, and the places of their output."""
import json
import os
import re
import sys
import time
from unittest import mock

import support
from promises import ENDS, RUN, promise
from hosts_case import HostsCase

# Prints the variables and the arguments of a rank as a line of JSON.
RANK = "import json, os, sys\nprint(json.dumps([dict(os.environ), sys.argv[1:]]), flush=True)\nprint('on stderr', file=sys.stderr)\n"


class LauncherLines:
    """A mixin for a support.Case."""

    def setUp(self):
        super().setUp()
        (self.dir / "rank.py").write_text(RANK)
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name in ("python", "python3"):
            (self.bin / name).symlink_to(sys.executable)

    def by_link(self, launcher, *args, env=None, **options):
        link = self.bin / launcher
        if not link.is_symlink():
            link.symlink_to(support.DLAUNCH)
        env = {"PATH": f"{self.bin}:{self.env['PATH']}"} | (env or {})
        with mock.patch("support.DLAUNCH", str(link)):
            return self.run_dlaunch(*args, env=env, **options)

    @staticmethod
    def ranks(output, number="RANK"):
        """[(variables, arguments)], ordered by rank."""
        found = [json.loads(line[line.index("[{"):]) for line in output.splitlines() if "[{" in line]
        return sorted(found, key=lambda each: int(each[0].get(number, -1)))


class Accelerate(LauncherLines, support.Case):
    def test_ranks_get_torch_and_accelerate_variables(self):
        config = self.dir / "c.yaml"
        config.write_text("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 2\nnum_machines: 1\n")
        result = self.by_link("accelerate", "launch", "--config_file", config, "--dynamo_backend", "inductor", "rank.py", "a", "--", ":")
        self.assert_exit(result, 0)
        ranks = self.ranks(result.stdout.decode())
        self.assertEqual(len(ranks), 2)
        for rank, (env, args) in enumerate(ranks):
            self.assertEqual(args, ["a", "--", ":"])
            expected = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "ACCELERATE_MIXED_PRECISION": "bf16",
                        "ACCELERATE_DYNAMO_BACKEND": "INDUCTOR", "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1"}
            self.assertEqual({name: env.get(name) for name in expected}, expected)

    def test_single_process_gets_no_torch_variables(self):
        result = self.by_link("accelerate-launch", "--cpu", "rank.py")
        self.assert_exit(result, 0)
        [(env, _)] = self.ranks(result.stdout.decode())
        self.assertEqual(env["ACCELERATE_USE_CPU"], "True")
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"):
            self.assertNotIn(name, env)

    def test_unsupported_commands_are_rejected(self):
        result = self.by_link("accelerate", "config")
        self.assert_exit(result, 2)
        self.assertIn(b"dlaunch replaces only accelerate launch", result.stderr)


class Msrun(LauncherLines, support.Case):
    def test_ranks_and_scheduler_get_their_variables(self):
        result = self.by_link("msrun", "--worker_num=2", "--local_worker_num", 2, "--master_port=8765", "--log_dir=logs", "--join=True",
                              "rank.py", "a", ":", env={"MS_ROLE": "MS_PSERVER", "MS_TOPO_TIMEOUT": "5"})
        self.assert_exit(result, 0)
        ranks = self.ranks(result.stdout.decode(), "MS_NODE_ID")
        self.assertEqual(len(ranks), 2)
        for rank, (env, args) in enumerate(ranks):
            self.assertEqual(args, ["a", ":"])
            expected = {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(rank), "RANK_ID": str(rank), "RANK_SIZE": "2", "MS_WORKER_NUM": "2",
                        "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "8765", "MS_TOPO_TIMEOUT": "600", "DEVICE_ID": str(rank)}
            self.assertEqual({name: env.get(name) for name in expected}, expected)
        names = sorted(path.name for path in (self.dir / "logs").iterdir())
        self.assertEqual(names, ["scheduler.log", "worker_0.log", "worker_1.log"])
        for name in names:
            lines = (self.dir / "logs" / name).read_text().splitlines()
            self.assertEqual(len(lines), 2)
            self.assertIn("on stderr", lines)
        [(env, _)] = self.ranks((self.dir / "logs/scheduler.log").read_text())
        self.assertEqual((env["MS_ROLE"], env["MS_SCHED_PORT"], env["MS_WORKER_NUM"]), ("MS_SCHED", "8765", "2"))

    def test_output_is_only_in_files_without_join(self):
        result = self.by_link("msrun", "--worker_num=2", "--worker_log_name=w", "pytest", env={"PATH": f"{self.pytest()}:{self.env['PATH']}"})
        self.assert_exit(result, 3)
        self.assertEqual(result.stdout, b"")
        self.assertIn(b"dlaunch waits for the ranks", result.stderr)
        # The other rank may have been ended before it wrote.
        failed = re.search(rb"rank (\d) \(", result.stderr)[1].decode()
        self.assertEqual((self.dir / f"w_{failed}.log").read_text(), f"{failed}\n")

    def pytest(self):
        """A program named pytest that fails if it is a rank."""
        program = self.bin / "pytest"
        program.write_text("#!/bin/sh\n[ $MS_ROLE = MS_SCHED ] && exec sleep 100\necho $RANK_ID\nexit 3\n")
        program.chmod(0o755)
        return self.bin

    def test_tail_worker_log_chooses_the_shown_ranks(self):
        result = self.by_link("msrun", "--worker_num=3", "--join=True", "--tail_worker_log=1,7", "rank.py")
        self.assert_exit(result, 0)
        self.assertEqual([env["RANK_ID"] for env, _ in self.ranks(result.stdout.decode(), "RANK_ID")], ["1"])

    def test_simulation_has_no_scheduler(self):
        result = self.by_link("msrun", "--worker_num=64", "--local_worker_num=64", "--sim_level=1", "--sim_rank_id=9", "--join=True",
                              "rank.py", env={"MS_ROLE": "MS_PSERVER"})
        self.assert_exit(result, 0)
        [(env, _)] = self.ranks(result.stdout.decode())
        self.assertEqual((env["RANK_ID"], env["RANK_SIZE"], env["MS_SIMULATION_LEVEL"]), ("9", "64", "1"))
        self.assertNotIn("MS_ROLE", env)
        self.assertFalse((self.dir / "scheduler.log").exists())


OF_DEEPSPEED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE", "CUDA_VISIBLE_DEVICES")


class Deepspeed(LauncherLines, support.Case):
    def found(self, result):
        self.assert_exit(result, 0)
        return [({name: env.get(name) for name in OF_DEEPSPEED}, args) for env, args in self.ranks(result.stdout.decode())]

    def test_ranks_get_deepspeed_variables(self):
        result = self.by_link("deepspeed", "--num_gpus=3", "--master_port", 29777, "rank.py", "--deepspeed", "a b", ":", "--",
                              env={"CUDA_VISIBLE_DEVICES": "5", "LOCAL_RANK": "7"})
        expected = [({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_SIZE": "3", "CROSS_RANK": "0",
                      "CROSS_SIZE": "1", "CUDA_VISIBLE_DEVICES": "0,1,2"}, [f"--local_rank={rank}", "--deepspeed", "a b", ":", "--"])
                    for rank in range(3)]
        self.assertEqual(self.found(result), expected)
        [(env, _), *_] = self.ranks(result.stdout.decode())
        self.assertEqual((env["MASTER_ADDR"], env["MASTER_PORT"]), ("127.0.0.1", "29777"))
        self.assertIn(b"CUDA_VISIBLE_DEVICES is ignored", result.stderr)

    def test_variable_or_option_chooses_the_devices(self):
        for line, env in (([], {"CUDA_VISIBLE_DEVICES": "5,2"}), (["-i", "localhost:5,2"], {})):
            with self.subTest(line):
                found = self.found(self.by_link("deepspeed", *line, "--no_local_rank", "rank.py", "x", env=env))
                self.assertEqual([(each["CUDA_VISIBLE_DEVICES"], args) for each, args in found], [("2,5", ["x"])] * 2)

    def test_each_rank_has_a_log_and_the_first_code_is_kept(self):
        result = self.by_link("deepspeed", "--num_gpus=2", "--enable_each_rank_log", "logs", "--no_python", "--no_local_rank",
                              *support.sh("echo out; echo err >&2; [ $RANK = 0 ] || exit 5; sleep 100"))
        self.assert_exit(result, 5)
        self.assertEqual(result.stdout, b"")
        names = sorted(path.name for path in (self.dir / "logs").iterdir())
        self.assertEqual([re.sub(r"^20\d{12}_", "T_", name) for name in names], ["T_rank0.log", "T_rank1.log"])
        self.assertEqual(sorted((self.dir / "logs" / names[1]).read_text().splitlines()), ["err", "out"])

    def test_each_rank_has_an_equal_share_of_the_cores(self):
        result = self.by_link("deepspeed", "--num_gpus=1", "--bind_cores_to_rank", "--no_python", "--no_local_rank", "nproc")
        self.assert_exit(result, 0)
        self.assertEqual(int(result.stdout), len(os.sched_getaffinity(0)))


class DeepspeedHosts(LauncherLines, HostsCase):
    def test_hostfile_starts_ranks_on_several_hosts(self):
        (self.dir / "hosts").write_text("# both\nnode1 slots=2\nnode2 slots=1\n")
        (self.dir / ".deepspeed_env").write_text("OF_THE_FILE=a=b\n")
        (self.dir / "rank.py").write_text(RANK.replace("sys.argv[1:]", "[os.uname().nodename, *sys.argv[1:]]"))
        result = self.by_link("deepspeed", "-H", "hosts", "rank.py", "x")
        self.assert_exit(result, 0)
        ranks = self.ranks(result.stdout.decode())
        self.assertEqual([args for _, args in ranks],
                         [["node1", "--local_rank=0", "x"], ["node1", "--local_rank=1", "x"], ["node2", "--local_rank=0", "x"]])
        self.assertEqual([env["CUDA_VISIBLE_DEVICES"] for env, _ in ranks], ["0,1", "0,1", "0"])
        self.assertEqual({(env["WORLD_SIZE"], env["CROSS_SIZE"], env["OF_THE_FILE"], env["PYTHONPATH"].split(":")[0]) for env, _ in ranks},
                         {("3", "2", "a=b", str(self.dir))})
        self.assertEqual(len({env["MASTER_ADDR"] for env, _ in ranks}), 1)

    def test_filters_and_numbers_choose_hosts_and_devices(self):
        (self.dir / "hosts").write_text("node1 slots=4\nnode2 slots=4\n")
        for line, expected in (((["-i", "node2:3,1@node1:0"]), ["node1 0", "node2 1,3", "node2 1,3"]),
                               ((["--num_gpus=1"]), ["node1 0", "node2 0"]),
                               ((["--num_nodes=1", "--num_gpus=1", "--force_multi"]), ["node1 0"])):
            with self.subTest(line):
                result = self.by_link("deepspeed", "-H", "hosts", *line, "--no_python", "--no_local_rank",
                                      *support.sh("echo $(uname -n) $CUDA_VISIBLE_DEVICES"))
                self.assert_exit(result, 0)
                self.assertEqual(sorted(result.stdout.decode().splitlines()), expected)


# A rank of Horovod sends its number to the others through the rendezvous server, as Horovod's gloo does, and prints all
# numbers.
MEETS = """
import json, os, sys, time, urllib.error, urllib.request
own = {name: value for name, value in os.environ.items() if name.startswith("HOROVOD_")}
at = "http://%s:%s/scope/" % (own["HOROVOD_GLOO_RENDEZVOUS_ADDR"], own["HOROVOD_GLOO_RENDEZVOUS_PORT"])

def ask(key, **how):
    while True:
        try:
            return urllib.request.urlopen(urllib.request.Request(at + key, **how)).read().decode()
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
        except OSError:
            pass
        time.sleep(0.01)

ask(own["HOROVOD_RANK"], data=own["HOROVOD_RANK"].encode() * 2, method="PUT")
told = [ask(str(rank)) for rank in range(int(own["HOROVOD_SIZE"]))]
print(json.dumps([own, [os.uname().nodename, *told, *sys.argv[1:]]]), flush=True)
"""


class Horovodrun(LauncherLines, support.Case):
    def test_ranks_connect_through_the_rendezvous_server(self):
        (self.dir / "rank.py").write_text(MEETS)
        result = self.by_link("horovodrun", "-np", 3, "--fusion-threshold-mb", 32, "python", "rank.py", "a b", "--",
                              env={"HOROVOD_RANK": "7", "DLAUNCH_LABEL": "false"})
        self.assert_exit(result, 0)
        self.assertTrue(result.stdout.startswith(b"[{"), "without a label")
        ranks = self.ranks(result.stdout.decode(), "HOROVOD_RANK")
        self.assertEqual([args[1:] for _, args in ranks], [["00", "11", "22", "a b", "--"]] * 3)
        for rank, (env, _) in enumerate(ranks):
            expected = {"HOROVOD_RANK": str(rank), "HOROVOD_LOCAL_RANK": str(rank), "HOROVOD_SIZE": "3", "HOROVOD_LOCAL_SIZE": "3",
                        "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1", "HOROVOD_CONTROLLER": "gloo", "HOROVOD_FUSION_THRESHOLD": str(32 << 20)}
            self.assertEqual({name: env.get(name) for name in expected}, expected)

    @promise(ENDS, mode=RUN)
    def test_rendezvous_server_ends_with_the_ranks(self):
        result, took = self.timed(lambda: self.by_link("horovodrun", "-np", 2, *support.sh("sleep 0.2; exit $HOROVOD_RANK")))
        self.assert_exit(result, 1)
        self.assertLess(took, 4)

    @staticmethod
    def timed(run):
        start = time.monotonic()
        return run(), time.monotonic() - start

    def test_output_is_labelled_and_in_files(self):
        result = self.by_link("horovodrun", "-np", 2, "--output-filename", "out", *support.sh("echo $HOROVOD_RANK; echo err >&2"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0]<stdout>:0", b"[1]<stdout>:1"])
        self.assertEqual(sorted(result.stderr.splitlines()), [b"[0]<stderr>:err", b"[1]<stderr>:err"])
        names = sorted(path.relative_to(self.dir / "out").as_posix() for path in (self.dir / "out").rglob("std*"))
        self.assertEqual(names, [f"rank.{rank}/{stream}" for rank in (0, 1) for stream in ("stderr", "stdout")])

    def test_missing_rendezvous_server_is_reported(self):
        (self.bin / "python3").unlink()
        result = self.by_link("horovodrun", "-np", 1, "/bin/sleep", "60", env={"PATH": str(self.bin)})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"rendezvous server", result.stderr)


class HorovodrunHosts(LauncherLines, HostsCase):
    def test_hostfile_starts_ranks_on_several_hosts(self):
        (self.dir / "hosts").write_text("node1 slots=2\nnode2 slots=4\n")
        (self.dir / "rank.py").write_text(MEETS)
        result = self.by_link("horovodrun", "-np", 4, "-hostfile", "hosts", "-p", 22, "python3", "rank.py")
        self.assert_exit(result, 0)
        ranks = self.ranks(result.stdout.decode(), "HOROVOD_RANK")
        self.assertEqual([args for _, args in ranks], [[node, "00", "11", "22", "33"] for node in ("node1", "node1", "node2", "node2")])
        self.assertEqual([env["HOROVOD_LOCAL_RANK"] + env["HOROVOD_CROSS_RANK"] for env, _ in ranks], ["00", "10", "01", "11"])


if __name__ == "__main__":
    support.main()
