"""Hosts that fall silent while ranks run: no packet says so, only the heartbeat. Every kind of cut is tested at the same
time, each by a job of its own, since each takes the heartbeat's 15 s."""
import os
import signal
import subprocess
import time

import support
from hosts_case import HostsCase
from support import wait_until

HEARTBEAT = 15  # three misses of 5 s


def agent_of(host):
    """The one that has the ranks; the other looks after it."""
    return max(host.find("dlaunch-agent"))


class Cut(HostsCase):
    count = 16

    def cuts(self):
        """{which job's second host: how it is cut}. `head` is the launcher's machine."""
        head = self.bed.head
        return {
            2: lambda host: host.link_down(),
            4: lambda host: head.drop_both_ways(host),
            6: lambda host: host.drop_outgoing(head),
            8: lambda host: head.drop_outgoing(host),
            12: lambda host: os.kill(agent_of(host), signal.SIGSTOP),
        }

    def test_job_ends_and_leaves_nothing(self):
        jobs = {cut: self.sleepers([f"node{cut - 1}", f"node{cut}"], ranks=2) for cut in self.cuts()}
        steady = self.sleepers(["node9", "node10"])
        stopped = self.sleepers(["node13", "node14"])
        unread = self.start("-H", "node15,node16", "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        start = time.monotonic()
        stopped.send_signal(signal.SIGSTOP)
        for number, cut in self.cuts().items():
            cut(self.host(number))
        time.sleep(8)
        stopped.send_signal(signal.SIGCONT)
        for number, job in jobs.items():
            with self.subTest(cut=f"node{number}"):
                result, _ = self.finish(job, 30)
                self.assertLess(time.monotonic() - start, HEARTBEAT + 5 + 10)  # the next beat, and a busy machine
                self.assertGreater(time.monotonic() - start, HEARTBEAT - 6)
                self.assert_told(result, 125, f"node{number}")
                self.assertTrue(wait_until(lambda host=number - 1: not self.host(host).strangers(), 3),
                                self.host(number - 1).strangers())
        self.assertEqual(self.bed.head.find("node2"), [])
        self.agents_of_cut_hosts_give_up(start)
        self.sound_jobs_live_on(start, steady, stopped, unread)

    def sound_jobs_live_on(self, start, steady, stopped, unread):
        """Though a launcher was stopped for less than the agents' patience, or nobody read what ranks print."""
        self.assertGreater(time.monotonic() - start, HEARTBEAT + 1)
        result, _ = self.finish(unread)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout.count(b"x"), 10_000_000)
        for job in (steady, stopped):
            self.assertIsNone(job.poll())
            job.terminate()
            result, _ = self.finish(job)
            self.assert_exit(result, 143)

    def agents_of_cut_hosts_give_up(self, start):
        """By themselves, as nobody can tell them. One that is stopped is ended by its guardian."""
        left = HEARTBEAT + 5 + 8 - (time.monotonic() - start)
        hosts = [self.host(number) for number in self.cuts()]
        ours = lambda: {host.name: found for host in hosts if (found := host.find("dlaunch-agent") + host.find("sleep"))}
        wait_until(lambda: not ours(), left, every=0.1)
        self.assertEqual(ours(), {})
        for host in hosts:  # their sshd would wait for TCP to give up
            host.kill_sshd()


class Suspended(HostsCase):
    def test_short_cut_is_no_loss(self):
        job = self.sleepers(["node1", "node2"])
        self.host(2).link_down()
        time.sleep(5)
        self.host(2).link_up()
        time.sleep(1)
        self.assertIsNone(job.poll())
        job.terminate()
        result, _ = self.finish(job)
        self.assert_exit(result, 143)

    def test_slow_link(self):
        self.host(2).slow_down("1mbit")
        out = self.assert_succeeds("-H", "node1,node2", "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x", timeout=40)
        self.assertEqual(out.count(b"x"), 400000)


if __name__ == "__main__":
    support.main()
