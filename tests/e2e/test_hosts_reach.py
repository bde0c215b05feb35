"""Hosts that are not there yet, that turn connections away, and several that fail at once."""
import subprocess

import support
from hosts_case import HostsCase, interrupt, lines
from support import wait_until


class Waiting(HostsCase):
    def test_a_host_that_comes_up_is_waited_for(self):
        self.host(2).link_down()
        job = self.start("--wait-hosts", "60", "-H", "node1,node2", "uname", "-n", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(self.connects))
        self.host(2).link_up()
        result, _ = self.finish(job, 60)
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["node1", "node2"])

    def test_sshd_that_starts_late_is_waited_for(self):
        self.host(2).kill_sshd()
        job = self.start("-v", "--wait-hosts", "60", "-H", "node1,node2", "uname", "-n", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assert_tried_again(job, "node2")
        self.host(2).start_sshd()
        result, _ = self.finish(job, 30)
        self.assert_exit(result, 0)

    def let_nobody_in(self):
        """Its sshd looks for keys, and finds none before /root/up is there."""
        keys = f"#!/bin/sh\nwhile [ ! -e /root/up ]; do sleep 0.1; done\ncat {self.bed.dir}/authorized_keys\n"
        self.host(2).sh(f"printf '{keys}' >/root/keys; chmod 755 /root/keys")
        self.host(2).kill_sshd()
        self.host(2).start_sshd("AuthorizedKeysFile none", "AuthorizedKeysCommand /root/keys", "AuthorizedKeysCommandUser root")
        return self.start("-v", "--wait-hosts", "60", "-H", "node1,node2", "true", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def test_one_that_is_slow_to_let_in_is_waited_for(self):
        self.bed.head.sh("echo ' ConnectTimeout 2' >>/root/.ssh/config")
        job = self.let_nobody_in()
        self.assert_tried_again(job, "node2: login failed: timed out")
        self.host(2).sh("touch /root/up")
        self.assert_exit(self.finish(job)[0], 0)

    def test_one_that_goes_away_during_the_login_is_waited_for(self):
        job = self.let_nobody_in()
        self.assertTrue(wait_until(lambda: self.host(2).find("/root/keys")))
        self.host(2).kill_sshd()
        self.assert_tried_again(job, "node2: cannot log in as root: Socket error")
        self.host(2).sh("touch /root/up")  # or what looks for keys would stay
        self.host(2).start_sshd()
        self.assert_exit(self.finish(job)[0], 0)

    def test_the_wait_ends(self):
        self.host(2).kill_sshd()
        result = self.run_dlaunch("--wait-hosts", "2", "-H", "node1,node2", "true")
        self.assert_told(result, 125, "node2", "Connection refused")

    def test_what_is_missing_stands_in_the_status_line(self):
        self.host(2).kill_sshd()
        with self.under_pty("--wait-hosts", "60", "-H", "node1,node2", "true") as terminal:
            terminal.read_until(b"starting: waiting for node2")
            interrupt(terminal.job)
            self.assertEqual(terminal.finish()[0], 130)


class Throttled(HostsCase):
    count = 1

    def test_an_sshd_that_turns_away_is_tried_again(self):
        """MaxStartups is used up by connections that say nothing, for a while."""
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
        self.assertIn("trying again", result.stderr.decode())


    def test_an_sshd_that_ends_during_the_login_is_tried_again(self):
        """As one whose process for this connection is killed: it closes the connection without a word."""
        keys = f"#!/bin/sh\nmkdir /root/once && kill -9 $PPID\ncat {self.bed.dir}/authorized_keys\n"
        self.host(1).sh(f"printf '{keys}' >/root/keys; chmod 755 /root/keys")
        self.host(1).kill_sshd()
        self.host(1).start_sshd("AuthorizedKeysFile none", "AuthorizedKeysCommand /root/keys", "AuthorizedKeysCommandUser root")
        result = self.run_dlaunch("-v", "-H", "node1", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertIn("trying again", result.stderr.decode())


class Together(HostsCase):
    count = 4

    def test_all_that_fail_are_named_and_folded(self):
        """And node1 is not, which has its agent: once a host has failed, the others have little time to answer."""
        self.assert_exit(self.run_dlaunch("-H", "node1", "true"), 0)
        for number in (2, 3, 4):
            self.host(number).kill_sshd()
        result = self.run_dlaunch("-H", "node[1-4]", "sleep", "1000")
        self.assert_told(result, 125, "node[2-4]: ", "Connection refused")
        self.assertIn("dlaunch: cannot use 3 hosts", result.stderr.decode())

    def test_two_names_of_one_host_are_said(self):
        result = self.run_dlaunch("--host-key", "off", "-H", f"node1,node2,{self.bed.addresses()['node1']}", "true")
        self.assert_exit(result, 0)
        self.assertIn(f"node1,{self.bed.addresses()['node1']} are names of the same host", result.stderr.decode())


if __name__ == "__main__":
    support.main(side_by_side=3)
