"""Hosts that fall silent while ranks run: no packet says so, only the heartbeat. Every kind of cut is tested at the same
time, each by a job of its own, since each takes the heartbeat's 15 s."""
import time

import support
from hosts_case import HostsCase
from support import wait_until

HEARTBEAT = 15  # three misses of 5 s


class Cut(HostsCase):
    count = 10

    def cuts(self):
        """{which job's second host: how it is cut}. `head` is the launcher's machine."""
        head = self.bed.head
        return {
            2: lambda host: host.link_down(),
            4: lambda host: head.drop_both_ways(host),
            6: lambda host: host.drop_outgoing(head),
            8: lambda host: head.drop_outgoing(host),
        }

    def test_job_ends_and_leaves_nothing(self):
        jobs = {cut: self.sleepers([f"node{cut - 1}", f"node{cut}"], ranks=2) for cut in self.cuts()}
        steady = self.sleepers(["node9", "node10"])
        start = time.monotonic()
        for number, cut in self.cuts().items():
            cut(self.host(number))
        for number, job in jobs.items():
            with self.subTest(cut=f"node{number}"):
                result, _ = self.finish(job, 30)
                self.assertLess(time.monotonic() - start, HEARTBEAT + 5 + 2)
                self.assertGreater(time.monotonic() - start, HEARTBEAT - 6)
                self.assert_told(result, 125, f"node{number}")
                self.assertTrue(wait_until(lambda host=number - 1: not self.host(host).strangers(), 3),
                                self.host(number - 1).strangers())
        self.assertEqual(self.bed.head.find("node2"), [])
        self.agents_of_cut_hosts_give_up(start)
        self.assertIsNone(steady.poll(), "a job on sound hosts must live on")
        steady.terminate()
        self.finish(steady)

    def agents_of_cut_hosts_give_up(self, start):
        """By themselves, as nobody can tell them."""
        left = HEARTBEAT + 5 + 6 - (time.monotonic() - start)
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
