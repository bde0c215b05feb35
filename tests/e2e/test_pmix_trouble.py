"""Tests failures with PMIx: clients that violate the protocol or exit early, a server that dies or cannot start, and
jobs of Open MPI over several hosts that are ended from outside."""
import os
import re
import signal

import mpi_case
import support
from hosts_case import HostsCase, lines
from openmpi_case import PYTHON, OpenMpi, OpenMpiCase, openmpi
from promises import ATTACK, ENDS, KILL, MPI, NAMES_FIRST, START, promise
from support import program

CLIENT = program("pmix_client")
LIBRARY = "/usr/lib/x86_64-linux-gnu/pmix2"

# Rank 1 records the greeting of an honest client, sends bytes made by `saying` to the server, and keeps the connection.
# Then it runs another program: the honest client, as the other ranks do, or `then`.
HOSTILE = r"""
import os, random, socket, struct, subprocess, sys, time
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
    return struct.pack("!iII4x", 0, tag, len(body) if size is None else size) + body
def servers_memory():
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try: status = dict(line.split(":", 1) for line in open(f"/proc/{entry}/status"))
        except OSError: continue
        if int(status["PPid"]) == os.getppid() and status["Name"].strip() == "dlaunch-pmix":
            return int(status["VmHWM"].split()[0]) // 1024
server = socket.create_connection(("127.0.0.1", port))
server.settimeout(10)  # for an answer on a busy machine
try:
    {saying}
    server.settimeout(0.3)
    while server.recv(65536): pass
except OSError: pass
server.set_inheritable(True)
os.execvp({then}[0], {then})
"""


class Clients(OpenMpiCase):
    def hostile(self, saying, *options, then="client"):
        script = HOSTILE.replace("{saying}", saying).replace("{then}", then)
        return self.run_dlaunch("--timeout", 20, *options, "-n", 3, PYTHON, "-c", script, CLIENT, "fence", 64)

    @promise(ENDS, mode=(ATTACK, MPI))
    def test_invalid_greeting_does_not_block_the_job(self):
        for saying in ("server.sendall(greeting[:-10])", "server.sendall(greeting[:8] + struct.pack('=Q', 1 << 40) + greeting[16:])",
                       "server.sendall(name + noise(5000))", "server.sendall(greeting[:16] + name + noise(5000))",
                       "server.sendall(struct.pack('=iIQ', -1, 2**32 - 1, 0) + name)"):
            with self.subTest(saying):
                result = self.hostile(saying)
                self.assert_exit(result, 0)
                self.assertEqual(sorted(lines(result.stdout)), [f"rank {rank}: fence: SUCCESS" for rank in range(3)])

    @promise(ENDS, NAMES_FIRST, mode=(ATTACK, MPI))
    def test_junk_after_a_greeting_ends_the_job_only_with_a_reason(self):
        """libpmix decides what the junk means. The job continues or ends soon with a reason."""
        for saying in ("noise(5000)", "frame(0, b'x' * 100, 2**32 - 1)", "frame(1, bytes(1 << 20))",
                       "b''.join(frame(n % 4 * 33, noise(n)) for n in range(200))",
                       "b''.join(frame(100 + n, bytes([n % 40]) + noise(n)) for n in range(200))"):
            with self.subTest(saying):
                result = self.hostile(f"server.sendall(greeting); server.recv(4); server.sendall({saying})", then="['true']")
                self.assertNotEqual(result.returncode, 124, result)
                if result.returncode:
                    self.assertRegex(support.cause(result.stderr), r"^dlaunch: (rank \d .* (exited|killed)|a host was lost .* no PMIx)")

    @promise(ENDS, mode=(ATTACK, MPI))
    def test_huge_length_allocates_no_memory(self):
        # The allocation would happen within this second. No event shows that libpmix has read the length.
        result = self.hostile("server.sendall(greeting); server.recv(4); server.sendall(frame(0, b'', 3 << 30)); time.sleep(1);"
                              "print('MiB', servers_memory(), flush=True)", "--on-failure", "continue", then="['true']")
        self.assertNotEqual(result.returncode, 124, result)
        memory = re.search(rb"MiB (\d+)", result.stdout)
        self.assertTrue(memory, result)
        self.assertLess(int(memory[1]), 300, result)

    @promise(ENDS, mode=(START, MPI))
    def test_server_without_its_threads_ends_the_job(self):
        """With one of these limits, libpmix has no thread that accepts connections, and does not report the failure."""
        self.dir.chmod(0o777)
        for limit in range(15, 19):
            with self.subTest(limit):
                result = self.run_dlaunch("--timeout", 25, "-n", 4, openmpi("mpi_hello"),
                                          before=[*support.NOBODY, "prlimit", f"--nproc={limit}"])
                self.assertNotEqual(result.returncode, 124, result)


class Hosts(OpenMpi, mpi_case.EndedFromOutside, HostsCase):
    count = 2
    shares_files = True

    @promise(NAMES_FIRST, mode=MPI)
    def test_fence_above_the_size_limit_fails(self):
        result = self.run_dlaunch("--timeout", 20, "-H", "node1,node2", CLIENT, "fence", 4096)
        self.assert_exit(result, 0)
        result = self.run_dlaunch("--timeout", 20, "-H", "node1,node2", CLIENT, "fence", 9000)
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr.decode(), r"node\d: the ranks of this host put 9\d{6} bytes into an MPI fence; the limit of a host is 8 MiB")
        self.assertRegex(result.stdout.decode(), r"rank \d: fence: NO-MEM")

    @promise(ENDS, NAMES_FIRST, mode=(KILL, MPI))
    def test_killed_server_on_a_host_ends_the_job(self):
        job = self.staying()
        server, = self.host(2).find("dlaunch-pmix")
        os.kill(server, signal.SIGKILL)
        result, seconds = self.finish(job)
        self.assert_exit(result, 125)
        self.assertRegex(support.cause(result.stderr), r"^dlaunch: a host was lost .*node2: PMIx is not available: dlaunch-pmix killed by signal 9")
        self.assertLess(seconds, 10)

    @promise(NAMES_FIRST, mode=(START, MPI))
    def test_host_without_libpmix_is_reported(self):
        self.host(2).sh(f"mount -t tmpfs none {LIBRARY}")
        result = self.run_dlaunch("-H", "node1,node2", openmpi("mpi_hello"))
        self.assert_exit(result, 125)
        self.assertRegex(result.stderr.decode(), r"node2: PMIx is not available: dlaunch-pmix exited with code 127: .*libpmix")
        self.assertIn("install libpmix", result.stderr.decode())


if __name__ == "__main__":
    support.main(side_by_side=3)
