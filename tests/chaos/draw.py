"""What a step of chaos is: a job and the faults that meet it, all drawn from a seed and the step's number. Pure: nothing
runs here, and a step does not depend on those before it."""
import dataclasses
import random

GRACE = 1  # seconds between TERM and KILL, in every job
LONG = 1000  # seconds that what a rank leaves behind would live
MODES = ("plain", "label", "jsonl", "files", "nocopy", "streams")
QUIRKS = ("ignores TERM", "leaves a daemon", "leaves a child on its streams", "leaves a session that ignores TERM")
SETUP = {
    "ignores TERM": "trap '' TERM ",
    "leaves a daemon": "$PROGRAMS/daemonize 1000 >/dev/null & ",
    "leaves a child on its streams": "sleep 1000 & ",
    "leaves a session that ignores TERM": "(trap '' TERM HUP INT; setsid sleep 1000 >/dev/null 2>&1 &) ; ",
}


@dataclasses.dataclass
class Fault:
    """`act` is kill, term, stop (never continued) or pause (stopped for `seconds`); `whom` is launcher, guardian, worker
    or rank."""
    at: float
    act: str
    whom: str
    rank: int = 0
    seconds: float = 0

    def __str__(self):
        whom = f"rank {self.rank}" if self.whom == "rank" else self.whom
        return f"at {self.at:.3f} s {self.act} {whom}" + (f" for {self.seconds} s" if self.seconds else "")


@dataclasses.dataclass
class Step:
    seed: int
    number: int
    ranks: int
    mode: str
    lines: int
    pause_us: int
    length: int
    codes: dict  # of ranks that end by themselves with another code than 0
    quirks: dict  # rank: one of QUIRKS
    options: list
    timeout: int  # of --timeout; 0: none
    faults: list

    def script(self):
        cases = "".join(f"{rank}) {SETUP[quirk]};; " for rank, quirk in self.quirks.items())
        codes = "".join(f"{rank}) code={code};; " for rank, code in self.codes.items())
        return (f"code=0; case $RANK_ID in {cases}esac; case $RANK_ID in {codes}esac; "
                f"exec $PROGRAMS/numbered_lines $WITNESS {self.lines} {self.pause_us} {self.length} $code")

    def words(self):
        """Of the command line, behind dlaunch's own name. `logs` is in the directory that it starts in."""
        output = {"plain": [], "label": ["--label"], "jsonl": ["--format", "jsonl"], "files": ["--output-filename", "logs"],
                  "nocopy": ["--output-filename", "logs:nocopy"],
                  "streams": ["--stdout-file", "logs/{rank}.out", "--stderr-file", "logs/{rank}.err"]}[self.mode]
        limit = ["--timeout", str(self.timeout)] if self.timeout else []
        return ["-n", str(self.ranks), "--grace", str(GRACE), *limit, *output, *self.options, "sh", "-c", self.script()]


def _faults(random_, ranks, lasts):
    faults = []
    for _ in range(random_.choice((0, 1, 1, 1, 2, 3))):
        whom = random_.choice(("launcher", "guardian", "worker", "rank", "rank"))
        act = random_.choice(("kill", "kill", "term", "pause"))
        if act == "term" and whom in ("guardian", "worker"):
            act = "kill"
        fault = Fault(round(random_.uniform(0, lasts * 1.2), 3), act, whom, random_.randrange(ranks))
        if act == "pause":
            fault.seconds = random_.choice((0.1, 0.5, 2))
        faults.append(fault)
    return sorted(faults, key=lambda fault: fault.at)


def draw(seed, number):
    random_ = random.Random(f"{seed}.{number}")
    ranks = random_.choice((1, 2, 3, 4, 8, 16, 33, 64))
    lasts = random_.choice((0.1, 0.5, 1.5))
    lines = random_.choice((1, 20, 100, 400))
    chosen = [random_.randrange(ranks) for _ in range(random_.choice((0, 0, 1, 2)))]
    quirks = {rank: random_.choice(QUIRKS) for rank in chosen}
    codes = {random_.randrange(ranks): random_.choice((1, 3, 42, 255))} if random_.random() < 0.2 else {}
    timeout = random_.choice((0, 0, 0, 1))
    return Step(seed, number, ranks, random_.choice(MODES), lines, int(lasts / lines * 1e6), random_.choice((10, 80, 3000)), codes,
                quirks, [], timeout, _faults(random_, ranks, lasts))
