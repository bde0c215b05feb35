"""Draws a step of chaos from a seed and the step's number: a job and its faults. Pure: nothing runs here, and a step
does not depend on previous steps."""
import dataclasses
import random

GRACE = 1  # seconds from SIGTERM to SIGKILL, in every job
HEARTBEAT = 5  # default of --heartbeat, seconds
BEATS = 3  # heartbeats after which a silent host is lost (docs/how-it-works.md)
LEASE = 4  # heartbeats after which an agent ends the ranks of a silent launcher whose hosts may be replaced
KILL_WAIT = 5  # seconds until a host that does not confirm SIGKILL is lost
RIDES_OUT = 10  # seconds of silence that must not harm a job
REACH = 8  # seconds of new logins to a lost host
HOSTS = ("node1", "node2", "node3")
ROUND = 1000  # the lines of round k begin with the number k * ROUND + 1
MODES = ("plain", "label", "jsonl", "files", "nocopy", "streams", "pty")
ON_CONSOLE = ("plain", "label", "jsonl", "files", "pty")
IN_FILES = ("files", "nocopy", "streams")
PORT = 29400  # the first node of a same-line job waits for the others at this port
WAYS = {"local": [], "same-line": [], "ssh": [], "openssh": ["--exec", "ssh -T -o BatchMode=yes {host}"],
        "exec": ["--exec", "env X={host} XDG_CACHE_HOME=/tmp/chaos-cache"]}
SETUP = {
    "ignores TERM": "trap '' TERM ",
    "leaves a daemon": "$PROGRAMS/daemonize 1000 >/dev/null & ",
    "leaves a child on its streams": "sleep 1000 & ",
    "leaves a session that ignores TERM": "(trap '' TERM HUP INT; setsid sleep 1000 >/dev/null 2>&1 &) ; ",
}
INPUT = b"".join(b"%d of what all ranks read\n" % number for number in range(2000))
DISK = 64 << 10  # size in bytes of the disk that gets full


@dataclasses.dataclass
class Fault:
    """`act`: kill, term, int; stop (never continued) or pause (stopped for `seconds`); down (the host's link, for
    `seconds`); sleep (the reader of stdout, for `seconds`) or close (the reader exits); call (strangers, for
    `seconds`). `whom`: launcher, guardian, worker, rank, sshd, link, reader, host (all processes of the job on the host),
    machine (also the listening sshd), or all processes of a job; in a same-line job also node (the dlaunch of another node) and door (the port at which the first node waits, called from `host`).
    """
    at: float
    act: str
    whom: str
    rank: int = 0
    host: str = "head"
    seconds: float = 0

    def __str__(self):
        whom = {"rank": f"rank {self.rank}", "guardian": f"guardian of {self.host}", "worker": f"worker of {self.host}",
                "sshd": f"sshd's session of {self.host}", "host": f"the job on {self.host}",
                "machine": f"all processes of {self.host}", "link": f"link of {self.host}", "node": f"dlaunch of {self.host}",
                "door": f"door from {self.host}"}.get(self.whom, self.whom)
        return f"at {self.at:.3f} s {self.act} {whom}" + (f" for {self.seconds} s" if self.seconds else "")


def silent(fault):
    """Whether the fault silences a host for longer than a job tolerates."""
    return fault.act == "stop" or (fault.act in ("down", "pause") and fault.seconds >= RIDES_OUT)


@dataclasses.dataclass
class Step:
    """`hosts`: {name: number of ranks}, in the order of the command line; empty for a job on this machine."""
    seed: int
    number: int
    ranks: int = 2
    way: str = "local"
    hosts: dict = dataclasses.field(default_factory=dict)
    mode: str = "plain"
    mpi: str = ""  # mpich or openmpi: the ranks run a program of this library and write no numbered lines
    lines: int = 20
    pause_us: int = 1000
    length: int = 80
    codes: dict = dataclasses.field(default_factory=dict)  # of ranks that end by themselves with another code than 0
    quirks: dict = dataclasses.field(default_factory=dict)  # rank: one of SETUP
    options: list = dataclasses.field(default_factory=list)
    stdin: bool = False  # all ranks read INPUT
    full_disk: bool = False  # the logs are on a disk of DISK bytes
    timeout: int = 0  # of --timeout; 0: no option
    restarts: int = 0  # of --restarts; 0: no option
    spares: list = dataclasses.field(default_factory=list)  # names of spare hosts
    # Start time of each node of a same-line job: {host: seconds}.
    starts: dict = dataclasses.field(default_factory=dict)
    wait: int = 0  # of --wait-hosts in a same-line job; the caller may raise it
    heartbeat: int = HEARTBEAT  # of --heartbeat
    pairs: bool = False  # a silent host and a second fault
    first_pause_us: int = 0  # the pause in round 0, if it is not pause_us
    clocks: dict = dataclasses.field(default_factory=dict)  # {host: milliseconds by which its clock is ahead}
    fails: int = 9  # number of rounds in which `codes` applies; later all ranks end with 0
    faults: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        kind = "p" if self.pairs else f"{'s' if self.way == 'same-line' else ''}{'r' if self.restarts else ''}"
        return f"{self.number}{kind}"

    def nodes(self):
        """The nodes of a same-line job, in the order of their numbers."""
        return [*self.hosts, *self.spares]

    def script(self):
        return self._script_of_a_round() if self.restarts else self._script("$WITNESS", "$code")

    def _script_of_a_round(self):
        """The script without rounds, after a test whether the rank of the previous round, or a process that it left,
        still holds its lock."""
        before = "$WITNESS/lock.$((DLAUNCH_ROUND - 1)).$RANK_ID"
        return (f'exec 9>"$WITNESS/lock.$DLAUNCH_ROUND.$RANK_ID"; flock -n 9; '
                f'[ ! -e "{before}" ] || flock -n -s "{before}" true || echo "$RANK_ID" >>$WITNESS/overlap; '
                f'[ "$DLAUNCH_ROUND" -lt {self.fails} ] && fails=1 || fails=0; '
                + self._script("$WITNESS/$DLAUNCH_ROUND", f"$((code * fails)) $((DLAUNCH_ROUND * {ROUND}))"))

    def _script(self, witness, code):
        cases = "".join(f"{rank}) {SETUP[quirk]};; " for rank, quirk in self.quirks.items())
        codes = "".join(f"{rank}) code={code};; " for rank, code in self.codes.items())
        read = "$PROGRAMS/stdin_sum >$WITNESS/in.$RANK_ID; " if self.stdin else ""
        pause = f"$(( ${{DLAUNCH_ROUND-0}} ? {self.pause_us} : {self.first_pause_us} ))" if self.first_pause_us else self.pause_us
        return (f"code=0; case $RANK_ID in {cases}esac; case $RANK_ID in {codes}esac; {read}"
                f"exec $PROGRAMS/numbered_lines {witness} {self.lines} {pause} {self.length} {code}")

    def hostfile(self):
        """The hosts of a job with different clocks; each has an agent `agent.HOST` in the directory `agents`."""
        return "".join(f"{host} slots={ranks} agent={{agents}}/agent.{host}\n"
                       for host, ranks in {**self.hosts, **dict.fromkeys(self.spares, max(self.hosts.values()))}.items())

    def words(self, programs="$PROGRAMS", node=0):
        """The command line without the program name. `logs`, `hosts` and `key` are in the working directory."""
        output = {"plain": [], "label": ["--label"], "jsonl": ["--format", "jsonl"], "files": ["--output-filename", "logs"],
                  "nocopy": ["--output-filename", "logs:nocopy"], "pty": ["--pty"],
                  "streams": ["--stdout-file", "logs/{rank}.out", "--stderr-file", "logs/{rank}.err"]}[self.mode]
        hosts = [f"{host}:{ranks}" for host, ranks in self.hosts.items()] + [f"{host}:1" for host in self.spares]
        where = ["-H", ",".join(hosts)] if hosts else []
        where = ["--hostfile", "hosts"] if self.clocks else where
        if self.way == "same-line":
            where = ["--same-line", "--rendezvous", f"head:{PORT}", "--nodes", str(len(self.nodes())), "--node-rank", str(node), "--key-file", "key",
                     "--wait-hosts", str(self.wait), "--pause-limit", str(LEASE * HEARTBEAT), "--oversubscribe", "-N", str(self.hosts["head"])]
        rounds = ["--restarts", str(self.restarts), "--report", "report.json"] if self.restarts else []
        rounds += ["--spares", str(len(self.spares))] if self.spares else []
        limit = ["--timeout", str(self.timeout)] if self.timeout else []
        limit += ["--heartbeat", str(self.heartbeat)] if self.pairs else []
        program = [f"{programs}/{self.mpi}/mpi_ring"] if self.mpi else ["sh", "-c", self.script()]
        return ["-n", str(self.ranks), "--grace", str(GRACE), *WAYS[self.way], *where, *rounds, *limit, *output,
                *(["--stdin", "all"] if self.stdin else []), *self.options, *program]

    def host_of(self, rank):
        for host, ranks in self.hosts.items():
            if rank < ranks:
                return host
            rank -= ranks
        return "head"


def _draw_faults(random_, step, lasts):
    far = step.way in ("ssh", "openssh")
    whom = ["launcher", "guardian", "worker", "rank", "rank", "reader", "all"] + (["sshd", "link"] if far else [])
    for _ in range(random_.choice((0, 1, 1, 1, 2, 3))):
        fault = Fault(round(random_.uniform(0, lasts * 1.2), 3), "kill", random_.choice(whom), random_.randrange(step.ranks))
        fault.host = step.host_of(fault.rank) if far else "head"
        acts = {"launcher": ("kill", "term", "int", "pause"), "guardian": ("kill", "pause"), "worker": ("kill", "kill", "pause", "stop"),
                "rank": ("kill", "term", "pause"), "sshd": ("kill", "pause"), "link": ("down",), "reader": ("sleep", "close"),
                "all": ("pause",)}
        fault.act = random_.choice(acts[fault.whom])
        if fault.act == "stop" and random_.random() < 0.7:
            fault.act = "pause"  # a process stopped forever is detected slowly
        if fault.act in ("pause", "sleep"):
            fault.seconds = random_.choice((0.1, 0.5, 2))
        if fault.act == "down":
            fault.seconds = random_.choice((0.3, 1, 3, 3, 60))
        step.faults.append(fault)
    step.faults.sort(key=lambda fault: fault.at)


def _draw_hosts(random_, step):
    names = random_.sample(HOSTS, random_.choice((1, 2, 2, 3)))
    names = names[:step.ranks]
    each = [step.ranks // len(names)] * len(names)
    each[0] += step.ranks - sum(each)
    step.hosts = dict(zip(names, each))


def draw(seed, number):
    random_ = random.Random(f"{seed}.{number}")
    step = Step(seed, number)
    step.ranks = random_.choice((1, 2, 3, 4, 8, 16, 33, 64))
    step.way = random_.choice(("local", "local", "exec", "ssh", "ssh", "openssh"))
    step.mode = random_.choice(MODES)
    step.lines = random_.choice((1, 20, 100, 400))
    step.length = 80 if step.mode == "pty" else random_.choice((10, 80, 3000))
    step.timeout = random_.choice((0, 0, 0, 0, 2))
    if step.way != "local":
        _draw_hosts(random_, step)
    lasts = random_.choice((0.1, 0.5, 1.5))
    step.pause_us = int(lasts / step.lines * 1e6)
    for rank in (random_.randrange(step.ranks) for _ in range(random_.choice((0, 0, 1, 2)))):
        step.quirks[rank] = random_.choice(list(SETUP))
    if random_.random() < 0.2:
        step.codes = {random_.randrange(step.ranks): random_.choice((1, 3, 42, 255))}
    step.stdin = random_.random() < 0.15
    step.full_disk = step.mode in IN_FILES and random_.random() < 0.15
    if random_.random() < 0.06:
        step.mpi, step.ranks = random_.choice(("mpich", "openmpi")), random_.choice((2, 3, 4))
        step.way, step.hosts = "local", {}
        step.codes, step.quirks, step.stdin, step.full_disk = {}, {}, False, False
    _draw_faults(random_, step, lasts)
    return step


def draw_rounds(seed, number):
    """The job of draw() with --restarts and other faults, which are distributed over the possible rounds."""
    random_ = random.Random(f"{seed}.{number}.rounds")
    step = draw(seed, number)
    step.restarts = random_.choice((1, 2, 3))
    step.stdin, step.mpi = False, ""
    step.ranks = min(step.ranks, random_.choice((4, 8, 16, 33)))
    if step.way != "local":
        _draw_hosts(random_, step)
        others = [host for host in HOSTS if host not in step.hosts]
        step.spares = others[:random_.choice((0, 1, 1, 2))]
    step.quirks = {rank: quirk for rank, quirk in step.quirks.items() if rank < step.ranks}
    step.codes = {random_.randrange(step.ranks): random_.choice((1, 3, 42, 255))} if random_.random() < 0.4 else {}
    step.fails = random_.choice((1, 1, 2, 9))
    step.timeout = random_.choice((0, 0, 0, 0, 0, 3))
    step.faults = []
    lasts = step.pause_us * step.lines / 1e6
    while not step.faults and not (step.codes and random_.random() < 0.3):
        _draw_faults(random_, step, (lasts + 0.3) * random_.uniform(0.8, step.restarts + 1 if step.codes else 1))
    return step


def _draw_faults_of_nodes(random_, step, lasts):
    others = [host for host in step.nodes() if host != "head"]
    for _ in range(random_.choice((0, 1, 1, 1, 2, 3))):
        whom = random_.choice(("launcher", "node", "node", "guardian", "worker", "rank", "link", "reader", "door", "door", "all"))
        fault = Fault(round(random_.uniform(0, lasts * 1.2), 3), "kill", whom, random_.randrange(step.ranks))
        fault.host = step.host_of(fault.rank) if whom in ("guardian", "worker", "rank") else random_.choice(others)
        acts = {"launcher": ("kill", "term", "int", "pause"), "node": ("kill", "term", "int", "pause"), "guardian": ("kill", "pause"),
                "worker": ("kill", "kill", "pause"), "rank": ("kill", "term", "pause"), "link": ("down",), "reader": ("sleep", "close"),
                "door": ("call",), "all": ("pause",)}
        fault.act = random_.choice(acts[whom])
        if fault.act in ("pause", "sleep"):
            fault.seconds = random_.choice((0.1, 0.5, 2, 22) if whom == "node" else (0.1, 0.5, 2))
        if fault.act == "down":
            fault.seconds = random_.choice((0.3, 1, 3, 3, 60))
        if fault.act == "call":
            fault.at, fault.seconds = round(random_.uniform(0, 0.1), 3), random_.choice((0.3, 1, 3))
        step.faults.append(fault)
    step.faults.sort(key=lambda fault: fault.at)


def draw_same_line(seed, number):
    """A dlaunch on the head and on each of some hosts, started in any order. The hosts can connect only to the port of
    the head."""
    random_ = random.Random(f"{seed}.{number}.same line")
    step = Step(seed, number, way="same-line", wait=6)
    each = random_.choice((1, 1, 2, 4, 8))
    step.hosts = dict.fromkeys(["head", *random_.sample(HOSTS, random_.choice((1, 2, 2, 3)))], each)
    step.ranks = each * len(step.hosts)
    step.starts = {host: random_.choice((0, 0, 0.05, 0.3)) for host in random_.sample(list(step.hosts), len(step.hosts))}
    step.mode = random_.choice(MODES)
    step.lines = random_.choice((1, 20, 100, 400))
    step.length = 80 if step.mode == "pty" else random_.choice((10, 80, 3000))
    step.timeout = random_.choice((0, 0, 0, 0, 2))
    step.stdin = random_.random() < 0.15
    lasts = random_.choice((0.1, 0.5, 1.5))
    step.pause_us = int(lasts / step.lines * 1e6)
    for rank in (random_.randrange(step.ranks) for _ in range(random_.choice((0, 0, 1, 2)))):
        step.quirks[rank] = random_.choice(list(SETUP))
    if random_.random() < 0.2:
        step.codes = {random_.randrange(step.ranks): random_.choice((1, 3, 42, 255))}
    _draw_faults_of_nodes(random_, step, lasts + max(step.starts.values()))
    return step


def draw_same_line_rounds(seed, number):
    """The job of draw_same_line() with --restarts, often with spare nodes, and other faults, which are distributed over
    the possible rounds and the delays between them."""
    random_ = random.Random(f"{seed}.{number}.same line, rounds")
    step = draw_same_line(seed, number)
    step.restarts = random_.choice((1, 2, 3))
    step.stdin = False
    step.spares = [host for host in HOSTS if host not in step.hosts][:random_.choice((0, 1, 1, 2))]
    step.starts |= {host: random_.choice((0, 0, 0.05, 0.3)) for host in step.spares}
    step.codes = {random_.randrange(step.ranks): random_.choice((1, 3, 42, 255))} if random_.random() < 0.4 else {}
    step.fails = random_.choice((1, 1, 2, 9))
    step.timeout = random_.choice((0, 0, 0, 0, 0, 3))
    step.faults = []
    lasts = step.pause_us * step.lines / 1e6
    while not step.faults and not (step.codes and random_.random() < 0.3):
        rounds = random_.uniform(0.8, step.restarts + 1 if step.codes else 1)
        _draw_faults_of_nodes(random_, step, max(step.starts.values()) + (lasts + 0.3) * rounds)
    return step


SHIFTS = (0, -3000, -500, -20, -2, 2, 20, 500, 3000)


def _draw_pair(random_, step, host):
    """A silent or frozen host, and a second fault before or after the silence."""
    others = [rank for rank in range(step.ranks) if step.host_of(rank) != host]
    at = round(random_.uniform(1.5, 3), 3)
    quiet = Fault(at, "down", "link", host=host, seconds=60)
    if random_.random() < 0.5:
        quiet.act, quiet.whom = "pause", random_.choice(("host", "machine"))
    second = Fault(round(max(1.2, at + random_.choice((0, random_.uniform(-0.5, 6)))), 3), "kill", "rank", random_.choice(others))
    if random_.random() < 0.5:
        second.whom, second.act = "launcher", random_.choice(("int", "term"))
    second.host = step.host_of(second.rank) if second.whom == "rank" else "head"
    step.faults = sorted((quiet, second), key=lambda fault: fault.at)


def draw_pairs(seed, number):
    """A host falls silent, and a rank on another host fails or the user ends the job. The clocks of the hosts
    differ."""
    random_ = random.Random(f"{seed}.{number}.pairs")
    step = Step(seed, number, pairs=True, way=random_.choice(("ssh", "openssh")), length=80)
    names = random_.sample(HOSTS, 3)
    step.hosts = dict.fromkeys(names[:2], random_.choice((1, 2, 4)))
    step.ranks = sum(step.hosts.values())
    if random_.random() < 0.7:
        step.restarts, step.spares, step.fails = 2, names[2:], 0
    step.mode = random_.choice(("plain", "label", "jsonl", "files", "streams"))
    step.heartbeat = random_.choice((2, 2, 5))
    step.lines, step.pause_us, step.first_pause_us = 20, 150_000, 3_000_000
    step.clocks = {host: random_.choice(SHIFTS) for host in (*step.hosts, *step.spares)}
    _draw_pair(random_, step, random_.choice(names[:2]))
    return step


def draw_named(seed, name):
    """`name`: the number of a step, followed by r for a job with restarts, s for the same line on each node, sr for
    both, p for a silent host with a second fault."""
    if name.endswith("p"):
        return draw_pairs(seed, int(name[:-1]))
    if name.endswith("sr"):
        return draw_same_line_rounds(seed, int(name[:-2]))
    if name.endswith("s"):
        return draw_same_line(seed, int(name[:-1]))
    return draw_rounds(seed, int(name[:-1])) if name.endswith("r") else draw(seed, int(name))
