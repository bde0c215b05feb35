"""The promises for MPI libraries, asked in three dialects: PMI-1, PMI-2 and PMIx. Each test is written once, as a test of
a mixin, and each dialect has the command lines of its ranks."""
from hosts_case import lines
from openmpi_case import openmpi
from pmi_client import client, frame_client
from promises import ATTACK, ENDS, FAILURE, MPI, NAMES_FIRST, SPAWN, START, promise
from support import cause, program

# The common words of the scripts below, for both clients of pmi_client.py. A client itself must stay short: a spawn request
# of PMI-1 contains the client twice, and a line has at most 16384 bytes.
LINES = r"""
first = init
def init():
    global space
    space = first()
def fence():
    answer = barrier()
    assert answer in ("", "cmd=barrier_out\n"), answer
    return bool(answer)
def put(key, value):
    assert ask(f"cmd=put kvsname={space} key={key} value={value}") == "cmd=put_result rc=0 msg=success\n"
def get(key):
    answer, start = ask(f"cmd=get kvsname={space} key={key}"), "cmd=get_result rc=0 msg=success value="
    assert answer.startswith(start) and answer.endswith("\n"), answer
    return answer[len(start):-1]
def missing(key):
    answer = ask(f"cmd=get kvsname={space} key={key}")
    return answer.startswith("cmd=get_result rc=-1 msg=key_") and answer.endswith("value=unknown\n")
def mapping():
    return get("PMI_process_mapping")
def abort(code):
    ask(f"cmd=abort exitcode={code}")
def closed():
    return file.readline() == ""
"""
FRAMES = r"""
def fence():
    answer = ask("cmd=kvs-fence;")
    assert answer in ("", "cmd=kvs-fence-response;rc=0;"), answer
    return bool(answer)
def put(key, value):
    assert ask(f"cmd=kvs-put;key={key};value={value};") == "cmd=kvs-put-response;rc=0;"
def job():
    return value("cmd=job-getid;", "jobid")
def get(key):
    return value(f"cmd=kvs-get;jobid={job()};srcid=-1;key={key};", "value")
def missing(key):
    return ";found=FALSE;" in ask(f"cmd=kvs-get;jobid={job()};srcid=-1;key={key};")
def mapping():
    return value("cmd=info-getjobattr;key=PMI_process_mapping;", "value")
def abort(code):
    ask("cmd=abort;isworld=TRUE;msg=;")
def closed():
    return file.read() == b""
"""
EXCHANGE = """
init()
for n in range(200): put(f"k-{rank}-{n}", f"{rank * 1000 + n}=[/]")
assert missing(f"k-{(rank + 1) % size}-x")
assert fence()
for other in range(size):
    for n in range(200): assert get(f"k-{other}-{n}") == f"{other * 1000 + n}=[/]"
for turn in range(20): assert fence()
print(rank, mapping())
finalize()
"""
# The others leave later than the rank, so that the rank is the first failure.
EARLY = """
init()
if rank == {rank}: os._exit({code})
if not fence(): print("released", flush=True)
time.sleep(0.5)
os._exit(4)
"""
ABORT = """
init()
if rank == 1: abort(7)
fence()
time.sleep(60)
"""
SPAWNER = """
init()
if rank == 0: sys.stderr.write(spawn((2, {words!r}, [])))
fence()
time.sleep(60)
"""
# Ends only itself: the connection is closed, the rank is named, other ranks continue.
BREACH = """
init()
try:
    {breach}
    assert closed()
except (OSError, AssertionError, IndexError, ValueError): pass
os._exit(3)
"""


class Dialect:
    """A dialect whose test clients are Python scripts."""
    abort_code = 7

    def __init__(self, name, command, breaches):
        self.name, self.command, self.breaches = name, command, breaches

    def exchange(self):
        return self.command(EXCHANGE)

    def exchanged(self, rank, mapping):
        """The line of a rank after an exchange."""
        return f"{rank} {mapping}"

    def early(self, rank, code):
        """The rank exits with the code while the others wait in a fence. The others print a line for their release."""
        return self.command(EARLY.format(rank=rank, code=code))

    def released(self, rank):
        """The message about the rank, a regular expression."""
        return f"rank {rank} has left MPI or never entered MPI"

    def abort(self):
        return self.command(ABORT)

    def spawner(self, words):
        return self.command(SPAWNER.format(words=words))


class Pmi2(Dialect):
    abort_code = 1  # the request has no code


class Pmix(Dialect):
    """Programs with the libraries of PMIx and Open MPI."""

    def __init__(self):
        super().__init__("PMIx", None, {})

    def exchange(self):
        return [program("pmix_client"), "fence", 64]

    def exchanged(self, rank, mapping):
        return f"rank {rank}: fence: SUCCESS"

    def early(self, rank, code):
        return [program("pmix_client"), "early", rank, code]

    def released(self, rank):
        return rf"^dlaunch: rank {rank} \(host \S+, pid \d+\) exited with code"  # libpmix informs the others

    def abort(self):
        return [openmpi("mpi_leave"), "abort", 1, 7]

    def spawner(self, words):
        return [openmpi("mpi_spawn"), 2, f"command={words[0]}"]


PMI1 = Dialect("PMI-1", lambda script: client(LINES + script), {
    "unknown command": ("say('cmd=make_me_root now=1\\n')", "a command that PMI-1 does not have: \"cmd=make_me_root now=1\""),
    "no pair": ("say('cmd=get key\\n')", "a word that is not KEY=VALUE"),
    "no command": ("say('key=get\\n')", "without a command at its start"),
    "empty line": ("say('\\n')", "an empty PMI line"),
    "bytes": ("say(bytes(range(11, 256)) + b'\\n')", "sent a PMI line"),
    "a line without end": ("say('cmd=put key=a value=' + 'v' * 20000)", "a PMI line of more than 16384 bytes"),
    "no patience": ("say('cmd=lookup_name service=x\\ncmd=get_maxes\\n')", "sent a request before the answer to its last request"),
    "init twice": ("init()", "sent init twice"),
})
PMI2 = Pmi2("PMI-2", lambda script: frame_client(FRAMES + script), {
    "unknown command": ("ask('cmd=make-me-root;')", 'a command that PMI-2 does not have: "cmd=make-me-root;"'),
    "no pair": ("ask('cmd=kvs-get;key;')", "a word that is not KEY=VALUE"),
    "no command": ("ask('key=a;')", "without a command at its start"),
    "no end": ("ask('cmd=kvs-get;key=a')", "does not end with ';'"),
    "a line": ("pmi.sendall(b'cmd=get_maxes\\n')", "a PMI frame without its length"),
    "less than nothing": ("pmi.sendall(b'-9999 cmd=kvs-put;')", "a PMI frame without its length"),
    "nothing": ("pmi.sendall(b'0     ')", "a PMI frame without its length"),
    "no patience": ("pmi.sendall(frame('cmd=name-lookup;name=x;') + frame('cmd=job-getid;'))", "sent a request before the answer to its last request"),
    "fullinit twice": ("ask('cmd=fullinit;')", "sent fullinit twice"),
    "spawn of nothing": ("ask('cmd=spawn;')", 'a spawn request with ncmds in the wrong order: "end of the frame"'),
    "spawn of one too few": ("ask('cmd=spawn;ncmds=2;preputcount=0;subcmd=x;maxprocs=1;argc=0;')", "a spawn request with subcmd in the wrong order"),
    "spawn of one too many": ("ask('cmd=spawn;ncmds=1;preputcount=0;subcmd=x;maxprocs=1;argc=0;argv0=x;')", "a spawn request with more pairs than its counts announce"),
    "spawn of so many arguments": ("ask('cmd=spawn;ncmds=1;preputcount=0;subcmd=x;maxprocs=1;argc=2147483647;argv0=x;')", "a spawn request with argv1 in the wrong order"),
    "spawn of so many programs": ("ask('cmd=spawn;ncmds=257;preputcount=0;')", 'a spawn request with an invalid number of programs: "257"'),
    "spawn without patience": ("pmi.sendall(frame('cmd=spawn;ncmds=1;preputcount=0;subcmd=x;maxprocs=0;argc=0;') + frame('cmd=job-getid;'))", "sent a request before the answer to its last request"),
})
PMIX = Pmix()


class OneHost:
    """A mixin for a Case."""
    dialect = None

    def test_ranks_exchange_keys(self):
        out = lines(self.assert_succeeds("-n", 4, *self.dialect.exchange()))
        self.assertEqual(sorted(out), [self.dialect.exchanged(rank, "(vector,(0,1,4))") for rank in range(4)])

    @promise(ENDS, NAMES_FIRST, mode=(MPI, FAILURE))
    def test_rank_that_exits_in_a_fence_fails_the_job(self):
        for code, said in ((0, "exited with code 0 after MPI_Init and without MPI_Finalize"), (3, "exited with code 3")):
            with self.subTest(code):
                result = self.run_dlaunch("--timeout", 20, "-n", 3, *self.dialect.early(1, code))
                self.assert_exit(result, code or 1)
                self.assertRegex(cause(result.stderr), rf"^dlaunch: rank 1 \(host \S+, pid \d+\) {said}")

    @promise(ENDS, NAMES_FIRST, mode=(MPI, FAILURE))
    def test_rank_that_exits_in_a_fence_releases_the_others(self):
        result = self.run_dlaunch("--timeout", 20, "--on-failure", "continue", "-n", 3, *self.dialect.early(1, 3))
        self.assert_exit(result, 3)
        self.assertEqual(len(lines(result.stdout)), 2, result)
        self.assertRegex(result.stderr.decode(), self.dialect.released(1))

    @promise(ENDS, NAMES_FIRST, mode=MPI)
    def test_abort_names_its_rank(self):
        result = self.run_dlaunch("-n", 3, *self.dialect.abort())
        code = self.dialect.abort_code
        self.assert_exit(result, code)
        self.assertRegex(cause(result.stderr), rf"^dlaunch: rank 1 \(host \S+, pid \d+\) called MPI_Abort with code {code}")

    @promise(NAMES_FIRST, mode=(ATTACK, MPI))
    def test_violations_close_the_connection(self):
        """With PMIx, libpmix reads the messages: test_pmix_trouble.py."""
        good = self.dialect.command("init()\nopen('go').read()\nfinalize()\nprint('well')")
        for name, (breach, told) in self.dialect.breaches.items():
            with self.subTest(name):
                (self.dir / "go").write_text("")
                bad = self.dialect.command(BREACH.format(breach=breach))
                result = self.run_dlaunch("--on-failure", "continue", "-n", 1, *bad, ":", "-n", 2, *good)
                self.assert_exit(result, 3)
                self.assertEqual(result.stdout, b"well\nwell\n")
                for part in ("dlaunch: note: ", "rank 0 ", told):
                    self.assertIn(part, result.stderr.decode())

    @promise(ENDS, NAMES_FIRST, mode=(SPAWN, FAILURE))
    def test_failed_spawned_rank_ends_the_job(self):
        fails = self.dir / "fails"
        fails.write_text("#!/bin/sh\n[ $PMI_RANK = 0 ] || exit 7\nexec sleep 60\n")
        fails.chmod(0o755)
        result = self.run_dlaunch("-n", 2, *self.dialect.spawner([str(fails)]))
        self.assert_exit(result, 7)
        self.assertRegex(result.stderr.decode(), r"dlaunch: rank 2/1 \(host \S+, pid \d+\) exited with code 7")

    @promise(ENDS, NAMES_FIRST, mode=(SPAWN, START))
    def test_missing_spawned_program_fails_the_job(self):
        result = self.run_dlaunch("-n", 1, *self.dialect.spawner(["/no/such/program"]))
        self.assert_exit(result, 127)
        self.assertIn('dlaunch: program "/no/such/program": not found on ', result.stderr.decode())


class SeveralHosts:
    """A mixin for a HostsCase with two hosts."""
    dialect = None

    def test_ranks_exchange_keys(self):
        out = lines(self.assert_succeeds("-H", "localhost:2,node1:2,node2:1", *self.dialect.exchange()))
        self.assertEqual(sorted(out), [self.dialect.exchanged(rank, "(vector,(0,2,2),(2,1,1))") for rank in range(5)])

    @promise(ENDS, NAMES_FIRST, mode=(MPI, FAILURE))
    def test_rank_that_exits_in_a_fence_releases_other_hosts(self):
        for rank in (1, 2):
            with self.subTest(rank):
                result = self.run_dlaunch("--timeout", 20, "--on-failure", "continue", "-H", "node1:2,node2:1", *self.dialect.early(rank, 5))
                self.assert_exit(result, 5)
                self.assertEqual(len(lines(result.stdout)), 2, result)
                self.assertRegex(result.stderr.decode(), self.dialect.released(rank))
