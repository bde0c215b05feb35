"""The rows of the bench: what is run, who takes part, what a correct run leaves, and the goal.

A new row is one more entry in `all_rows`. A contestant that a row does not have, or whose program is not installed, is
an empty cell.
"""
import os
import shutil
from dataclasses import dataclass, field, replace
from typing import Callable, Optional

MIB = 1 << 20
LINE = 80


@dataclass
class Goal:
    """dlaunch's figure against another's: of the time when `faster` is False (ratio at most), of the rate else."""
    against: str
    ratio: float
    rate: bool = False

    def text(self):
        return f"{'≥' if self.rate else '≤'} {self.ratio:g} × {self.against}"

    def met(self, ratio):
        return ratio >= self.ratio if self.rate else ratio <= self.ratio


@dataclass
class Limit:
    """dlaunch's resident memory at most, in bytes."""
    resident: int

    def text(self):
        return f"≤ {self.resident // MIB} MiB resident, no byte lost"


@dataclass
class Within:
    """dlaunch's own time at most, in seconds."""
    seconds: float

    def text(self):
        return f"≤ {self.seconds * 1000:g} ms"


@dataclass
class Contestant:
    argv: list
    before: Optional[Callable] = None   # untimed, ahead of each run
    after: Optional[Callable] = None    # untimed; a text says what is wrong with what the run left
    label: str = ""                     # where the column's name does not tell what ran
    verify: Optional[list] = None       # the same run with numbered lines, made once into a checking reader


@dataclass
class Row:
    key: str
    title: str
    contestants: dict                   # column -> Contestant
    goal: object = None
    moved: int = 0                      # bytes; the figure is then a rate
    rounds: int = 10
    limit: float = 60                   # seconds a run may take
    reader: Optional[list] = None       # stdout goes into slow_reader with these arguments; else to /dev/null
    checked: Optional[list] = None      # slow_reader's arguments for the contestants' verify runs
    exact: bool = False                 # the reader must get `moved` bytes
    told: str = ""                      # a file into which the run writes the seconds that are the figure
    watch: str = ""                     # resident memory is the figure; the ranks' program
    hosts: int = 0                      # other hosts that are reached; the CPU is then compared, too
    cpu_a_host: Optional[float] = None  # seconds of the launcher's CPU a host at most
    tries: int = 1                      # a run that hangs in what is run, not in the launcher, is made again
    hangs: dict = field(default_factory=dict)  # column -> Contestant run only to count its hangs

    def paired_with(self, dlaunch, before):
        """The same work, for `dlaunch` and another build of it alone."""
        own = self.contestants["dlaunch"]
        words, verify = ([before if word == dlaunch else word for word in argv or []] for argv in (own.argv, own.verify))
        other = replace(own, argv=words, verify=verify or None)
        return replace(self, contestants={"dlaunch": own, "before": other}, goal=None, hangs={})


class Launchers:
    """How each launcher is called. Those not found are left out of every row."""

    def __init__(self, dlaunch):
        self.dlaunch = dlaunch
        self.hydra = shutil.which("mpiexec.hydra")
        self.mpirun = shutil.which("mpirun.openmpi")

    def plain(self, ranks, command, own=(), hydra=(), mpirun=()):
        """The three launchers with the same ranks and program, each with its own options; None leaves one out."""
        found = {}
        if self.dlaunch and own is not None:
            found["dlaunch"] = [self.dlaunch, *own, "-n", str(ranks), *command]
        if self.hydra and hydra is not None:
            found["Hydra"] = [self.hydra, *hydra, "-n", str(ranks), *command]
        if self.mpirun and mpirun is not None:
            # Its spawn threads (32 ranks and more) hang; without them it can be timed.
            found["Open MPI"] = [*self.mpirun_as_is(), "--mca", "odls_base_num_threads", "0", *mpirun,
                                 "-n", str(ranks), *command]
        return found

    def mpirun_as_is(self):
        return [self.mpirun, "--allow-run-as-root", "--oversubscribe"]


def start_rows(launchers, programs):
    true = shutil.which("true")
    goals = {8: Goal("Hydra", 0.8), 64: Goal("Hydra", 0.8), 256: Goal("floor", 1.15), 1024: Goal("floor", 1.15)}
    for ranks in (1, 8, 64, 256, 1024):
        contestants = {"floor": Contestant([programs["floor_spawn"], str(ranks), true])}
        for column, argv in launchers.plain(ranks, ["true"]).items():
            contestants[column] = Contestant(argv)
        hangs = {}
        if launchers.mpirun and ranks >= 32:
            hangs["Open MPI"] = Contestant([*launchers.mpirun_as_is(), "-n", str(ranks), "true"])
        yield Row(key=f"start-{ranks}", title=f"`-n {ranks} true`", contestants=contestants, goal=goals.get(ranks),
                  rounds=10 if ranks < 1024 else 5, hangs=hangs)


def stream_rows(launchers, programs, ranks=4, size=64 * MIB):
    lines = size // LINE
    spew = [programs["spew"], str(size)]
    check = ["--check", str(ranks), str(lines)]

    def contestants(floor=True, **options):
        plain = launchers.plain(ranks, spew, **options)
        if floor:
            plain["floor"] = [programs["floor_stream"], str(ranks), *spew]
        return {column: Contestant(argv, verify=[*argv, "--sequence"]) for column, argv in plain.items()}

    work = f"{ranks} ranks × {size // MIB} MiB of {LINE}-byte lines"
    common = {"moved": ranks * lines * LINE, "rounds": 7, "checked": check}
    yield Row(key="plain-null", title=f"{work}, to /dev/null", contestants=contestants(), goal=Goal("Hydra", 1.5, True),
              **common)
    yield Row(key="plain-pipe", title="the same, into a pipe's reader", contestants=contestants(),
              goal=Goal("Hydra", 1.5, True), reader=[], exact=True, **common)
    yield Row(key="label-null", title="the same, each line labelled, to /dev/null", goal=Goal("Hydra", 4, True),
              contestants=contestants(floor=False, own=["--label"], hydra=["-prepend-rank"], mpirun=["--tag-output"]),
              **common)
    yield Row(key="label-pipe", title="the same, each line labelled, into a pipe's reader",
              goal=Goal("Hydra", 4, True), reader=[],
              contestants=contestants(floor=False, own=["--label"], hydra=["-prepend-rank"], mpirun=["--tag-output"]),
              **common)


def file_rows(launchers, programs, directory, ranks=4, size=64 * MIB):
    """To a file per rank, on tmpfs: the disk is not what is measured."""
    total = ranks * (size // LINE) * LINE

    def empty():
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)

    def complete():
        sizes = [os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(directory) for name in names]
        shutil.rmtree(directory, ignore_errors=True)
        return "" if sum(sizes) == total else f"{sum(sizes)} of {total} bytes in the files"

    def contestants(directives):
        option = ["--output-filename", directory + directives]
        argv = launchers.plain(ranks, spew, own=option, hydra=None, mpirun=option)
        return {column: Contestant(words, before=empty, after=complete) for column, words in argv.items()}

    spew = [programs["spew"], str(size)]
    script = f"for r in {' '.join(map(str, range(ranks)))}; do {' '.join(spew)} > {directory}/$r & done; wait"
    floor = Contestant(["sh", "-c", script], before=empty, after=complete, label="shell redirection")
    common = {"moved": total, "rounds": 7}
    yield Row(key="files", title=f"{ranks} ranks × {size // MIB} MiB, to a file per rank (tmpfs), `:nocopy`",
              contestants={**contestants(":nocopy"), "floor": floor}, goal=Goal("floor", 0.9, True), **common)
    yield Row(key="files-copied", title="the same, and to /dev/null",
              contestants={**contestants(""), "floor": floor}, **common)


def memory_rows(launchers, programs, ranks=100, size=4 * MIB, seconds=5):
    lines = size // LINE
    spew = [programs["spew"], str(size), "--sequence"]
    yield Row(key="memory", title=f"{ranks} ranks writing {ranks * size // MIB} MiB, the reader asleep for {seconds} s",
              contestants={column: Contestant(argv) for column, argv in launchers.plain(ranks, spew).items()},
              goal=Limit(64 * MIB), moved=ranks * lines * LINE, rounds=2, limit=60 + seconds, exact=True,
              reader=["--sleep", str(seconds), "--check", str(ranks), str(lines)], watch="spew")


def all_rows(launchers, programs, directory):
    return [*start_rows(launchers, programs), *stream_rows(launchers, programs),
            *file_rows(launchers, programs, directory), *memory_rows(launchers, programs)]
