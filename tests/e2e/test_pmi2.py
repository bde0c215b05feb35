"""PMI-2: Slurm's client library over one host and several, what it is told, and what becomes of a client that breaks it."""
import os
import re

import support
from hosts_case import HostsCase, lines
from support import Case, program

CLIENT = program("pmi2_client")
NO_CLIENT = None if os.path.exists(CLIENT) else "no libpmi2 to build pmi2_client with: scripts/install-packages mpi"

PYTHON = "/usr/bin/python3"
OWN = r"""
import os, socket, sys, time
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
pmi = socket.socket(fileno=int(os.environ["PMI_FD"]))
file = pmi.makefile("rb")
def frame(text):
    return b"%6d" % len(text) + text.encode()
def ask(text):
    pmi.sendall(frame(text))
    length = file.read(6)
    return file.read(int(length)).decode() if length else ""
def init():
    pmi.sendall(b"cmd=init pmi_version=2 pmi_subversion=0\n")
    assert file.readline() == b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
    assert f";rank={rank};size={size};" in ask(f"cmd=fullinit;pmirank={rank};threaded=FALSE;")
def finalize():
    assert ask("cmd=finalize;") == "cmd=finalize-response;rc=0;"
"""


def own(script):
    """The words that run it as a rank."""
    return [PYTHON, "-c", OWN + script]


class SlurmsClient(Case):
    def setUp(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        super().setUp()

    def test_one_world(self):
        for how in ("auto", "pmi2", "pmi1"):
            with self.subTest(how):
                out = lines(self.assert_succeeds("--mpi", how, "-n", 4, CLIENT))
                self.assertEqual([re.sub(r"universe \d+", "universe U", line) for line in sorted(out)],
                                 [f"rank {rank} of 4 app 0 spawned 0 universe U mapping (vector,(0,1,4))" for rank in range(4)])

    def test_programs_are_told_apart(self):
        out = lines(self.assert_succeeds("-n", 1, CLIENT, ":", "-n", 2, CLIENT))
        self.assertEqual(sorted(line.split(" spawned")[0] for line in out),
                         ["rank 0 of 3 app 0", "rank 1 of 3 app 1", "rank 2 of 3 app 1"])

    def test_none_makes_singletons(self):
        result = self.run_dlaunch("--mpi", "none", "-n", 2, CLIENT)
        self.assertNotEqual(result.returncode, 0)

    def test_abort_and_leaving_are_failures(self):
        result = self.run_dlaunch("-n", 3, CLIENT, "abort", 1)
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr.decode(), r"rank 1 \(host \S+, pid \d+\) called MPI_Abort with code 1")
        result = self.run_dlaunch("-n", 2, CLIENT, "leave")
        self.assert_exit(result, 1)
        self.assertIn("exited with code 0 after MPI_Init and without MPI_Finalize", result.stderr.decode())

    def test_inside_an_outer_job_of_slurm(self):
        self.assert_succeeds("-n", 2, CLIENT, env={"PMI_FD": "9", "PMI2_CONNECT_TO_SERVER": "1", "PMI_JOBID": "77.0"})


class Hostile(Case):
    """Each ends only itself: the connection is closed, the rank is named, the others go on."""

    BREACHES = {
        "unknown command": ("ask('cmd=make-me-root;')", 'a command that PMI-2 does not have: "cmd=make-me-root;"'),
        "no pair": ("ask('cmd=kvs-get;key;')", "a word that is no pair"),
        "no command": ("ask('key=a;')", "begins with no command"),
        "no end": ("ask('cmd=kvs-get;key=a')", "does not end with ';'"),
        "a line": ("pmi.sendall(b'cmd=get_maxes\\n')", "a PMI frame without its length"),
        "huge": ("pmi.sendall(b'99999 cmd=kvs-put;')", "a PMI frame without its length"),
        "nothing": ("pmi.sendall(b'0     ')", "a PMI frame without its length"),
        "no patience": ("pmi.sendall(frame('cmd=name-lookup;name=x;') + frame('cmd=job-getid;'))", "asked on before it was answered"),
        "fullinit twice": ("ask('cmd=fullinit;')", "said fullinit twice"),
    }

    def test_breaches(self):
        good = own("init()\nopen('go').read()\nfinalize()\nprint('well')")
        for name, (breach, told) in self.BREACHES.items():
            with self.subTest(name):
                (self.dir / "go").write_text("")
                bad = own(f"init()\ntry:\n    {breach}\n    assert file.read() == b''\nexcept (OSError, AssertionError, ValueError): pass\nos._exit(3)")
                result = self.run_dlaunch("--on-failure", "continue", "-n", 1, *bad, ":", "-n", 2, *good)
                self.assert_exit(result, 3)
                self.assertEqual(result.stdout, b"well\nwell\n")
                self.assertIn("rank 0 ", result.stderr.decode())
                self.assertIn(told, result.stderr.decode())

    def test_half_a_frame_is_no_breach(self):
        self.assert_succeeds("-n", 2, *own("init(); finalize()\nif rank: pmi.sendall(b'999   cmd=')"))

    def test_an_attribute_that_nobody_puts_lets_nobody_wait(self):
        result = self.run_dlaunch("--on-failure", "continue", "-n", 2, *own("""
init()
if rank == 1: os._exit(5)
assert ask("cmd=info-getnodeattr;key=a;wait=TRUE;") == ""
os._exit(4)
"""))
        self.assertIn(result.returncode, (4, 5))
        self.assertIn('an attribute of its node that no rank is left to put: "a"', result.stderr.decode())

    def test_spawn_is_answered_with_an_error(self):
        result = self.run_dlaunch("-n", 1, *own("""
init()
print(ask("cmd=spawn;thrid=0x12;ncmds=1;preputcount=0;subcmd=/bin/true;maxprocs=1;argc=0;"))
finalize()
"""))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"cmd=spawn-response;thrid=0x12;rc=14;errmsg=not_supported;\n")
        self.assertIn("called MPI_Comm_spawn", result.stderr.decode())


class OverHosts(HostsCase):
    count = 3

    def test_one_world(self):
        if NO_CLIENT:
            self.skipTest(NO_CLIENT)
        result = self.run_dlaunch("-H", "node1:2,node2:2,node3:1", CLIENT)
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [
            f"rank {rank} of 5 app 0 spawned 0 universe 5 mapping (vector,(0,2,2),(2,1,1))" for rank in range(5)])

    def test_an_attribute_is_the_nodes_own(self):
        result = self.run_dlaunch("-H", "node1:2,node2:1", *own("""
init()
local = int(os.environ["MPI_LOCALRANKID"])
if local: print(rank, ask("cmd=info-getnodeattr;key=a;wait=TRUE;"))
elif rank == 0:
    time.sleep(0.3)
    ask("cmd=info-putnodeattr;key=a;value=here;")
ask("cmd=kvs-fence;")
if rank == 2: print(rank, ask("cmd=info-getnodeattr;key=a;wait=FALSE;"))
finalize()
"""))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["1 cmd=info-getnodeattr-response;found=TRUE;value=here;rc=0;",
                                                        "2 cmd=info-getnodeattr-response;found=FALSE;rc=0;"])

    def test_one_that_dies_in_a_fence_lets_nobody_wait(self):
        result = self.run_dlaunch("--on-failure", "continue", "-H", "node1:2,node2:1", *own("""
init()
if rank == 2: os._exit(5)
assert ask("cmd=kvs-fence;") == ""
os._exit(4)
"""))
        self.assert_exit(result, 5)
        self.assertIn("rank 2 has left MPI, or never entered it", result.stderr.decode())


if __name__ == "__main__":
    support.main()
