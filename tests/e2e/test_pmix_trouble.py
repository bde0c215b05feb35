"""PMIx when things go wrong: clients that break it or leave in its midst, a server that dies or cannot start, on this
host and on others, and jobs of Open MPI over several hosts that are ended from outside."""
import os
import re
import signal
import subprocess

import support
from hosts_case import HostsCase, interrupt, lines
from openmpi_case import PYTHON, OpenMpi, OpenMpiCase, openmpi
from support import program, wait_until

CLIENT = program("pmix_client")
LIBRARY = "/usr/lib/x86_64-linux-gnu/pmix2"

# Rank 1 learns from an honest client how one begins, says that to the server with what `saying` makes of it, keeps the
# connection, and is an honest client, as the others are, from then on.
HOSTILE = r"""
import os, random, socket, struct, subprocess, sys
client = sys.argv[1:]
if os.environ["PMIX_RANK"] != "1":
    os.execv(client[0], client)
port = int(os.environ["PMIX_SERVER_URI41"].rsplit(":", 1)[1])
ear = socket.create_server(("127.0.0.1", 0))
env = {name: value.replace(f":{port}", f":{ear.getsockname()[1]}") for name, value in os.environ.items()}
honest = subprocess.Popen([client[0], "hello"], env=env, stdout=subprocess.DEVNULL)
voice = ear.accept()[0]
greeting = voice.recv(16)
while len(greeting) < 16 + struct.unpack("=8xQ", greeting[:16])[0]:
    greeting += voice.recv(65536)
honest.kill()
honest.wait()
name = os.environ["PMIX_NAMESPACE"].encode()
noise = random.Random(1).randbytes
def frame(tag, body, size=None):
    return struct.pack("!iIQ", 0, tag, len(body) if size is None else size) + body
server = socket.create_connection(("127.0.0.1", port))
server.settimeout(0.3)
try:
    {saying}
    while server.recv(65536): pass
except OSError: pass
server.set_inheritable(True)
os.execv(client[0], client)
"""


class Clients(OpenMpiCase):
    def hostile(self, saying):
        script = HOSTILE.replace("{saying}", saying)
        return self.run_dlaunch("--timeout", 20, "-n", 3, PYTHON, "-c", script, CLIENT, "fence", 64)

    def test_one_that_says_less_or_other_than_a_greeting_keeps_nobody_waiting(self):
        for saying in ("server.sendall(greeting[:-10])", "server.sendall(greeting[:8] + struct.pack('=Q', 1 << 40) + greeting[16:])",
                       "server.sendall(name + noise(5000))", "server.sendall(greeting[:16] + name + noise(5000))",
                       "server.sendall(struct.pack('=iIQ', -1, 2**32 - 1, 0) + name)"):
            with self.subTest(saying):
                result = self.hostile(saying)
                self.assert_exit(result, 0)
                self.assertEqual(sorted(lines(result.stdout)), [f"rank {rank}: fence: SUCCESS" for rank in range(3)])

    def test_junk_after_a_greeting_ends_nothing_or_the_job_with_a_reason(self):
        """What libpmix makes of it is its own; that of all others goes on or ends, soon, and it is said why."""
        for saying in ("noise(5000)", "frame(0, b'x' * 100, 1 << 40)", "frame(1, bytes(1 << 20))",
                       "b''.join(frame(n % 4 * 33, noise(n)) for n in range(200))",
                       "b''.join(frame(100 + n, bytes([n % 40]) + noise(n)) for n in range(200))"):
            with self.subTest(saying):
                result = self.hostile(f"server.sendall(greeting); server.recv(4); server.sendall({saying})")
                self.assertNotEqual(result.returncode, 124, result)
                if result.returncode:
                    self.assertRegex(lines(result.stderr)[-1], r"^dlaunch: (rank \d .* (exited|killed)|a host was lost .* no PMIx)")

    def test_one_that_leaves_in_the_middle_of_a_fence(self):
        for code, said in ((0, "exited with code 0 after MPI_Init and without MPI_Finalize"), (3, "exited with code 3")):
            with self.subTest(code):
                result = self.run_dlaunch("--timeout", 20, "-n", 3, CLIENT, "early", 1, code)
                self.assert_exit(result, code or 1)
                self.assertRegex(lines(result.stderr)[-1], rf"^dlaunch: rank 1 \(host \S+, pid \d+\) {said}")

    def test_nobody_waits_for_it_where_failures_do_not_end_the_job(self):
        result = self.run_dlaunch("--timeout", 20, "--on-failure", "continue", "-n", 3, CLIENT, "early", 1, 3)
        self.assert_exit(result, 3)
        self.assertEqual(len(re.findall(rb"^rank [02]: fence: ", result.stdout, re.M)), 2, result)


class Hosts(OpenMpi, HostsCase):
    count = 2

    def setUp(self):
        super().setUp()
        self.before = set(self.left_behind())

    def tearDown(self):
        super().tearDown()
        wait_until(lambda: self.left_behind() <= self.before, 10, every=0.1)
        self.assertEqual(self.left_behind() - self.before, set())

    def left_behind(self):
        """Directories of jobs, and memory of Open MPI's, on any host. /tmp is one for all, and other tests' too."""
        hosts = [self.bed.head, self.host(1), self.host(2)]
        return {(host.name, path) for host in hosts
                for path in host.sh("ls -d /tmp/dlaunch-???????????????? /dev/shm/* 2>/dev/null || true").split()}

    def staying(self, *options):
        """A job with two ranks on each host, all in MPI."""
        job = self.start(*options, "-H", "node1:2,node2:2", openmpi("mpi_leave"), "stay", "all",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4):
            if job.stdout.readline() != b"up\n":
                job.kill()
                self.fail(job.communicate()[1].decode())
        self.assertTrue(any("/dev/shm/" in path for host, path in self.left_behind() - self.before if host == "node2"))
        return job

    def test_a_fence_that_carries_too_much(self):
        result = self.run_dlaunch("--timeout", 20, "-H", "node1,node2", CLIENT, "fence", 4096)
        self.assert_exit(result, 0)
        result = self.run_dlaunch("--timeout", 20, "-H", "node1,node2", CLIENT, "fence", 9000)
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr.decode(), r"node\d: the ranks here put 9\d{6} bytes before an MPI fence; a host may put 8 MiB")
        self.assertRegex(result.stdout.decode(), r"rank \d: fence: NO-MEM")

    def test_one_that_leaves_in_the_middle_of_a_fence(self):
        result = self.run_dlaunch("--timeout", 20, "--on-failure", "continue", "-H", "node1,node2:2", CLIENT, "early", 1, 3)
        self.assert_exit(result, 3)
        self.assertEqual(len(re.findall(rb"^rank [02]: fence: ", result.stdout, re.M)), 2, result)

    def test_a_server_that_is_killed_on_another_host(self):
        job = self.staying()
        server, = self.host(2).find("dlaunch-pmix")
        os.kill(server, signal.SIGKILL)
        result, seconds = self.finish(job)
        self.assert_exit(result, 125)
        self.assertRegex(lines(result.stderr)[-1], r"^dlaunch: a host was lost .*node2: no PMIx for MPI programs: dlaunch-pmix killed by signal 9")
        self.assertLess(seconds, 10)

    def test_another_host_without_libpmix(self):
        self.host(2).sh(f"mount -t tmpfs none {LIBRARY}")
        result = self.run_dlaunch("-H", "node1,node2", openmpi("mpi_hello"))
        self.assert_exit(result, 125)
        self.assertRegex(result.stderr.decode(), r"node2: no PMIx for MPI programs: dlaunch-pmix exited with code 127: .*libpmix")
        self.assertIn("install libpmix", lines(result.stderr)[-1])

    def test_a_job_that_is_ended_leaves_nothing(self):
        for name, end, code in (("Ctrl-C", interrupt, 130), ("kill -9", lambda job: job.kill(), -signal.SIGKILL)):
            with self.subTest(name):
                job = self.staying()
                end(job)
                result, seconds = self.finish(job)
                self.assert_exit(result, code)
                self.assertLess(seconds, 10)
                self.assert_all_gone()

    def test_a_time_limit_leaves_nothing(self):
        job = self.staying("--timeout", 3)
        result, _ = self.finish(job)
        self.assert_exit(result, 124)
        self.assert_all_gone()

    def assert_all_gone(self):
        self.assert_hosts_clean()
        wait_until(lambda: self.left_behind() <= self.before, 10, every=0.1)
        self.assertEqual(self.left_behind() - self.before, set())


if __name__ == "__main__":
    support.main()
