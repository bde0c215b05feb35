"""Tests every launch command of the documents for which dlaunch was made: commands of mpirun run unchanged, except for
invented names, through a link named mpirun; scripts run as in examples/mindspore. seeds/commands.txt lists each command
with its document and its test. If the documents exist (DLAUNCH_SEEDS, ../shared/seeds), a command missing in the list
fails."""
import os
import pathlib
import re
import shutil
import stat
import sys
import unittest
from unittest import mock

import support
import test_ascend
from hosts_case import HostsCase, lines
from support import Case

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "seeds"))
import extract  # noqa: E402

LIST = HERE / "seeds" / "commands.txt"
DOCUMENTS = pathlib.Path(os.environ.get("DLAUNCH_SEEDS") or HERE.parents[2] / "shared" / "seeds")
EXAMPLES = HERE.parents[1] / "examples" / "mindspore"
DBNET = "--config configs/det/dbnet/db_r50_icdar15.yaml"
# Replaces python, pytest and similar programs: prints its arguments, and fails if its rank is FAILING.
STAND_IN = r"""#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$RANK_ID}
echo "$rank of ${OMPI_COMM_WORLD_SIZE:-$RANK_SIZE} on $(uname -n): ${0##*/} $*; data $DATA_PATH, sees $CUDA_VISIBLE_DEVICES"
echo "words on stderr" >&2
[ "$rank" != "$FAILING" ] || exit 3
"""
HCCN_TOOL = r"""#!/bin/sh
[ "$*" = "-i $2 -ip -g" ] && [ "$2" -lt 8 ] || exit 9
echo "ipaddr:192.168.10$(($2 % 4)).10$((1 - $2 / 4))"
"""


def listed():
    """[(document, test, command)]"""
    rows = [line.split(None, 2) for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(row) for row in rows]


class Documents:
    """The documents are not part of the repository. If they exist, the list must contain all their commands."""

    def test_list_contains_every_command_of_the_documents(self):
        found = [(file.stem.split("_")[0], command) for file in sorted(DOCUMENTS.glob("*.txt"))
                 for command in extract.commands(file.read_text())]
        self.assertTrue(found)
        rows = listed()
        for document, command in found:
            with self.subTest(document=document):
                # Prose may follow a command.
                self.assertTrue(any(document == row[0] and command.startswith(row[2]) for row in rows), command)
        for document, _, command in rows:
            self.assertTrue(any(document == other[0] and other[1].startswith(command) for other in found), command)


class List(*([Documents] if DOCUMENTS.is_dir() else []), unittest.TestCase):
    def test_each_command_has_a_test(self):
        tests = {name for case in (OneHost, SeveralHosts, Network) for name in dir(case)}
        for _, test, command in listed():
            self.assertIn("test_" + test, tests, command)


class Shell:
    """A mixin for a Case: a shell whose mpirun and dlaunch are the tested binary."""

    def setUp(self):
        super().setUp()
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name in ("mpirun", "dlaunch"):
            (self.bin / name).symlink_to(support.DLAUNCH)
        for name in ("python", "pytest", "python-command"):
            self.script(name, STAND_IN)
        self.script("hccn_tool", HCCN_TOOL)
        self.env["PATH"] = f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin"
        self.env["DLAUNCH_OVERSUBSCRIBE"] = "true"  # the machine may have few cores

    def script(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def shell(self, command, code=0, **options):
        """Runs the command in the foreground, also if the document runs it in the background."""
        with mock.patch("support.DLAUNCH", "/bin/sh"):
            result = self.run_dlaunch("-c", re.sub(r"&$", "", command), **options)
        self.assert_exit(result, code)
        return result

    def said(self, ranks, host, words, data="", sees=""):
        return sorted(f"{rank} of {ranks} on {host(rank)}: {words}; data {data}, sees {sees}" for rank in range(ranks))

    def examples(self):
        for file in EXAMPLES.iterdir():
            shutil.copy(file, self.dir)


def here(_):
    return os.uname().nodename


class OneHost(Shell, Case):
    def expect(self, command, ranks, words, code=0, **options):
        expected = {key: options.pop(key) for key in ("data", "sees") if key in options}
        result = self.shell(command, code, **options)
        self.assertEqual(sorted(lines(result.stdout)), self.said(ranks, here, words, **expected))
        return result

    def test_mpirun_two(self):
        command = f"mpirun --allow-run-as-root -n 2 python tools/train.py {DBNET}"
        self.expect(command, 2, f"python tools/train.py {DBNET}")
        failed = self.shell(command, 3, env={"FAILING": "1"})  # rank 0 is ended, perhaps before its first line
        self.assertIn(b"rank 1 (host", failed.stderr)
        self.expect("CUDA_VISIBLE_DEVICES=2,3 " + command, 2, f"python tools/train.py {DBNET}", sees="2,3")

    def test_mpirun_four(self):
        self.expect("mpirun -n 4 python-command", 4, "python-command ")
        self.assertEqual(sorted(lines(self.shell("mpirun -n 4 sh -c 'echo $OMPI_COMM_WORLD_LOCAL_RANK'").stdout)), list("0123"))

    def test_mpirun_eight(self):
        words = "pytest -s -v ./resnet50_distributed_training.py"
        self.shell(f"mpirun -n 8 {words} > train.log 2>&1 &", env={"DATA_PATH": "/d"})
        log = (self.dir / "train.log").read_text().splitlines()
        self.assertEqual(sorted(log), self.said(8, here, words, data="/d") + ["words on stderr"] * 8)

    def test_mpirun_net(self):
        self.expect("mpirun -n 2 python net.py", 2, "python net.py")
        options = "-mca orte_abort_on_non_zero_status 0 -bind-to none --allow-run-as-root --output-filename log_output --merge-stderr-to-stdout"
        self.shell(f"mpirun -n 2 {options} python net.py", 3, env={"FAILING": "0"})
        for rank in range(2):
            log = (self.dir / "log_output" / "1" / f"rank.{rank}" / "stdout").read_text().splitlines()
            self.assertEqual(log, self.said(2, here, "python net.py")[rank:rank + 1] + ["words on stderr"])

    def test_alone(self):
        self.script("python3", STAND_IN)
        result = self.shell("dlaunch -n 1 python3 train-cpu.py")
        self.assertIn("python3 train-cpu.py;", result.stdout.decode())

    def table(self, devices, name=None):
        """Makes the table of hccl_tools.py --device_num `devices`. Returns the name of the file."""
        made = self.shell(f'dlaunch ranktable make --device_num "{devices}" --server_ip 127.0.0.1').stdout.decode().strip()
        if name:
            (self.dir / made).rename(self.dir / name)
        return made

    def test_hccl_tools(self):
        self.assertEqual(self.table("[0,8)"), "hccl_8p_01234567_127.0.0.1.json")
        self.assertEqual(self.table("[4,8)"), "hccl_4p_4567_127.0.0.1.json")
        self.shell("dlaunch ranktable check hccl_4p_4567_127.0.0.1.json")

    def test_ascend_scripts(self):
        self.examples()
        for devices, script, first in (("[0,8)", "ascend8p.sh", 0), ("[4,8)", "ascend4p.sh", 4)):
            self.table(devices)
            self.shell(f"bash {script}")
            size = 8 - first
            log = (self.dir / "train.log").read_text().splitlines()
            self.assertIn(f"rank 0 of {size}, device {first}, data in None", log)
            self.assertNotIn("rank 1", "".join(log))

    def test_run(self):
        self.examples()
        self.table("[0,8)", "rank_table_8pcs.json")
        for _ in range(2):
            self.shell("bash run.sh /path/dataset 8")
        for rank in range(8):
            made = self.dir / f"device{rank}"
            self.assertEqual(sorted(os.listdir(made)), [".dlaunch-rank-dir", "env.log", "train.log" + str(rank), "train.py"])
            log = (made / f"train.log{rank}").read_text().splitlines()
            self.assertEqual(log[0], f"rank {rank} of 8, device {rank}, data in /path/dataset")
            saved = (made / "env.log").read_text().splitlines()
            for entry in (f"RANK_ID={rank}", f"DEVICE_ID={rank}", "RANK_SIZE=8", "DEVICE_NUM=8", "DATA_PATH=/path/dataset",
                          f"RANK_TABLE_FILE={self.dir}/rank_table_8pcs.json", f"PWD={made}"):
                self.assertIn(entry, saved)
            self.assertEqual(stat.S_IMODE((made / "env.log").stat().st_mode), 0o600)
        self.table("[0,2)", "rank_table_2pcs.json")
        (self.dir / "train.py").write_text("raise SystemExit(2)")
        self.shell("bash run.sh /path/dataset 2", 2)

    def test_run_gpu(self):
        self.examples()
        self.shell("bash run_gpu.sh /path/dataset")
        log = (self.dir / "train.log").read_text()
        for rank in range(8):
            self.assertIn(f"rank {rank} of 8, device {rank}, data in /path/dataset\n", log)
            self.assertEqual(sorted(os.listdir(self.dir / "device" / str(rank))), [".dlaunch-rank-dir", "train.py"])


class SeveralHosts(Shell, HostsCase):
    """DEVICE1_IP and DEVICE2_IP are the addresses of the testbed's hosts."""

    def setUp(self):
        super().setUp()
        self.env["DLAUNCH_HOST_KEY"] = "accept-new"  # known_hosts contains names, not addresses
        self.address = self.bed.addresses()

    def node(self, rank):
        return f"node{rank // 8 + 1}"

    def addressed(self, command):
        return command.replace("DEVICE1_IP", self.address["node1"]).replace("DEVICE2_IP", self.address["node2"])

    def hostfile(self):
        (self.dir / "hostfile").write_text(self.addressed("node1 slots=8\nDEVICE2_IP slots=8\n"))

    def logs(self, root="log_output"):
        """The stdout files of the ranks, in order."""
        return [(self.dir / root / "1" / f"rank.{rank:02}" / "stdout").read_text().splitlines() for rank in range(16)]

    def check_logs(self, words, data=""):
        expected = [f"{rank} of 16 on {self.node(rank)}: {words}; data {data}, sees " for rank in range(16)]
        self.assertEqual(self.logs(), [[line, "words on stderr"] for line in expected])

    def test_mpirun_list(self):
        result = self.shell(self.addressed("mpirun -n 16 -H DEVICE1_IP:8,DEVICE2_IP:8 python hello.py"))
        self.assertEqual(sorted(lines(result.stdout)), self.said(16, self.node, "python hello.py"))

    def test_mpirun_list_logs(self):
        command = "mpirun -n 16 -H DEVICE1_IP:8,DEVICE2_IP:8 --output-filename log_output --merge-stderr-to-stdout python net.py"
        self.shell(self.addressed("export DATA_PATH=./MNIST_Data/train/; " + command))
        self.check_logs("python net.py", data="./MNIST_Data/train/")

    def test_mpirun_hostfile(self):
        self.hostfile()
        command = "mpirun -n 16 --hostfile $HOSTFILE --output-filename log_output --merge-stderr-to-stdout python net.py"
        self.shell(f"HOSTFILE=./hostfile; {command}")
        self.check_logs("python net.py")

    def test_mpirun_cluster(self):
        self.hostfile()
        words = "pytest -s -v ./resnet50_distributed_training.py"
        self.shell("HOSTFILE=./hostfile; DATA_PATH=/d; mpirun -n 16 --hostfile $HOSTFILE -x DATA_PATH=$DATA_PATH -x PATH "
                   f"-mca pml ob1 {words} > train.log 2>&1 &")
        log = (self.dir / "train.log").read_text().splitlines()
        self.assertEqual(sorted(log), self.said(16, self.node, words, data="/d") + ["words on stderr"] * 16)

    def test_run_mpirun(self):
        self.examples()
        self.hostfile()
        for command in ("bash run_mpirun_1.sh DEVICE1_IP DEVICE2_IP", "bash run_mpirun_2.sh ./hostfile"):
            self.shell(self.addressed(command))
            for rank, log in enumerate(self.logs()):
                self.assertEqual(log[0], f"rank {rank} of 16, device {rank % 8}, data in ./MNIST_Data/train/")
            shutil.rmtree(self.dir / "log_output")

    def test_run_cluster(self):
        self.examples()
        test_ascend.Ascend.table(self, "rank_table.json")
        self.shell(f"bash run_cluster.sh /path/dataset {self.dir}/rank_table.json 16 0")
        for rank in range(16):
            made = self.dir / f"device_{rank}"
            self.assertEqual(sorted(os.listdir(made)), [".dlaunch-rank-dir", "train.py", f"train{rank}.log"])
            log = (made / f"train{rank}.log").read_text().splitlines()
            self.assertEqual(log[0], f"rank {rank} of 16, device {rank % 8}, data in /path/dataset")


class Network(test_ascend.Ascend):
    def test_network_check(self):
        result = self.run_dlaunch("check", "--ascend", "--devices", "0-7", "-H", "node1,node2")
        self.assert_exit(result, 0)
        self.assertEqual([line.split()[2:] for line in lines(result.stdout)[1:]], [["Success"] * 8] * 2)
        for device in range(8):
            self.assertEqual(self.host(1).sh(f"cat /root/peer{device}"), f"192.168.{device}.2\n")


if __name__ == "__main__":
    support.main()
