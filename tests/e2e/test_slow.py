"""Tests slow, stopped and time-shifted systems: an sshd that stalls after any byte, a clock that jumps by an hour, lost
packets, suspended processes. DLAUNCH_SLOW=all in the environment tests every byte, and a suspension of a whole minute.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import support
from hosts_case import HostsCase
from promises import CLOCK, COMMAND, DEADLINE, ENDS, HERE, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, SILENCE, promise
from side_by_side import takes_long
from support import TIMEOUT, Case, wait_until
from test_hosts_cut import Cut  # measures time, too, and waits like these tests

ALL = os.environ.get("DLAUNCH_SLOW") == "all"
LINE = pathlib.Path(__file__).resolve().parent.parent / "testbed" / "stalling_line.py"
CONNECT = 2  # ConnectTimeout, seconds for each step of a connection
ANSWER = 30  # seconds for an agent to answer after the connection
SILENT = 20  # seconds until a silent host is lost
STANDS = 60 if ALL else 17  # seconds; longer than the 15 s after which a silent host is lost
JUMP = """\
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, id, now);
  struct timespec since;
  static time_t first;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &since);
  if (first == 0) first = since.tv_sec;
  if (result == 0 && id == CLOCK_REALTIME && since.tv_sec > first) now->tv_sec += HOURS * 3600;
  return result;
}
"""


@takes_long
class StallingSshd(HostsCase):
    count = 1

    def name_lines(self, points):
        """Adds names of node1 on the head: answers to the name after{K} stop after K bytes."""
        config = pathlib.Path(f"/proc/{self.bed.head.pid}/root/root/.ssh/config")
        text = "".join(f"Host after{point}\n  HostName node1\n  HostKeyAlias node1\n  ConnectTimeout {CONNECT}\n"
                       f"  ProxyCommand python3 -B {LINE} {point} {self.dir}/passed{point} %h %p\n" for point in points)
        config.write_text(text + config.read_text().removeprefix(text))

    def run_stalled(self, after):
        """(CompletedProcess, seconds) of a job whose sshd stalls after `after` bytes."""
        with self.start("-H", f"after{after}", "sh", "-c", "echo here; sleep 0.2; echo there", stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            return self.finish(job, CONNECT * 4 + ANSWER + SILENT)

    def passed_whole(self):
        """The number of bytes from sshd in an undisturbed job, with the agent already installed."""
        self.name_lines([1 << 30])
        for _ in range(2):
            result, _ = self.run_stalled(1 << 30)
            self.assert_exit(result, 0)
        return int((self.dir / f"passed{1 << 30}").read_text())

    @promise(ENDS, LOSES_NOTHING, NAMES_FIRST, mode=SILENCE)
    def test_sshd_that_stalls_after_any_byte(self):
        total = self.passed_whole()
        points = range(total - 200) if ALL else sorted({0, 1, 20, *range(45, total - 200, total // 10)})
        self.name_lines(points)
        for start in range(0, len(points), 24):
            self.at_the_same_time(points[start:start + 24])

    def at_the_same_time(self, points):
        results = {}
        threads = [threading.Thread(target=lambda k=k: results.update({k: self.run_stalled(k)})) for k in points]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for after in points:
            with self.subTest(after=after):
                result, seconds = results[after]
                # The end of the ranks has arrived; later messages of the agent may be missing.
                if result.returncode == 0:
                    self.assertEqual(result.stdout, b"here\nthere\n")
                    self.assertRegex(result.stderr, rf"^(dlaunch: processes may be left: after{after}: .*\n)?$".encode())
                else:
                    self.assert_told(result, 125, f"after{after}")
                self.assertLess(seconds, CONNECT + max(ANSWER, SILENT) + 10)


class Clock(Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("cc"):
            self.skipTest("a clock that jumps needs a C compiler")

    def jumping(self, hours):
        """The environment of a launcher whose CLOCK_REALTIME jumps after one second."""
        library = self.dir / f"jump{hours}.so"
        source = self.dir / "jump.c"
        source.write_text(JUMP.replace("HOURS", str(hours)))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        return {"LD_PRELOAD": str(library)}

    @promise(LOSES_NOTHING, mode=CLOCK, place=(HERE, COMMAND))
    def test_clock_jump_does_not_disturb_a_job(self):
        for hours in (1, -1):
            for way in ((), ("--exec", f"env X={{host}} XDG_CACHE_HOME={self.dir}/cache", "-H", "far:2")):
                with self.subTest(hours=hours, way=way):
                    start = time.monotonic()
                    result = self.run_dlaunch(*way, "-n", 2, "--label", "{time} ", "env", "-u", "LD_PRELOAD", "sh", "-c",
                                              "echo a; sleep 2.5; echo b", env=self.jumping(hours))
                    self.assert_exit(result, 0)
                    self.assertEqual(sorted(line.split()[1] for line in result.stdout.splitlines()), [b"a", b"a", b"b", b"b"])
                    self.assertLess(time.monotonic() - start, TIMEOUT - 10)

    @promise(ENDS, mode=(CLOCK, DEADLINE))
    def test_clock_jump_does_not_change_timeouts(self):
        for hours in (1, -1):
            with self.subTest(hours=hours):
                start = time.monotonic()
                result = self.run_dlaunch("-n", 2, "--timeout", 3, "--grace", 1, "sleep", 100, env=self.jumping(hours))
                self.assert_exit(result, 124)
                self.assertGreater(time.monotonic() - start, 2.9)
                self.assertLess(time.monotonic() - start, TIMEOUT - 10)


class LostPackets(HostsCase):
    count = 2

    @promise(LOSES_NOTHING, mode=SILENCE)
    def test_output_is_complete_despite_lost_packets(self):
        """Packets are lost only after the hosts are connected: an unanswered ARP request would make a host unreachable.
        """
        job = self.start("-H", "node1,node2", "sh", "-c", "touch up.$RANK_ID; for i in $(seq 200); do echo $RANK_ID $i; sleep 0.02; done",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: len(list(self.dir.glob("up.*"))) == 2, TIMEOUT))
        losing = threading.Thread(target=self.lose_packets)
        losing.start()
        result, _ = self.finish(job)
        losing.join()
        self.assert_exit(result, 0)
        for rank in range(2):
            own = [line.split()[1] for line in result.stdout.decode().splitlines() if line.startswith(f"{rank} ")]
            self.assertEqual(own, [str(number) for number in range(1, 201)])

    def lose_packets(self):
        """Drops packets half of the time, in short intervals."""
        for _ in range(12):
            for host in (self.host(1), self.host(2)):
                self.bed.head.drop_both_ways(host)
            time.sleep(0.15)
            for host in (self.host(1), self.host(2)):
                self.bed.head.deliver(host)
            time.sleep(0.15)


class Suspended(HostsCase):
    count = 2

    def processes_of_hosts(self):
        """Ranks, agents and sshd's sessions of the hosts."""
        return [pid for pids in self.bed.left().values() for pid in pids]

    @contextlib.contextmanager
    def stopped(self, pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        yield
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def job(self):
        job = self.start("-H", "node1:2,node2:2", "sh", "-c", "echo up; sleep 2; echo on", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4):
            self.assertEqual(job.stdout.readline(), b"up\n")
        return job

    @promise(LOSES_NOTHING, mode=SILENCE)
    def test_suspended_machine_continues_the_job(self):
        """The launcher, agents and ranks are all suspended."""
        job = self.job()
        with self.stopped([job.pid, *self.processes_of_hosts()]):
            time.sleep(STANDS)
        result, _ = self.finish(job)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"on\n" * 4)

    @promise(LOSES_NOTHING, mode=SILENCE)
    def test_briefly_suspended_hosts_continue(self):
        job = self.job()
        with self.stopped(self.processes_of_hosts()):
            time.sleep(8)  # less than the heartbeat timeout of 15 s
        result, _ = self.finish(job)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"on\n" * 4)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=SILENCE)
    def test_hosts_suspended_for_too_long_are_lost(self):
        """The hosts are lost and named. When they continue, no process is left."""
        job = self.job()
        with self.stopped(self.processes_of_hosts()):
            result, seconds = self.finish(job, SILENT + 25)
        self.assert_told(result, 125, "node")
        self.assertLess(seconds, SILENT + 10)


if __name__ == "__main__":
    support.main(side_by_side=5)
