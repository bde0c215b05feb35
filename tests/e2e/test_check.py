"""Tests the query of hosts before the job: slots that no host list sets, `dlaunch hosts`, `dlaunch check`."""
import json
import os
import signal
import subprocess

import support
from hosts_case import HostsCase, interrupt, lines
from promises import ENDS, KILL, LEAVES_NOTHING, NAMES_FIRST, QUERY, SIGNAL, START, promise
from support import until_there, wait_until


class Query(HostsCase):
    count = 3

    def setUp(self):
        super().setUp()
        (self.dir / "hosts").write_text("node1\nnode2\nnode3 slots=1\n")
        self.cpus = len(os.sched_getaffinity(0))

    def narrow(self, number):
        """Restricts the processes of a host's sshd to one CPU. An sshd renames itself to listener some time after it
        listens."""
        listeners = []
        self.assertTrue(wait_until(lambda: listeners.extend(
            pid for pid, line in self.host(number).processes().items() if "[listener]" in line) or listeners))
        for pid in listeners:
            os.sched_setaffinity(pid, {min(os.sched_getaffinity(pid))})

    def connections(self, number):
        return self.host(number).log.read_text().count("Accepted publickey")

    def cut(self, number):
        self.bed.head.drop_outgoing(self.host(number))


class Slots(Query):
    def test_each_host_has_as_many_slots_as_cpus(self):
        self.narrow(2)
        result = self.run_dlaunch("--hostfile", "hosts", "sh", "-c", "uname -n")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["node1"] * self.cpus + ["node2", "node3"])
        self.assertEqual([self.connections(number) for number in (1, 2, 3)], [1, 1, 1])

    @promise(LEAVES_NOTHING, mode=QUERY)
    def test_agents_of_unused_hosts_end(self):
        job = self.start("-n", "1", "--hostfile", "hosts", "sh", "-c", f"uname -n; {until_there('go')}",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), b"node1\n")
        self.assertTrue(wait_until(lambda: not any(self.host(number).find("dlaunch-agent") for number in (2, 3))))
        (self.dir / "go").touch()
        result, _ = self.finish(job)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"")

    def test_star_stands_for_the_cpus_of_the_host(self):
        self.narrow(1)
        self.assertEqual(self.assert_succeeds("-H", "node1:*", "uname", "-n"), b"node1\n")

    def test_star_of_one_program_is_resolved(self):
        self.narrow(2)
        out = self.assert_succeeds("-H", "node1:1", "uname", "-n", ":", "-H", "node2:*", "uname", "-n")
        self.assertEqual(sorted(lines(out)), ["node1", "node2"])

    @promise(LEAVES_NOTHING, mode=QUERY)
    def test_dry_run_queries_hosts_and_leaves_no_process(self):
        self.narrow(2)
        result = self.run_dlaunch("--dry-run", "--format", "json", "--hostfile", "hosts", "true")
        self.assert_exit(result, 0)
        plan = json.loads(result.stdout)
        self.assertEqual([host["slots"] for host in plan["hosts"]], [self.cpus, 1, 1])
        self.assert_hosts_clean()

    def test_hosts_prints_hosts_and_slots(self):
        self.narrow(2)
        result = self.run_dlaunch("hosts", "--hostfile", "hosts")
        self.assert_exit(result, 0)
        rows = [line.split() for line in lines(result.stdout)]
        self.assertEqual([row[:2] for row in rows], [["host", "slots"], ["node1", str(self.cpus)], ["node2", "1"], ["node3", "1"]])
        self.assertIn("hosts:3", rows[3])

    def test_hosts_connects_to_no_host_if_all_slots_are_known(self):
        result = self.run_dlaunch("hosts", "-H", "node1:4,nowhere:2", "--format", "json")
        self.assert_exit(result, 0)
        self.assertEqual([host["slots"] for host in json.loads(result.stdout)["hosts"]], [4, 2])
        self.assertEqual(self.connections(1), 0)

    @promise(NAMES_FIRST, mode=(QUERY, START))
    def test_unreachable_hosts_are_named(self):
        (self.dir / "hosts").write_text("node1\nnowhere\nnode2\n")
        self.host(2).kill_sshd()
        result = self.run_dlaunch("--hostfile", "hosts", "true")
        self.assert_told(result, 125, "cannot use 2 hosts")
        self.assert_told(result, 125, "nowhere")
        self.assert_told(result, 125, "node2", "refused")

    def test_wait_hosts_waits_for_a_booting_host(self):
        self.host(2).kill_sshd()
        job = self.start("-v", "--wait-hosts", "20", "--hostfile", "hosts", "uname", "-n", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assert_tried_again(job, "node2")
        self.host(2).start_sshd()
        result, _ = self.finish(job)
        self.assert_exit(result, 0)
        self.assertIn(b"node2\n", result.stdout)

    @promise(ENDS, LEAVES_NOTHING, mode=(QUERY, SIGNAL))
    def test_interrupt_ends_the_query(self):
        self.cut(2)
        job = self.start("--hostfile", "hosts", "true", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.connections(1) == 1 and self.connections(3) == 1))
        interrupt(job)
        result, took = self.finish(job)
        self.assertLess(took, 6)  # the timeout of a connection is 10 s
        self.assert_told(result, 130, "SIGINT", "no rank was started")
        self.assertEqual(self.bed.head.find("ssh "), [])
        self.assert_hosts_clean()

    @promise(LEAVES_NOTHING, mode=(QUERY, KILL))
    def test_killed_launcher_leaves_no_process(self):
        self.cut(2)
        job = self.start("--hostfile", "hosts", "true", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.host(1).find("dlaunch-agent")))
        job.send_signal(signal.SIGKILL)
        self.finish(job)
        self.assert_hosts_clean()


class Check(Query):
    @promise(LEAVES_NOTHING, mode=QUERY)
    def test_check_succeeds_on_three_hosts(self):
        result = self.run_dlaunch("check", "-H", "node[1-3]", "sh")
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        head, *rows = lines(result.stdout)
        self.assertEqual(head.split()[:4], ["host", "agent", "cpus", "devices"])
        self.assertEqual([row.split()[0] for row in rows], ["node1", "node2", "node3"])
        self.assertTrue(all(row.endswith("all") for row in rows), rows)
        self.assertEqual([self.connections(number) for number in (1, 2, 3)], [1, 1, 1])
        self.assert_hosts_clean()

    @promise(NAMES_FIRST, mode=QUERY)
    def test_check_reports_each_failure(self):
        """A missing directory on one host, a missing program on another, an unknown name on the third."""
        empty = self.bed.dir / "empty"
        empty.mkdir()
        here = self.dir / "here"
        here.mkdir()
        self.host(1).sh(f"mount --bind {empty} {self.dir}")
        for number in (1, 3):
            self.host(number).sh("printf '#!/bin/sh\n' >/root/tool; chmod +x /root/tool")
        known = "".join(f"{address} {name}\n" for name, address in self.bed.addresses().items() if name != "node2")
        (self.bed.dir / "fewer").write_text(known)
        self.host(3).sh(f"mount --bind {self.bed.dir}/fewer /etc/hosts")
        self.narrow(3)
        result = self.run_dlaunch("check", "-x", "PATH=/usr/bin:/bin:/root", "-H", "node[1-3]", "tool", cwd=here)
        self.assert_told(result, 1, "node1: cannot enter the working directory", str(here), "No such file")
        self.assert_told(result, 1, 'node2: program "tool": not found in PATH')
        self.assert_told(result, 1, "node3: cannot resolve node2")
        result = self.run_dlaunch("check", "-x", "PATH=/usr/bin:/bin:/root", "-H", "node[1-3]", "--format", "json", "tool",
                                  cwd=here)
        self.assert_exit(result, 1)
        found = json.loads(result.stdout)
        self.assertFalse(found["ok"])
        hosts = {host["name"]: host for host in found["hosts"]}
        self.assertEqual(hosts["node3"]["cpus"], 1)
        self.assertEqual(hosts["node3"]["addresses_of"], {"node1": self.bed.addresses()["node1"], "node2": None,
                                                         "node3": self.bed.addresses()["node3"]})
        self.assertEqual(hosts["node1"]["programs"][0]["found"], "/root/tool")
        self.assertEqual(sorted(sum((each["hosts"] for each in found["findings"]), [])), ["node1", "node2", "node3"])
        self.assertLess(abs(hosts["node2"]["clock_offset_s"]) - hosts["node2"]["clock_error_s"], 1)

    def test_each_program_is_checked_on_its_own_hosts(self):
        self.host(2).sh("printf '#!/bin/sh\n' >/root/tool; chmod +x /root/tool")
        result = self.run_dlaunch("check", "-H", "node1", "sh", ":", "-H", "node2", "/root/tool")
        self.assert_exit(result, 0)
        rows = {line.split()[0]: line for line in lines(result.stdout)}
        self.assertIn("/root/tool", rows["node2"])
        self.assertNotIn("/root/tool", rows["node1"])

    def test_script_is_checked_on_every_host(self):
        """The directory of the script is empty on one host."""
        (self.dir / "train.py").write_text("")
        empty = self.bed.dir / "empty"
        empty.mkdir()
        self.host(2).sh(f"mount --bind {empty} {self.dir}")
        result = self.run_dlaunch("check", "-H", "node[1-3]", "python3", "-u", "train.py", "--epochs", "3")
        self.assert_told(result, 1, f"node2: cannot read train.py (from {self.dir}): No such file")
        rows = {line.split()[0]: line for line in lines(result.stdout)}
        self.assertEqual(rows["host"].split()[5:7], ["program", "script"])
        self.assertEqual([rows[f"node{number}"].split()[6] for number in (1, 2, 3)], ["yes", "no", "yes"])
        result = self.run_dlaunch("check", "-H", "node[1-3]", "--format", "json", "python3", "train.py")
        self.assert_exit(result, 1)
        scripts = [host["scripts"] for host in json.loads(result.stdout)["hosts"]]
        self.assertEqual(scripts[0], [{"name": "train.py", "found": f"{self.dir}/train.py"}])
        self.assertIsNone(scripts[1][0]["found"])
        result = self.run_dlaunch("check", "-H", "node2", "--wdir", "/", "sh", "etc/passwd")
        self.assert_exit(result, 0)

    def test_script_of_ranks_with_rank_dirs_must_be_staged(self):
        (self.dir / "train.py").write_text("")
        check = ["check", "-H", "node1", "--rank-dir", "run{rank}", "python3"]
        self.assert_told(self.run_dlaunch(*check, "train.py"), 1, "train.py is not in --stage")
        self.assert_exit(self.run_dlaunch(*check, "../train.py"), 0)
        self.assert_told(self.run_dlaunch(*check, "../other.py"), 1, "cannot read other.py")
        self.assert_exit(self.run_dlaunch("check", "--stage", "*.py", *check[1:], "train.py"), 0)

    def test_misspelt_variable_is_reported(self):
        result = self.run_dlaunch("check", "-H", "node1", env={"DLAUNCH_GRCE": "4"})
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"dlaunch: note: DLAUNCH_GRCE has no effect: unknown option; use DLAUNCH_GRACE\n")

    @promise(NAMES_FIRST, mode=(QUERY, START))
    def test_unreachable_host_is_reported(self):
        self.host(2).kill_sshd()
        result = self.run_dlaunch("check", "-H", "node[1-3]")
        self.assert_told(result, 125, "node2", "refused")
        rows = {line.split()[0]: line for line in lines(result.stdout)}
        self.assertIn("not reached", rows["node2"])
        self.assertTrue(rows["node1"].endswith("all"), rows)

    def test_two_names_of_one_host_are_reported(self):
        address = self.bed.addresses()["node1"]
        self.bed.head.sh(f"sed -n 's/^node1 /{address} /p' /root/.ssh/known_hosts >>/root/.ssh/known_hosts")
        result = self.run_dlaunch("check", "-H", f"node1,{address}")
        self.assert_told(result, 0, "note:", "node1", address, "names of the same host")

    def test_program_named_check_can_be_run(self):
        (self.dir / "check").write_text("#!/bin/sh\necho it ran\n")
        (self.dir / "check").chmod(0o755)
        path = {"PATH": f"{self.dir}:{os.environ['PATH']}"}
        for args in (["./check"], ["--", "check"], ["-n", "1", "check"]):
            result = self.run_dlaunch(*args, env=path)
            self.assertIn(b"it ran\n", result.stdout, args)


if __name__ == "__main__":
    support.main()
