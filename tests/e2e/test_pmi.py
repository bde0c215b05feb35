"""Tests PMI-1 with the test clients of pmi_client.py: answers, several hosts, and clients that violate the protocol.
test_pmi2.py tests PMI-2."""
import pmi_case
import support
from hosts_case import HostsCase, lines
from pmi_client import PYTHON, client
from promises import ATTACK, ENDS, MPI, NAMES_FIRST, promise
from support import Case


class Promises(pmi_case.OneHost, Case):
    dialect = pmi_case.PMI1


class PromisesOverHosts(pmi_case.SeveralHosts, HostsCase):
    dialect = pmi_case.PMI1


class Answers(Case):
    def test_maxes_appnum_and_universe_size(self):
        out = self.assert_succeeds("-n", 1, "true", ":", "-n", 1, *client("""
init()
for command in ("get_maxes", "get_appnum", "get_universe_size"): sys.stdout.write(ask("cmd=" + command))
finalize()
""")).decode().splitlines()
        self.assertEqual(out[:2], ["cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", "cmd=appnum appnum=1"])
        self.assertRegex(out[2], r"^cmd=universe_size size=\d+$")

    def test_invalid_requests_get_an_error(self):
        out = self.assert_succeeds("-n", 1, *client("""
name = init()
put = lambda space, key, size: sys.stdout.write(ask(f"cmd=put kvsname={space} key={key} value={'v' * size}"))
put("other", "a", 1), put(name, "k" * 65, 1), put(name, "a", 1025), put(name, "PMI_process_mapping", 1), put(name, "a", 1024)
sys.stdout.write(ask("cmd=get kvsname=other key=a"))
finalize()
""")).decode().splitlines()
        self.assertEqual(out, ["cmd=put_result rc=-1 msg=" + why for why in
                               ("unknown_kvs", "bad_key_length", "value_too_long", "reserved_key")] +
                         ["cmd=put_result rc=0 msg=success", "cmd=get_result rc=-1 msg=key_a_not_found value=unknown"])

    def test_rank_has_only_the_pmi_connection_open(self):
        for how, expected in (("auto", b"0 1 2 60"), ("pmi1", b"0 1 2 60"), ("none", b"0 1 2")):
            out = self.assert_succeeds("--mpi", how, "-n", 1, "sh", "-c", "ls /proc/$$/fd; : $RANK_ID")
            self.assertEqual(b" ".join(sorted(out.split(), key=int)), expected, how)

    def test_program_without_mpi_gets_no_connection_by_default(self):
        for how, served in (("auto", False), ("pmi1", True)):
            out = self.assert_succeeds("--mpi", how, "-n", 1, support.program("fd_list"))
            self.assertEqual(b"\n60 socket:" in out, served, out)

    def test_client_that_does_not_use_mpi_succeeds(self):
        self.assert_succeeds("-n", 2, *client("if rank: say('cmd=init pmi_ver')"))
        self.assert_succeeds("-n", 2, PYTHON, "-c", "import os; os.closerange(3, 100)")

    def test_unknown_version_is_rejected(self):
        self.assertEqual(self.assert_succeeds("-n", 1, *client("sys.stdout.write(ask('cmd=init pmi_version=9 pmi_subversion=0'))")),
                         b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n")


class Hostile(Case):
    """A client that violates the protocol ends only itself: the connection is closed, the rank is named, other ranks
    continue."""

    @promise(NAMES_FIRST, mode=(ATTACK, MPI))
    def test_request_before_init_is_reported(self):
        result = self.run_dlaunch("-n", 1, *client("assert ask('cmd=get_maxes') == ''"))
        self.assert_exit(result, 0)
        self.assertIn("rank 0 sent a request before init", result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=(ATTACK, MPI))
    def test_client_that_does_not_read_is_ended(self):
        flood = """
init()
try:
    while True: say("cmd=get kvsname=x key=y\\n" * 100)
except OSError: pass
os._exit(3)
"""
        result = self.run_dlaunch("-n", 1, *client(flood))
        self.assert_exit(result, 3)
        self.assertIn("rank 0 does not read PMI answers", result.stderr.decode())

    @promise(NAMES_FIRST, mode=(ATTACK, MPI))
    def test_client_that_stores_without_end_reaches_the_limit(self):
        result = self.run_dlaunch("-n", 1, *client("""
name = init()
n = 0
while ask(f"cmd=put kvsname={name} key={n} value={'v' * 1000}") == "cmd=put_result rc=0 msg=success\\n": n += 1
print(n)
finalize()
"""))
        self.assert_exit(result, 0)
        self.assertLess(int(result.stdout), 9000)
        self.assertIn("rank 0 exceeded the limit of MPI's key-value space", result.stderr.decode())

    @promise(NAMES_FIRST, mode=MPI)
    def test_rank_ended_after_an_abort_is_not_the_cause(self):
        aborts = client("init()\nbarrier()\nask('cmd=abort exitcode=7')\ntime.sleep(60)")
        leaves = client("import signal\nsignal.signal(signal.SIGTERM, lambda *_: os._exit(0))\ninit()\nbarrier()\ntime.sleep(60)")
        result = self.run_dlaunch("-n", 1, *aborts, ":", "-n", 1, *leaves)
        self.assert_exit(result, 7)
        self.assertIn("stopped the other rank", result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_closed_connection_releases_ranks_in_a_barrier(self):
        result = self.run_dlaunch("-n", 2, "--on-failure", "continue", *client("""
init()
tell_pid()
if rank == 1: pmi.shutdown(socket.SHUT_RDWR), until_ended(0), os._exit(5)
assert barrier() == ""
os._exit(4)
"""))
        self.assert_exit(result, 4)
        self.assertIn("rank 1 has left MPI or never entered MPI", result.stderr.decode())


class OverHosts(HostsCase):
    count = 2

    def test_large_exchanges_are_split(self):
        result = self.run_dlaunch("-H", "node1:1,node2:1", *client("""
name = init()
value = "v" * 900
for n in range(7000): assert ask(f"cmd=put kvsname={name} key={rank}-{n} value={value}").endswith("success\\n")
assert barrier() == "cmd=barrier_out\\n"
for n in range(7000): assert ask(f"cmd=get kvsname={name} key={1 - rank}-{n}").endswith(value + "\\n")
finalize()
print("all there")
"""))
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"all there\nall there\n")


if __name__ == "__main__":
    support.main()
