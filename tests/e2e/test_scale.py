"""Tests many hosts, which are this machine through --exec: each has a real agent, and the numbers of hosts are near
limits and buffer sizes. SCALE=all adds slower numbers; scripts/soak runs them."""
import os
import resource
import signal
import subprocess

import support
from promises import COMMAND, ENDS, FAILURE, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RUN, START, promise
from support import SANITIZED, Case, sh

EVERYDAY = [1, 2, 63, 64, 65, 128, 129, 257, 1025]
ALL = [1, 2, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257, 1023, 1024, 1025, 2049]
FEW = [1, 2, 63, 64, 65]  # agents with sanitizers are large
COUNTS = FEW if SANITIZED else ALL if os.environ.get("SCALE") == "all" else EVERYDAY
MANY = max(FEW) if SANITIZED else 129
EXEC = ("--exec", "env HOST={host}")


def open_files(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


class ManyHosts(Case):
    place = COMMAND
    leaves = 30

    def names(self, count):
        return [f"node{number}" for number in range(count)]

    def on(self, count, slots=1):
        """The options for `count` hosts."""
        (self.dir / "hosts").write_text("".join(f"{name} slots={slots}\n" for name in self.names(count)))
        return [*EXEC, "--hostfile", "hosts"]

    @promise(LEAVES_NOTHING, LOSES_NOTHING, mode=RUN)
    def test_every_rank_prints(self):
        for count in COUNTS:
            with self.subTest(hosts=count):
                result = self.run_dlaunch(*self.on(count), *sh("echo $DLAUNCH_HOST"), timeout=60)
                self.assert_exit(result, 0)
                self.assertEqual(sorted(result.stdout.decode().split("\n")[:-1]), sorted(self.names(count)))
                self.assert_nothing_left()

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        script = "i=0; while [ $i -lt 200 ]; do echo $DLAUNCH_RANK $i; i=$((i+1)); done"
        result = self.run_dlaunch(*self.on(MANY), *sh(script))
        self.assert_exit(result, 0)
        seen = {}
        for line in result.stdout.decode().splitlines():
            rank, number = line.split()
            seen.setdefault(int(rank), []).append(int(number))
        self.assertEqual(sorted(seen), list(range(MANY)))
        self.assertTrue(all(numbers == list(range(200)) for numbers in seen.values()))

    def test_several_ranks_per_host(self):
        result = self.run_dlaunch(*self.on(FEW[-1], slots=4), "-n", FEW[-1] * 4, *sh("echo $DLAUNCH_RANK"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(map(int, result.stdout.split())), list(range(FEW[-1] * 4)))

    @promise(ENDS, NAMES_FIRST, mode=FAILURE)
    def test_failed_rank_of_many_is_named(self):
        result = self.run_dlaunch(*self.on(MANY), *sh(f'[ "$DLAUNCH_RANK" != {MANY - 1} ] || exit 7; exec sleep 1000'))
        self.assert_exit(result, 7)
        self.assertIn(f"rank {MANY - 1} (host node{MANY - 1}", result.stderr.decode())

    @promise(NAMES_FIRST, mode=START)
    def test_unreachable_host_of_many_is_named(self):
        self.on(MANY)
        exec_but_one = """sh -c '[ "$0" != node7 ] && exec "$@"' {host}"""
        result = self.run_dlaunch("--exec", exec_but_one, "--hostfile", "hosts", "touch", "started")
        self.assert_exit(result, 125)
        self.assertRegex(result.stderr.decode(), r"(?m)^dlaunch: (cannot use a host: )?node7: ")
        self.assertFalse((self.dir / "started").exists())

    @promise(NAMES_FIRST, mode=START)
    def test_unreachable_hosts_are_reported_in_few_lines(self):
        self.on(MANY)
        result = self.run_dlaunch("--exec", "echo no such cluster >&2; false", "--hostfile", "hosts", "true")
        self.assert_exit(result, 125)
        self.assertIn(f"dlaunch: node[0-{MANY - 1}]: ", result.stderr.decode())
        self.assertLess(len(result.stderr.splitlines()), 10)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_killed_launcher_leaves_no_process(self):
        job = self.start(*self.on(MANY), *sh("echo up; exec sleep 1000"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with job.stdout:
            for _ in range(MANY):
                self.assertEqual(job.stdout.readline(), b"up\n")
        job.kill()
        self.assertEqual(job.wait(), -signal.SIGKILL)
        self.assert_nothing_left()

    def test_too_few_descriptors_are_rejected_before_the_start(self):
        result = self.run_dlaunch(*self.on(200), "touch", "started", preexec_fn=open_files(256))
        self.assert_exit(result, 2)
        self.assertRegex(result.stderr.decode(), r"200 ranks on 200 hosts require \d+, the hard limit is 256")
        self.assertFalse((self.dir / "started").exists())

    def test_descriptors_are_released(self):
        """The required number of descriptors is enough: those of connected hosts, and those of 64 hosts during their
        connection."""
        result = self.run_dlaunch(*self.on(200), "true", preexec_fn=open_files(800))
        self.assert_exit(result, 0)


if __name__ == "__main__":
    support.main()
