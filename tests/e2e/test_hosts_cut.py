"""Tests hosts that fall silent while ranks run, which only the heartbeat detects, and slow or briefly cut links, which
are not lost. Each kind has its own job, and all jobs run in parallel, because each takes the heartbeat timeout of 15 s.
"""
import os
import pathlib
import signal
import subprocess
import time

import support
from hosts_case import HostsCase
from promises import ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, SILENCE, promise
from side_by_side import takes_long
from support import oldest_first, wait_until

HEARTBEAT = 15  # three misses of 5 s
LEASE = ("--pause-limit", 20)  # seconds until an agent ends its ranks without a launcher; by default 10 minutes
SLOW_LINE = pathlib.Path(__file__).resolve().parent.parent / "testbed" / "slow_line.py"
RATE, DELAY = 125_000, 0.2  # 1 Mbit/s, 200 ms each way
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def agent_of(host):
    """The worker, which has the ranks; the other process is its guardian."""
    return oldest_first(host.find("dlaunch-agent"))[-1]


def printer(size):
    return ["sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x"]


@takes_long
class Cut(HostsCase):
    count = 24

    def cuts(self):
        """{number of the job's second host: function that cuts it off}. `head` is the launcher's machine."""
        head = self.bed.head
        return {
            2: lambda host: host.link_down(),
            4: lambda host: head.drop_both_ways(host),
            6: lambda host: host.drop_outgoing(head),
            8: lambda host: head.drop_outgoing(host),
            12: lambda host: os.kill(agent_of(host), signal.SIGSTOP),
        }

    def start_slow_ones(self):
        """Jobs that are slow by themselves, and the number of bytes that each job prints."""
        # Uploads the agents first, which would be slow later.
        self.assert_succeeds("-H", "node19,node20,node23,node24", "true")
        self.host(23).slow_down("1mbit")
        line = f"/usr/bin/python3 {SLOW_LINE} {RATE} {DELAY} ssh -o BatchMode=yes {{host}}"
        long = RATE * (HEARTBEAT + 1)
        read = (self.dir / "read").open("w+b")
        self.addCleanup(read.close)
        return {
            "the kernel's slow link": (self.start("-H", "node23,node24", *printer(200_000), **PIPES), 400_000),
            "a slow and long line": (self.start("--exec", line, "-H", "node19,node20", *printer(long), **PIPES | {"stdout": read}), 2 * long),
            "nobody reads": (self.start("-H", "node15,node16", *printer(5_000_000), **PIPES), 10_000_000),
        }

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, mode=SILENCE)
    def test_silent_host_ends_its_job_and_slow_hosts_do_not(self):
        jobs = {cut: self.sleepers([f"node{cut - 1}", f"node{cut}"], *LEASE, ranks=2) for cut in self.cuts()}
        sound = [self.sleepers([f"node{first}", f"node{first + 1}"]) for first in (9, 13, 21)]
        _, stopped, cut_for_a_while = sound
        stopped_for_long = self.sleepers(["node17", "node18"], *LEASE, ranks=2)
        slow = self.start_slow_ones()
        start = time.monotonic()
        for job in (stopped, stopped_for_long):
            job.send_signal(signal.SIGSTOP)
        self.host(22).link_down()
        for number, cut in self.cuts().items():
            cut(self.host(number))
        time.sleep(5)  # less than HEARTBEAT, after which a host is lost
        self.host(22).link_up()
        time.sleep(3)
        stopped.send_signal(signal.SIGCONT)
        for number, job in jobs.items():
            with self.subTest(cut=f"node{number}"):
                result, _ = self.finish(job, 30)
                # Time for the next heartbeat, the new connection attempt, and a busy machine.
                self.assertLess(time.monotonic() - start, HEARTBEAT + 5 + 8 + 10)
                self.assertGreater(time.monotonic() - start, HEARTBEAT - 6)
                self.assert_told(result, 125, f"node{number}")
                self.assertTrue(wait_until(lambda host=number - 1: not self.host(host).strangers(), 3),
                                self.host(number - 1).strangers())
        self.assertEqual(self.bed.head.find("node2 "), [])
        self.agents_without_a_launcher_end(start)
        self.launcher_stopped_for_long_reports_lost_hosts(stopped_for_long)
        self.healthy_jobs_continue(start, sound, slow)

    def launcher_stopped_for_long_reports_lost_hosts(self, job):
        self.assertIsNone(job.poll())
        job.send_signal(signal.SIGCONT)
        result, took = self.finish(job)
        self.assertLess(took, 8)
        self.assert_told(result, 125, "2 hosts were lost")

    def healthy_jobs_continue(self, start, sound, slow):
        """Healthy: a launcher or a link was stopped for less than the timeout of the other side, a link is slow, or no
        process reads the output of the ranks."""
        self.assertGreater(time.monotonic() - start, HEARTBEAT + 1)
        for name, (job, size) in slow.items():
            with self.subTest(slow=name):
                result, _ = self.finish(job, 30)
                self.assert_exit(result, 0)
                printed = (self.dir / "read").read_bytes() if result.stdout is None else result.stdout
                self.assertEqual(printed.count(b"x"), size)
        for job in sound:
            self.assertIsNone(job.poll())
            job.terminate()
            result, _ = self.finish(job)
            self.assert_exit(result, 143)

    def agents_without_a_launcher_end(self, start):
        """Agents end by themselves, because no message reaches them. A guardian ends a stopped worker."""
        left = HEARTBEAT + 5 + 8 - (time.monotonic() - start)
        hosts = [self.host(number) for number in (*self.cuts(), 17, 18)]
        ours = lambda: {host.name: found for host in hosts if (found := host.find("dlaunch-agent") + host.find("sleep"))}
        wait_until(lambda: not ours(), left, every=0.1)
        self.assertEqual(ours(), {})
        for number in self.cuts():  # their sshd would wait for TCP to time out
            self.host(number).kill_sshd()


if __name__ == "__main__":
    support.main()
