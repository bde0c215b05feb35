"""Tests dlaunch ranktable make, check and merge, with a fake hccn_tool."""
import json
import os
import subprocess
import time
import unittest

import support
from support import Case

ADDRESSES = [f"192.168.10{n % 4}.{101 if n < 4 else 100}" for n in range(8)]  # the addresses of the documentation


def rooted():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode == 0


class Ranktable(Case):
    def setUp(self):
        super().setUp()
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.work = self.dir / "work"
        self.work.mkdir()
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"

    def tool(self, *lines):
        """Writes hccn_tool as a script with these lines; $2 is the device."""
        path = self.bin / "hccn_tool"
        path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
        path.chmod(0o755)

    def usual_tool(self):
        """Prints the addresses of the documentation, and rejects arguments that the driver's tool would reject."""
        self.tool('[ "$#:$1:$3:$4" = "4:-i:-ip:-g" ] || exit 9',
                  f'set -- "$2" {" ".join(ADDRESSES)}', 'shift "$(($1 + 1))"',
                  'echo "ipaddr:$1"', 'echo netmask:255.255.255.0')

    def ranktable(self, *args, **options):
        return self.run_dlaunch("ranktable", *args, cwd=self.work, **options)

    def refused(self, code, *args):
        result = self.ranktable(*args)
        self.assert_exit(result, code)
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def make(self, *args):
        """Makes a table. Returns the printed path and the content."""
        result = self.ranktable("make", *args)
        self.assert_exit(result, 0)
        path = result.stdout.decode().rstrip("\n")
        return path, json.loads((self.work / path).read_text())

    def devices(self, table):
        return [(d["device_id"], d["device_ip"], d["rank_id"]) for s in table["server_list"] for d in s["device"]]

    def files(self):
        return sorted(path.name for path in self.work.iterdir())


class Make(Ranktable):
    def test_documented_make_commands(self):
        self.usual_tool()
        for options, name, first in ((["--device_num", "[0,8)"], "hccl_8p_01234567_127.0.0.1.json", 0),
                                     (["--device_num", "[4,8)"], "hccl_4p_4567_127.0.0.1.json", 4),
                                     (["--device-num=[4, 8)"], "hccl_4p_4567_127.0.0.1.json", 4),
                                     ([], "hccl_8p_01234567_127.0.0.1.json", 0)):
            with self.subTest(options=options):
                path, table = self.make("--server_ip", "127.0.0.1", *options)
                self.assertEqual(path, name)
                wanted = [(str(n), ADDRESSES[n], str(n - first)) for n in range(first, 8)]
                self.assertEqual(self.devices(table), wanted)
                self.assertEqual((table["version"], table["status"], table["server_count"]), ("1.0", "completed", "1"))
                checked = self.ranktable("check", path)
                self.assert_exit(checked, 0)
                self.assertIn(f"{path}: valid: version 1.0, 1 server, {8 - first} ranks".encode(), checked.stdout)

    def test_visible_devices_are_renumbered(self):
        self.usual_tool()
        path, table = self.make("--server_ip", "10.0.0.1", "--visible_devices", "4,5,6,7", "--device_num", "[0,2)")
        self.assertEqual(path, "hccl_2p_01_10.0.0.1.json")  # the name that hccl_tools.py gives
        self.assertEqual(self.devices(table), [("4", ADDRESSES[4], "0"), ("5", ADDRESSES[5], "1")])
        self.assertIn("--visible_devices 4,5,6,7",
                      self.refused(2, "make", "--visible_devices", "4,5,6,7", "--device_num", "[4,8)"))

    def test_hccn_conf_has_addresses_that_the_tool_lacks(self):
        self.tool('[ "$2" = 1 ] && { echo "no such device"; exit 1; }', 'echo "ipaddr:10.1.0.$2"')
        (self.work / "conf").write_text("address_0=10.2.0.0\naddress_1=10.2.0.1\n")
        _, table = self.make("--server_ip", "10.0.0.1", "--device_num", "[0,2)", "--hccn-conf", "conf")
        self.assertEqual([ip for _, ip, _ in self.devices(table)], ["10.1.0.0", "10.2.0.1"])

    def test_missing_address_names_devices_and_both_sources(self):
        self.tool('[ "$2" = 1 ] || exit 3', 'echo "ipaddr:10.1.0.$2"')
        said = self.refused(2, "make", "--server_ip", "10.0.0.1", "--device_num", "[0,4)", "--hccn-conf", "absent")
        self.assertIn("devices 0,2-3: hccn_tool: exited with 3; absent: cannot read", said)
        self.assertEqual(self.files(), [])

    def test_missing_tool_is_reported(self):
        self.env["PATH"] = str(self.bin)
        (self.work / "conf").write_text("address_1=10.2.0.1\n")
        said = self.refused(2, "make", "--server_ip", "10.0.0.1", "--device_num", "[0,1)", "--hccn-conf", "conf")
        self.assertIn("hccn_tool: not found in PATH; conf: missing key \"address_0\"", said)

    def test_hanging_tool_times_out(self):
        self.tool('[ "$2" = 0 ] || exec sleep 1000', 'echo "ipaddr:10.1.0.$2"')
        start = time.monotonic()
        said = self.refused(2, "make", "--server_ip", "10.0.0.1", "--device_num", "[0,8)", "--hccn-conf", "absent")
        self.assertIn("devices 1-7: hccn_tool: timed out", said)
        self.assertLess(time.monotonic() - start, 18)  # all devices are queried in parallel

    def test_tables_that_violate_a_rule_are_not_written(self):
        self.usual_tool()
        self.assertIn("3-4", self.refused(2, "make", "--server_ip", "10.0.0.1", "--device_num", "[3,5)"))
        self.assertIn("1, 2, 4 or 8", self.refused(2, "make", "--server_ip", "10.0.0.1", "--device_num", "[0,3)"))
        self.assertIn("invalid IP address", self.refused(2, "make", "--server_ip", "node1"))
        self.assertEqual(self.files(), [])
        _, table = self.make("--server_ip", "10.0.0.1", "--device_num", "[0,3)", "--product", "a2")
        self.assertEqual(len(self.devices(table)), 3)

    def test_output_option_chooses_the_path(self):
        self.usual_tool()
        (self.work / "there").mkdir()
        base = ["make", "--server_ip", "10.0.0.1", "--device_num", "[0,1)", "-o"]
        for output, path in (("there", "there/hccl_1p_0_10.0.0.1.json"), ("there/", "there/hccl_1p_0_10.0.0.1.json"),
                             ("mine.json", "mine.json")):
            result = self.ranktable(*base, output)
            self.assert_exit(result, 0)
            self.assertEqual(result.stdout.decode(), path + "\n")
            self.assertTrue((self.work / path).is_file())
        printed = self.ranktable(*base, "-")
        self.assertEqual(printed.stdout, (self.work / "mine.json").read_bytes())
        self.assertIn("end in .json", self.refused(2, *base, "mine.txt"))
        self.assertIn("cannot write", self.refused(1, *base, "absent/mine.json"))
        self.assertEqual(self.files(), ["mine.json", "there"])  # no temporary file is left

    def test_version_1_2_has_super_pods(self):
        self.usual_tool()
        path, table = self.make("--version", "1.2", "--server_ip", "10.0.0.1", "--device_num", "[0,2)",
                                "--super_pod_id", "7", "--super_device_ids", "100,101")
        self.assertEqual(table["super_pod_list"], [{"super_pod_id": "7", "server_list": [{"server_id": "10.0.0.1"}]}])
        self.assertEqual([d["super_device_id"] for d in table["server_list"][0]["device"]], ["100", "101"])
        self.assert_exit(self.ranktable("check", path), 0)
        said = self.refused(2, "make", "--version", "1.2", "--server_ip", "10.0.0.1", "--super_pod_id", "7",
                            "--super_device_ids", "1,2")
        self.assertIn("2 IDs for 8 devices", said)

    def test_version_2_0_uses_rootinfo(self):
        ranks = [{"device_id": n, "local_id": n, "level_list": [
            {"net_layer": 0, "net_instance_id": "pod", "net_type": "TOPO_FILE_DESC", "net_attr": "",
             "rank_addr_list": [{"addr_type": "EID", "addr": f"{n:032x}", "ports": ["0/1"], "plane_id": "0"}]}]}
            for n in range(8)]
        (self.work / "root.json").write_text(json.dumps({"version": "2.0", "rank_count": 8, "rank_list": ranks}))
        path, table = self.make("--version", "2.0", "--server_ip", "10.0.0.1", "--device_num", "[4,8)",
                                "--rootinfo", "root.json")
        self.assertEqual(table["rank_count"], 4)
        self.assertEqual(table["rank_list"], [{"rank_id": n, **ranks[n + 4]} for n in range(4)])
        self.assert_exit(self.ranktable("check", path), 0)
        self.assertIn("--rootinfo /etc/hccl_rootinfo.json", self.refused(2, "make", "--version", "2.0"))


@unittest.skipUnless(rooted(), "needs root for a network namespace of its own")
class ServerIp(Ranktable):
    """Without --server_ip, in a network namespace with known addresses."""

    def make_there(self, *setup):
        self.usual_tool()
        script = " && ".join((*setup, f"exec {support.DLAUNCH} ranktable make --device_num '[0,1)'"))
        return subprocess.run(["unshare", "-n", "sh", "-c", script], cwd=self.work, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=support.TIMEOUT)

    def test_missing_interface_is_reported(self):
        result = self.make_there("ip link set lo up")
        self.assert_exit(result, 2)
        self.assertIn(b"no address reachable from other hosts", result.stderr)

    def test_first_reachable_address_is_chosen(self):
        interface = "ip link add {0} type veth peer name p{0} && ip addr add {1} dev {0} && ip link set {0} up"
        result = self.make_there("ip link set lo up", interface.format("docker0", "172.17.0.1/16"),
                                 interface.format("lan0", "10.9.8.7/24"), interface.format("lan1", "10.9.9.7/24"))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"hccl_1p_0_10.9.8.7.json\n")
        self.assertIn(b"server_id is 10.9.8.7, of lan0; set --server_ip to use another address: 10.9.9.7 of lan1", result.stderr)


class CheckAndMerge(Ranktable):
    def table(self, name, server, network, devices=8, **top):
        table = {"version": "1.0", "server_count": "1", "server_list": [{"server_id": server, "device": [
            {"device_id": str(n), "device_ip": f"10.{network}.0.{n + 1}", "rank_id": str(n)} for n in range(devices)],
            "host_nic_ip": "reserve"}], "status": "completed", **top}
        (self.work / name).write_text(json.dumps(table, indent=4))
        return table

    def test_check_reports_every_broken_rule(self):
        table = self.table("t.json", "127.0.0.1", 1, 3, status="initializing")
        table["server_list"][0]["device"][1]["rank_id"] = 1
        (self.work / "t.json").write_text(json.dumps(table, indent=4))
        result = self.ranktable("check", "t.json")
        self.assert_exit(result, 1)
        self.assertEqual(result.stdout.decode().splitlines(), [
            "t.json:6:26: note: $.server_list[0].server_id: \"127.0.0.1\" works for a single server only: the table cannot be merged",
            "t.json:7:23: $.server_list[0].device: invalid number of devices \"3\": expected 1, 2, 4 or 8 on a server of Ascend 910 "
            "(for A2, set --product a2)",
            "t.json:16:32: $.server_list[0].device[1].rank_id: invalid value 1: expected a string: version 1.0 requires quotes around every value",
            't.json:27:15: $.status: invalid status "initializing": expected "completed": otherwise HCCL reads the file again for up to '
            "30 minutes",
            "t.json: invalid: 3 errors"])

    def test_check_exit_codes(self):
        self.table("good.json", "10.0.0.1", 1)
        self.table("good.txt", "10.0.0.1", 1)
        (self.work / "twice.json").write_text('{"version": "1.0",\n "version": "1.0"}')
        (self.work / "behind.json").write_text("{}\n}")
        (self.work / "deep.json").write_text("[" * 1000000)
        (self.work / "huge.json").write_text("[" + "0," * 8000000 + "0]")
        for files, code, said in ((["good.json"], 0, b"good"), (["good.txt"], 1, b"expected the ending .json"),
                                  (["good.json", "good.txt"], 1, b"expected the ending .json"),
                                  (["twice.json"], 1, b"twice.json:2:2: "), (["behind.json"], 1, b"behind.json:2:1: "),
                                  (["deep.json"], 1, b"more than 32 nested levels"), (["huge.json"], 1, b"more than 1000000 values"),
                                  (["absent.json", "good.json"], 2, b"good.json: valid"), ([], 2, b"")):
            with self.subTest(files=files):
                result = self.ranktable("check", *files)
                self.assert_exit(result, code)
                self.assertIn(said, result.stdout)

    def test_merge_orders_servers_and_ranks(self):
        self.table("b.json", "10.0.0.9", 1)
        self.table("a.json", "10.0.0.10", 2)
        result = self.ranktable("merge", "b.json", "a.json")
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"hccl_2s_16p.json\n")
        merged = json.loads((self.work / "hccl_2s_16p.json").read_text())
        self.assertEqual([s["server_id"] for s in merged["server_list"]], ["10.0.0.10", "10.0.0.9"])
        self.assertEqual([rank for _, _, rank in self.devices(merged)], [str(n) for n in range(16)])
        self.assertEqual(merged["server_count"], "2")
        self.assert_exit(self.ranktable("check", "hccl_2s_16p.json"), 0)
        before = (self.work / "hccl_2s_16p.json").read_bytes()
        self.assertIn('hccl_2s_16p.json: duplicate server "10.0.0.9": also in b.json', self.refused(2, "merge", "b.json", "hccl_2s_16p.json"))
        self.assertEqual((self.work / "hccl_2s_16p.json").read_bytes(), before)
        self.assertEqual(self.files(), ["a.json", "b.json", "hccl_2s_16p.json"])

    def test_merge_rejects_invalid_files(self):
        self.table("a.json", "10.0.0.1", 1)
        (self.work / "bad.json").write_text("{")
        self.assertIn("bad.json:1:2: ", self.refused(2, "merge", "a.json", "bad.json"))
        self.assertIn("absent.json", self.refused(2, "merge", "a.json", "absent.json"))


class RankTableJob(Ranktable):
    """Tests --rank-table on this machine; test_ascend.py tests it on other hosts."""

    SHOW = 'echo $RANK_ID $RANK_SIZE $DEVICE_ID $DEVICE_NUM $RANK_TABLE_FILE'

    def rows(self, *args, **options):
        result = self.run_dlaunch("--rank-table", *args, cwd=self.work, **options)
        self.assert_exit(result, 0)
        return sorted(line.split() for line in result.stdout.decode().splitlines())

    def test_documented_tables_start_ranks(self):
        self.usual_tool()
        for options, first, count in (([], 0, 8), (["--device_num", "[4,8)"], 4, 4)):
            path, _ = self.make("--server_ip", "127.0.0.1", *options)
            rows = self.rows(path, "sh", "-c", self.SHOW)
            self.assertEqual(rows, [[str(r), str(count), str(r + first), str(count), str(self.work / path)] for r in range(count)])
        self.assertEqual(self.rows(path, "-x", "DEVICE_NUM=8", "-n", 4, "sh", "-c", self.SHOW)[3][3], "8")

    def test_auto_makes_a_table(self):
        self.usual_tool()
        rows = self.rows("auto", "--fake-devices", 8, "--devices", "[4,8)", "sh", "-c",
                         self.SHOW + '; cp "$RANK_TABLE_FILE" table$RANK_ID.json')
        self.assertEqual([row[:4] for row in rows], [[str(r), "4", str(r + 4), "4"] for r in range(4)])
        tables = {(self.work / f"table{r}.json").read_text() for r in range(4)}
        self.assertEqual(len(tables), 1)
        self.assertEqual(self.devices(json.loads(tables.pop())), [(str(r + 4), ADDRESSES[r + 4], str(r)) for r in range(4)])
        self.assertRegex(rows[0][4], r"/dlaunch-[0-9a-f]{16}-[0-9a-f]{16}/hccl_4p_4567_[0-9a-f.:]+\.json$")
        self.assertFalse(os.path.exists(os.path.dirname(rows[0][4])))

    def test_rules_are_checked_before_the_tool_runs(self):
        for devices, said in (("3", "has 3 devices: expected 1, 2, 4 or 8"),
                              ("6", "has 6 devices: expected 1, 2, 4 or 8")):
            result = self.run_dlaunch("--rank-table", "auto", "--fake-devices", devices, "true")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())
        result = self.run_dlaunch("--rank-table", "auto", "--fake-devices", 8, "--devices", "3-4", "--dry-run", "true")
        self.assert_exit(result, 2)
        self.assertIn("expected 2 or 4 devices, either all in 0-3 or all in 4-7", result.stderr.decode())
        result = self.run_dlaunch("--rank-table", "auto", "--fake-devices", 3, "--product", "a2", "--dry-run", "true")
        self.assert_exit(result, 0)
        self.assertIn(b"rank table  auto", result.stdout)

    @unittest.skipUnless(rooted(), "needs root, to have devices in a /dev of its own")
    def test_ascend_devices_are_detected(self):
        devices = "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mkdir /dev/shm; for n in 0 1 2 3 4 5 6 7; do : >/dev/davinci$n; done; "
        run = lambda *args: subprocess.run(["unshare", "-m", "sh", "-c", devices + 'exec "$@"', "sh", support.DLAUNCH, *args],
                                           env=self.env, cwd=self.work, capture_output=True, timeout=support.TIMEOUT)
        said = run("-n", "3", "sh", "-c", "echo $DEVICE_ID")
        self.assertEqual((said.returncode, sorted(said.stdout.split())), (0, [b"0", b"1", b"2"]), said)
        self.assertIn(b"note: ", said.stderr)
        self.assertIn(b"has 3 devices, and HCCL may reject these devices: expected 1, 2, 4 or 8", said.stderr)
        said = run("-n", "3", "--env-for", "mindspore", "true")
        self.assertEqual(said.returncode, 2, said)
        self.assertIn(b"has 3 devices: expected 1, 2, 4 or 8 on a server of Ascend 910 (for A2, set --product a2)", said.stderr)
        self.assertEqual(run("-n", "3", "--env-for", "mindspore", "--product", "a2", "true").returncode, 0)
        said = run("-n", "4", "--env-for", "mindspore", "true")
        self.assertEqual(said.returncode, 0, said)
        self.assertNotIn(b"HCCL", said.stderr)


class Help(Ranktable):
    def test_help_names_commands_and_options(self):
        result = self.ranktable("--help")
        self.assert_exit(result, 0)
        for word in (b"make", b"check", b"merge", b"--device_num", b"--visible_devices", b"--server_ip", b"--version"):
            self.assertIn(word, result.stdout)

    def test_program_named_ranktable_can_be_run(self):
        (self.bin / "ranktable").write_text("#!/bin/sh\necho mine\n")
        (self.bin / "ranktable").chmod(0o755)
        self.assertEqual(self.assert_succeeds("-n", 1, "ranktable"), b"mine\n")
        self.assertEqual(self.assert_succeeds("-n", 1, "--", "ranktable"), b"mine\n")


if __name__ == "__main__":
    support.main()
