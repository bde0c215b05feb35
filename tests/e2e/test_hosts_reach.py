"""Tests hosts that are not reachable yet, hosts that reject connections, and several hosts that fail at once."""
import subprocess

import support
from hosts_case import HostsCase, interrupt, lines
from promises import ENDS, NAMES_FIRST, START, promise
from support import wait_until


class Waiting(HostsCase):
    def test_wait_hosts_waits_for_a_booting_host(self):
        self.host(2).link_down()
        job = self.start("--wait-hosts", "60", "-H", "node1,node2", "uname", "-n", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(self.connects))
        self.host(2).link_up()
        result, _ = self.finish(job, 60)
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["node1", "node2"])

    def test_wait_hosts_waits_for_a_late_sshd(self):
        self.host(2).kill_sshd()
        job = self.start("-v", "--wait-hosts", "60", "-H", "node1,node2", "uname", "-n", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assert_tried_again(job, "node2")
        self.host(2).start_sshd()
        result, _ = self.finish(job, 30)
        self.assert_exit(result, 0)

    def let_nobody_in(self):
        """The sshd of node2 searches for keys and finds no key before /root/up exists."""
        keys = f"#!/bin/sh\nwhile [ ! -e /root/up ]; do sleep 0.1; done\ncat {self.bed.dir}/authorized_keys\n"
        self.host(2).sh(f"printf '{keys}' >/root/keys; chmod 755 /root/keys")
        self.host(2).kill_sshd()
        self.host(2).start_sshd("AuthorizedKeysFile none", "AuthorizedKeysCommand /root/keys", "AuthorizedKeysCommandUser root")
        return self.start("-v", "--wait-hosts", "60", "-H", "node1,node2", "true", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_wait_hosts_waits_for_a_slow_login(self):
        self.bed.head.sh("echo ' ConnectTimeout 2' >>/root/.ssh/config")
        job = self.let_nobody_in()
        self.assert_tried_again(job, "node2: login failed: timed out")
        self.host(2).sh("touch /root/up")
        self.assert_exit(self.finish(job)[0], 0)

    def test_wait_hosts_survives_a_killed_sshd_during_the_login(self):
        job = self.let_nobody_in()
        self.assertTrue(wait_until(lambda: self.host(2).find("/root/keys")))
        self.host(2).kill_sshd()
        self.assert_tried_again(job, "node2: cannot log in as root: Socket error")
        self.host(2).sh("touch /root/up")  # else the command that searches for keys would remain
        self.host(2).start_sshd()
        self.assert_exit(self.finish(job)[0], 0)

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_wait_hosts_ends_after_its_time(self):
        self.host(2).kill_sshd()
        result = self.run_dlaunch("--wait-hosts", "2", "-H", "node1,node2", "true")
        self.assert_told(result, 125, "node2", "Connection refused")

    def test_status_line_names_missing_hosts(self):
        self.host(2).kill_sshd()
        with self.under_pty("--wait-hosts", "60", "-H", "node1,node2", "true") as terminal:
            terminal.read_until(b"starting: waiting for node2")
            interrupt(terminal.job)
            self.assertEqual(terminal.finish()[0], 130)


class Throttled(HostsCase):
    count = 1

    def test_throttling_sshd_is_tried_again(self):
        """Silent connections use up MaxStartups for a while."""
        self.host(1).kill_sshd()
        self.host(1).start_sshd("MaxStartups 1:100:1", "LoginGraceTime 2")
        hold = "exec 3<>/dev/tcp/node1/22; echo held; exec sleep 1000"
        holder = subprocess.Popen(["bash", "-c", hold], preexec_fn=self.bed.head.enter(), stdout=subprocess.PIPE)
        try:
            self.assertEqual(holder.stdout.readline(), b"held\n")
            result = self.run_dlaunch("-v", "-H", "node1", "uname", "-n")
        finally:
            holder.kill()
            holder.communicate()
        self.assert_exit(result, 0)
        self.assertIn("next attempt in", result.stderr.decode())


    def test_sshd_that_dies_during_the_login_is_tried_again(self):
        """The sshd process of the connection is killed, so that the connection closes without a message."""
        keys = f"#!/bin/sh\nmkdir /root/once && kill -9 $PPID\ncat {self.bed.dir}/authorized_keys\n"
        self.host(1).sh(f"printf '{keys}' >/root/keys; chmod 755 /root/keys")
        self.host(1).kill_sshd()
        self.host(1).start_sshd("AuthorizedKeysFile none", "AuthorizedKeysCommand /root/keys", "AuthorizedKeysCommandUser root")
        result = self.run_dlaunch("-v", "-H", "node1", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertIn("next attempt in", result.stderr.decode())


class Together(HostsCase):
    count = 4

    @promise(NAMES_FIRST, mode=START)
    def test_failed_hosts_are_listed_together(self):
        """node1 already has its agent and is not listed: after the first failure, the other hosts have little time to
        answer."""
        self.assert_exit(self.run_dlaunch("-H", "node1", "true"), 0)
        for number in (2, 3, 4):
            self.host(number).kill_sshd()
        result = self.run_dlaunch("-H", "node[1-4]", "sleep", "1000")
        self.assert_told(result, 125, "node[2-4]: ", "Connection refused")
        self.assertIn("dlaunch: cannot use 3 hosts", result.stderr.decode())

    def test_two_names_of_one_host_are_reported(self):
        result = self.run_dlaunch("--host-key", "off", "-H", f"node1,node2,{self.bed.addresses()['node1']}", "true")
        self.assert_exit(result, 0)
        self.assertIn(f"node1,{self.bed.addresses()['node1']} are names of the same host", result.stderr.decode())


if __name__ == "__main__":
    support.main(side_by_side=3)
