"""Tests Ascend devices on several hosts: --rank-table FILE and auto, `ranktable make` over a list of hosts, `check
--ascend`. Each host has its own stand-in for the driver's hccn_tool."""
import json
import os
import pathlib
import signal
import subprocess

import support
from hosts_case import HostsCase, lines
from promises import KILL, LEAVES_NOTHING, NAMES_FIRST, QUERY, promise
from support import oldest_first, wait_until

TOOL = """#!/bin/sh
# Device $2 of host number HOST has the address 192.168.$2.HOST. The net health is Fault if the
# address of the peer is listed in /root/unreachable.
case "$#:$1:$3:$4:$5" in
4:-i:-ip:-g:) [ "$2" -lt 8 ] || exit 9; echo "ipaddr:192.168.$2.HOST"; echo netmask:255.255.255.0 ;;
6:-i:-netdetect:-s:address) echo "$6" >/root/peer$2 ;;
4:-i:-net_health:-g:)
  echo $(date +%s%N) $2 >>/root/asked
  if grep -qx "$(cat /root/peer$2)" /root/unreachable 2>/dev/null
  then echo "net health status: Fault"; else echo "net health status: Success"; fi ;;
*) exit 8 ;;
esac
"""
SHOW = 'echo $RANK_ID $RANK_SIZE $DEVICE_ID $DEVICE_NUM $(uname -n) $(stat -c %a "$RANK_TABLE_FILE") $RANK_TABLE_FILE'


class Ascend(HostsCase):
    def setUp(self):
        super().setUp()
        for number in range(1, self.count + 1):
            self.give_tool(number)
        self.env["PATH"] = f"/root/bin:{self.env['PATH']}"
        self.env["DLAUNCH_HOST_KEY"] = "accept-new"  # a table names addresses, and known_hosts has names
        self.address = self.bed.addresses()

    def give_tool(self, number):
        (self.bed.dir / "tool").write_text(TOOL.replace("HOST", str(number)))
        self.host(number).sh(f"mkdir -p /root/bin; cp {self.bed.dir}/tool /root/bin/hccn_tool; chmod +x /root/bin/hccn_tool")

    def names(self, ranks=None):
        return ",".join(f"node{n}" + (f":{ranks}" if ranks else "") for n in range(1, self.count + 1))

    def table(self, name="table.json", hosts=None, devices=range(8)):
        """Writes a rank table of the testbed's hosts, in the documented format."""
        hosts = hosts or [self.address[f"node{n}"] for n in range(1, self.count + 1)]
        servers, rank = [], 0
        for number, host in enumerate(sorted(hosts), 1):
            server = {"server_id": host, "device": [], "host_nic_ip": "reserve"}
            for device in devices:
                server["device"].append({"device_id": str(device), "device_ip": f"192.168.{device}.{number}",
                                         "rank_id": str(rank)})
                rank += 1
            servers.append(server)
        table = {"version": "1.0", "server_count": str(len(servers)), "server_list": servers, "status": "completed"}
        (self.dir / name).write_text(json.dumps(table, indent=4))
        return table


class RankTableJob(Ascend):
    def test_rank_table_starts_its_ranks(self):
        table = self.table()
        result = self.run_dlaunch("--rank-table", "table.json", "sh", "-c", SHOW + '; cat "$RANK_TABLE_FILE" >/root/seen',
                                  env={"RANK_TABLE_FILE": "/outer", "DEVICE_NUM": "3"})
        self.assert_exit(result, 0)
        rows = sorted((line.split() for line in lines(result.stdout)), key=lambda row: int(row[0]))
        self.assertEqual([row[:5] for row in rows],
                         [[str(r), "16", str(r % 8), "8", f"node{r // 8 + 1}"] for r in range(16)])
        self.assertEqual({row[5] for row in rows}, {"600"})
        for number in (1, 2):
            self.assertEqual(json.loads(self.host(number).sh("cat /root/seen")), table)
        self.assertTrue(all(row[6].endswith("/table.json") for row in rows))
        self.assertEqual([row[6] for row in rows if pathlib.Path(row[6]).exists()], [])

    def test_hostfile_gives_slots_and_environment(self):
        self.table()
        (self.dir / "hosts").write_text("node2 slots=8 env.MINE=two\nnode1 slots=8\n")
        out = self.assert_succeeds("--rank-table", "table.json", "--hostfile", "hosts", "sh", "-c", "echo $RANK_ID $DLAUNCH_HOST $MINE")
        self.assertEqual(sorted(lines(out), key=lambda line: int(line.split()[0])),
                         [f"{r} node1" if r < 8 else f"{r} node2 two" for r in range(16)])

    def test_host_list_that_contradicts_the_table_is_rejected(self):
        self.table()
        for options, told in ((["-H", "node1"], "host \"10.77."),
                              (["-H", "node1,node2,node3"], "unknown host \"node3\": table.json has"),
                              (["-H", "node1:4,node2:8"], "node1 has 4 slots"), (["-n", "8"], "the table has 16 ranks"),
                              (["--devices", "0-3"], "conflicts with --devices"), (["-N", "8"], "conflicts with -N")):
            with self.subTest(options=options):
                self.assert_told(self.run_dlaunch("--rank-table", "table.json", *options, "true"), 2, told)

    def test_broken_table_starts_nothing(self):
        self.table(devices=[0, 1, 2])
        result = self.run_dlaunch("--rank-table", "table.json", "true")
        self.assert_told(result, 2, "table.json:7:", "expected 8 on each")
        self.assert_succeeds("--rank-table", "table.json", "--product", "a2", "true")

    def test_auto_makes_a_table(self):
        (self.dir / "hosts").write_text("node1 devices=0-7\nnode2 devices=[0,8)\n")
        result = self.run_dlaunch("--rank-table", "auto", "--hostfile", "hosts", "sh", "-c",
                                  SHOW + '; cat "$RANK_TABLE_FILE" >/root/seen')
        self.assert_exit(result, 0)
        rows = sorted((line.split() for line in lines(result.stdout)), key=lambda row: int(row[0]))
        self.assertEqual([row[:6] for row in rows],
                         [[str(r), "16", str(r % 8), "8", f"node{r // 8 + 1}", "600"] for r in range(16)])
        self.assertTrue(all(row[6].endswith("/hccl_2s_16p.json") for row in rows), rows)
        expected = self.table()
        for number in (1, 2):
            self.assertEqual(json.loads(self.host(number).sh("cat /root/seen")), expected)
        self.assertEqual([row[6] for row in rows if pathlib.Path(row[6]).exists()], [])

    def test_auto_orders_hosts_by_address(self):
        command = ["--rank-table", "auto", "--fake-devices", "8", "--env-for", "torch", "--display-map", "sh", "-c",
                   'echo "is $RANK_ID $DLAUNCH_HOST $MASTER_ADDR"; cat "$RANK_TABLE_FILE" >/root/seen']
        for hosts in (["-H", "node2:8,node1:8"], ["--hostfile", "hosts"]):
            with self.subTest(hosts):
                (self.dir / "hosts").write_text("node2\nnode1\n")
                result = self.run_dlaunch(*hosts, *command)
                self.assert_told(result, 0, "note: --rank-table auto: ", "dlaunch sorted the hosts by address, as HCCL requires: node1, node2")
                rows = sorted((line.split()[1:] for line in lines(result.stdout) if line.startswith("is ")),
                              key=lambda row: int(row[0]))
                self.assertEqual(rows, [[str(r), f"node{r // 8 + 1}", "node1"] for r in range(16)])
                self.assertRegex(result.stdout.decode(), r"(?m)^0 +node1 +0 ")
                self.assertEqual(json.loads(self.host(2).sh("cat /root/seen")), self.table())
        (self.dir / "ranks").write_text("".join(f"rank {r}=node{2 - r // 8} slot=0\n" for r in range(16)))
        result = self.run_dlaunch("-H", "node2:8,node1:8", "--rankfile", "ranks", *command)
        self.assert_told(result, 2, "HCCL requires hosts sorted by the text of their addresses")
        self.assert_told(result, 2, "use this order: node1,node2")
        (self.dir / "ranks").write_text("".join(f"rank {r}=node{1 + r // 8} slot=0\n" for r in range(16)))
        self.assert_exit(self.run_dlaunch("-H", "node2:8,node1:8", "--rankfile", "ranks", *command), 0)

    def test_auto_reports_missing_addresses_and_devices(self):
        self.host(2).sh("rm /root/bin/hccn_tool")
        result = self.run_dlaunch("--rank-table", "auto", "--fake-devices", "8", "-H", self.names(8), "true")
        self.assert_told(result, 2, "node2: missing address of devices 0-7", "hccn_tool: not found in PATH", "/etc/hccn.conf")
        result = self.run_dlaunch("--rank-table", "auto", "-H", self.names(8), "true")
        self.assert_told(result, 2, "node1: missing devices")
        self.give_tool(2)
        result = self.run_dlaunch("--rank-table", "auto", "--fake-devices", "4", "-H", self.names(4), "true")
        self.assert_told(result, 2, "expected 8 on each")

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_copies_of_the_table_are_removed_after_every_end(self):
        self.table()
        for victim in ("launcher", "worker", "guardian"):
            with self.subTest(victim=victim):
                job = self.start("--rank-table", "table.json", "sh", "-c", 'echo "$RANK_TABLE_FILE"; exec sleep 1000',
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                copies = {job.stdout.readline().decode().strip() for _ in range(16)}
                self.assertEqual(len(copies), 2)
                self.assertTrue(all(pathlib.Path(copy).exists() for copy in copies))
                if victim == "launcher":
                    job.kill()
                else:
                    agents = oldest_first(self.host(1).find("dlaunch-agent"))
                    os.kill(agents[0 if victim == "guardian" else -1], signal.SIGKILL)
                self.finish(job)
                self.assertTrue(wait_until(lambda: not any(pathlib.Path(copy).parent.exists() for copy in copies), 10), copies)
                self.assert_hosts_clean()


class Bind(Ascend):
    count = 1

    def test_rank_is_bound_near_its_device(self):
        """/sys/bus/pci is a directory of the test. Device 0 is on NUMA node 0, device 1 has no node, the node of device
        2 has no CPUs."""
        self.host(1).sh("mount -t tmpfs none /sys/bus/pci")
        for device, node in ((0, 0), (1, -1), (2, 4000)):
            address = f"0000:c{device}:00.0"
            driver, there = f"/sys/bus/pci/drivers/devdrv_device_driver/{address}", f"/sys/bus/pci/devices/{address}"
            self.host(1).sh(f"mkdir -p {driver} {there}; echo {device} >{driver}/dev_id; echo {node} >{there}/numa_node")
        result = self.run_dlaunch("--bind-to", "device", "--report-bindings", "--devices", "0-2", "-H", "node1:3", "sleep", "0.2")
        self.assert_exit(result, 0)
        self.assert_told(result, 0, "note: node1: the rank of device 1 is not bound: unknown NUMA node; the "
                                    "rank of device 2 is not bound: dlaunch is not allowed to use the CPUs of the NUMA node")
        self.assert_told(result, 0, "rank 0 on node1", "CPUs")
        result = self.run_dlaunch("--bind-to", "device", "--fake-devices", "2", "-n", "2", "true")
        self.assert_told(result, 0, "note:", "the ranks of devices 0-1 are not bound: unknown NUMA node")
        self.assert_told(self.run_dlaunch("--bind-to", "device", "--map-by", "socket", "true"), 2, "--map-by socket conflicts with --bind-to device")


class Make(Ascend):
    def make(self, *args):
        result = self.run_dlaunch("ranktable", "make", *args)
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        path = result.stdout.decode().rstrip("\n")
        return path, json.loads((self.dir / path).read_text())

    def test_make_covers_all_hosts_in_one_call(self):
        (self.dir / "hosts").write_text("node2\nnode1\n")
        path, table = self.make("--hostfile", "hosts")
        self.assertEqual(path, "hccl_2s_16p.json")
        self.assertEqual(table, self.table("expected.json"))
        self.assert_exit(self.run_dlaunch("ranktable", "check", path), 0)
        self.assertEqual(self.make("-H", "node1,node2", "-o", "again.json")[1], table)

    def test_hostfile_and_options_choose_devices(self):
        (self.dir / "hosts").write_text("node1 devices=[4,8)\n")
        path, table = self.make("--hostfile", "hosts")
        self.assertEqual(path, f"hccl_4p_4567_{self.address['node1']}.json")
        self.assertEqual([device["device_id"] for device in table["server_list"][0]["device"]], ["4", "5", "6", "7"])
        path, table = self.make("--hostfile", "hosts", "--device_num", "[0,2)", "--visible_devices", "2,3")
        self.assertEqual(path, f"hccl_2p_01_{self.address['node1']}.json")
        self.assertEqual([device["device_ip"] for device in table["server_list"][0]["device"]], ["192.168.2.1", "192.168.3.1"])

    def test_make_writes_versions_1_2_and_2_0(self):
        self.assertEqual(self.make("-H", "node1,node2", "--version", "1.2")[1]["version"], "1.2")
        for number in (1, 2):
            ranks = [{"device_id": d, "local_id": d, "level_list": [
                {"net_layer": 0, "net_instance_id": f"s{number}", "net_type": "TOPO_FILE_DESC", "net_attr": "",
                 "rank_addr_list": [{"addr_type": "EID", "addr": f"{number:016x}{d:016x}", "ports": ["1/1"], "plane_id": "0"}]}]}
                for d in range(2)]
            (self.bed.dir / "root.json").write_text(json.dumps({"version": "2.0", "rank_list": ranks}))
            self.host(number).sh(f"cp {self.bed.dir}/root.json /root/root.json")
        _, table = self.make("-H", "node1,node2", "--version", "2.0", "--rootinfo", "/root/root.json", "--device_num", "[0,2)")
        self.assertEqual([(rank["rank_id"], rank["device_id"], rank["level_list"][0]["net_instance_id"])
                          for rank in table["rank_list"]], [(0, 0, "s1"), (1, 1, "s1"), (2, 0, "s2"), (3, 1, "s2")])

    def test_make_reports_missing_addresses(self):
        self.host(1).sh("rm /root/bin/hccn_tool")
        self.host(2).sh("printf '#!/bin/sh\nexit 3\n' >/root/bin/hccn_tool")
        result = self.run_dlaunch("ranktable", "make", "-H", "node1,node2")
        self.assert_told(result, 2, "node1: missing address of devices 0-7", "not found in PATH")
        self.assert_told(result, 2, "node2: missing address of devices 0-7", "exited with 3")
        self.host(2).kill_sshd()
        self.assert_told(self.run_dlaunch("ranktable", "make", "-H", "node1,node2"), 125, "node2", "refused")
        self.assert_told(self.run_dlaunch("ranktable", "make", "-H", "node1", "--server_ip", "10.0.0.1"), 2, "--server_ip")
        self.assertEqual([path.name for path in self.dir.glob("*.json")], [])


class Check(Ascend):
    count = 3

    def rows(self, result):
        self.assertTrue(result.stdout, result)
        return [line.split() for line in lines(result.stdout)[1:]]

    def test_check_compares_every_device_with_its_peer(self):
        result = self.run_dlaunch("check", "--ascend", "--devices", "0-7", "-H", "node[1-3]")
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        self.assertEqual(self.rows(result), [["node1", "node2", *["Success"] * 8], ["node2", "node3", *["Success"] * 8],
                                             ["node3", "node1", *["Success"] * 8]])
        peers = [self.host(n).sh("cat /root/peer0 /root/peer7").split() for n in (1, 2, 3)]
        self.assertEqual(peers, [[f"192.168.0.{n}", f"192.168.7.{n}"] for n in (2, 3, 1)])

    def test_check_reports_faults(self):
        self.host(2).sh("printf '192.168.3.3\\n192.168.4.3\\n' >/root/unreachable")
        self.host(3).sh("rm /root/bin/hccn_tool")
        (self.dir / "hosts").write_text("node1 devices=0-7\nnode2 devices=0-7\n")
        self.host(1).sh("printf '192.168.6.2\\n' >/root/unreachable")
        result = self.run_dlaunch("check", "--ascend", "--hostfile", "hosts")
        self.assertEqual(self.rows(result), [["node1", "node2", *["Success"] * 6, "Fault", "Success"],
                                             ["node2", "node1", *["Success"] * 8]])
        self.assert_told(result, 1, "node1: device 6: cannot connect to the devices of node2: Fault")
        self.assertEqual(len(self.host(1).sh("grep ' 6$' /root/asked").splitlines()), 3)
        self.assertEqual(len(self.host(1).sh("grep ' 5$' /root/asked").splitlines()), 1)
        result = self.run_dlaunch("check", "--ascend", "--devices", "3,4", "-H", "node[1-3]", "--format", "json")
        self.assert_exit(result, 1)
        found = json.loads(result.stdout)
        self.assertFalse(found["ok"])
        self.assertEqual([(d["host"], d["device"], d["peer_host"], d["status"]) for d in found["devices"]],
                         [("node1", 3, "node2", "Success"), ("node1", 4, "node2", "Success"), ("node2", 3, "node3", None),
                          ("node2", 4, "node3", None), ("node3", 3, "node1", None), ("node3", 4, "node1", None)])
        self.assertIn("not found in PATH", found["devices"][4]["why_not"])

    def test_check_of_one_host_reads_net_health_only(self):
        self.host(1).sh("echo 192.168.0.9 | tee /root/peer0 >/root/unreachable; echo x >/root/peer1")
        result = self.run_dlaunch("check", "--ascend", "--devices", "0-1", "-H", "node1")
        self.assertEqual(self.rows(result), [["node1", "-", "Fault", "Success"]])
        self.assert_told(result, 1, "node1: device 0: net health: Fault")
        self.assertEqual(self.host(1).sh("cat /root/peer0"), "192.168.0.9\n")

    @promise(NAMES_FIRST, mode=QUERY)
    def test_unreachable_host_and_host_without_devices_are_reported(self):
        self.host(2).kill_sshd()
        result = self.run_dlaunch("check", "--ascend", "--devices", "0", "-H", "node[1-2]")
        self.assert_told(result, 125, "node2", "refused")
        result = self.run_dlaunch("check", "--ascend", "-H", "node1")
        self.assert_told(result, 1, "node1: missing Ascend devices")
        self.assert_told(self.run_dlaunch("--ascend", "-H", "node1", "true"), 2, "--ascend requires check")


if __name__ == "__main__":
    support.main()
