"""Tests the testbed: hosts are separate, links can be cut and restored, and nothing is left."""
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from testbed import Testbed, why_not  # noqa: E402

SKIPPED = 77


def links():
    return sorted(os.listdir("/sys/class/net"))


class OneBed(unittest.TestCase):
    def setUp(self):
        self.bed = Testbed(2, shells={"node2": "/bin/dash"})
        self.bed.__enter__()
        self.addCleanup(self.bed.close)

    def answers(self, name):
        """Whether a TCP connection to sshd of the host works."""
        script = "import socket,sys; s = socket.create_connection((sys.argv[1], 22), 1); s.settimeout(1); print(s.recv(4))"
        return self.bed.head.run(["/usr/bin/python3", "-c", script, name]).returncode == 0

    def test_ssh_works_without_output_of_its_own(self):
        done = self.bed.head.run(["ssh", "-o", "BatchMode=yes", "node2", "uname -n; ls -A ~; echo $0"])
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("node2\ndash\n", "", 0))

    def test_hosts_see_their_own_processes_only(self):
        self.assertIn("sshd", self.bed["node1"].sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"))
        self.assertLess(len(self.bed["node1"].sh("ls -d /proc/[0-9]*").split()), 6)

    def test_processes_of_a_test_are_found(self):
        host = self.bed["node1"]
        self.assertEqual(self.bed.left(), {})
        with subprocess.Popen(host.command(["sleep", "1000"])) as started:
            deadline = time.monotonic() + 5
            while not host.find("sleep 1000") and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(list(self.bed.left()), ["node1"])
            for pid in host.find("sleep 1000"):
                os.kill(pid, 9)
            started.wait()

    def test_links_are_cut_and_restored(self):
        head, host = self.bed.head, self.bed["node1"]
        ways = {"link": (host.link_down, host.link_up),
                "both ways": (lambda: head.drop_both_ways(host), lambda: head.deliver(host)),
                "there": (lambda: head.drop_outgoing(host), lambda: head.lose_nothing(host)),
                "back": (lambda: host.drop_outgoing(head), lambda: host.lose_nothing(head))}
        for name, (cut, mend) in ways.items():
            with self.subTest(way=name):
                self.assertTrue(self.answers("node1"))
                cut()
                self.assertFalse(self.answers("node1"))
                self.assertTrue(self.answers("node2"))
                mend()
                self.assertTrue(self.answers("node1"))

    def test_host_without_sshd_refuses_connections(self):
        self.bed["node1"].kill_sshd()
        self.assertFalse(self.answers("node1"))

    def test_machine_is_unchanged(self):
        host_name, before = socket.gethostname(), links()
        self.bed.close()
        self.assertEqual((socket.gethostname(), links()), (host_name, before))


class Ends(unittest.TestCase):
    def test_killed_test_leaves_no_process(self):
        script = ("import os, sys; sys.path.insert(0, sys.argv[1]); import testbed\n"
                  "with testbed.Testbed(2) as bed:\n"
                  "    print(*(h.pid for h in [bed.head, *bed.hosts.values()]), bed.dir, flush=True); os.kill(os.getpid(), 9)")
        done = subprocess.run([sys.executable, "-c", script, str(pathlib.Path(__file__).resolve().parent)],
                              capture_output=True, text=True, check=False)
        *pids, directory = done.stdout.split()
        self.addCleanup(subprocess.run, ["rm", "-rf", directory], check=False)
        self.assertEqual(len(pids), 3)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            alive = [pid for pid in pids if os.path.exists(f"/proc/{pid}/ns/net") and "testbed" in
                     pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
            if not alive:
                break
            time.sleep(0.02)
        self.assertEqual(alive, [])

    def test_64_hosts_start(self):
        with Testbed(64) as bed:
            self.assertEqual(bed.head.run(["ssh", "node64", "uname -n"]).stdout, "node64\n")


if __name__ == "__main__":
    if reason := why_not():
        print(reason)
        sys.exit(1 if os.environ.get("NO_SKIP") else SKIPPED)
    unittest.main(verbosity=2)
