"""The rows of the benchmark: programs, contestants, checks of a correct run, goals.

Add a new row to `all_rows`. A contestant without a program, or missing in a row, has an empty cell.
"""
import os
import shutil
from dataclasses import dataclass, field, replace
from typing import Callable, Optional

MIB = 1 << 20
LINE = 80


@dataclass
class Goal:
    """The limit for dlaunch relative to `against`: the largest ratio of times. With `rate`: the smallest ratio of
    rates."""
    against: str
    ratio: float
    rate: bool = False

    def text(self):
        return f"{'≥' if self.rate else '≤'} {self.ratio:g} × {self.against}"

    def met(self, ratio):
        return ratio >= self.ratio if self.rate else ratio <= self.ratio


@dataclass
class Limit:
    """The largest resident memory of dlaunch, in bytes."""
    resident: int

    def text(self):
        return f"≤ {self.resident // MIB} MiB resident, no byte lost"


@dataclass
class Within:
    """The longest time of dlaunch, in seconds."""
    seconds: float

    def text(self):
        return f"≤ {self.seconds * 1000:g} ms"


@dataclass
class AtLeast:
    """The smallest rate of dlaunch, in bytes per second."""
    rate: float

    def text(self):
        return f"≥ {self.rate / 1e6:g} MB/s"


@dataclass
class Contestant:
    argv: list
    before: Optional[Callable] = None   # untimed, before each run
    after: Optional[Callable] = None    # untimed; returns the error found after the run, else an empty text
    label: str = ""                     # the program, if the column's name is not enough
    verify: Optional[list] = None       # the same run with numbered lines, done once with a checking reader


@dataclass
class Row:
    key: str
    title: str
    contestants: dict                   # column -> Contestant
    goal: object = None
    moved: int = 0                      # bytes; the figure is then a rate
    rounds: int = 10
    limit: float = 60                   # time limit of a run, in seconds
    reader: Optional[list] = None       # stdout goes to slow_reader with these arguments; None: to /dev/null
    checked: Optional[list] = None      # slow_reader's arguments for the contestants' verify runs
    exact: bool = False                 # the reader must get `moved` bytes
    told: str = ""                      # file for the measured seconds, written by the run
    watch: str = ""                     # measure resident memory; name of the ranks' program
    hosts: int = 0                      # number of other hosts; if set, CPU times are compared, too
    cpu_a_host: Optional[float] = None  # largest CPU time of the launcher per host, in seconds
    tries: int = 1                      # repeat a run up to this number if the started program hangs
    hangs: dict = field(default_factory=dict)  # column -> Contestant, run only to count hangs

    def paired_with(self, dlaunch, before):
        """The same row with only `dlaunch` and `before`, another build of dlaunch."""
        own = self.contestants["dlaunch"]
        words, verify = ([before if word == dlaunch else word for word in argv or []] for argv in (own.argv, own.verify))
        other = replace(own, argv=words, verify=verify or None)
        return replace(self, contestants={"dlaunch": own, "before": other}, goal=None, hangs={})


class Launchers:
    """The command of each launcher. Launchers that are not installed are left out."""

    def __init__(self, dlaunch):
        self.dlaunch = dlaunch
        self.hydra = shutil.which("mpiexec.hydra")
        self.mpirun = shutil.which("mpirun.openmpi")

    def plain(self, ranks, command, own=(), hydra=(), mpirun=()):
        """The three launchers with the same ranks and program, each with its own options; None leaves a launcher out."""
        found = {}
        if self.dlaunch and own is not None:
            found["dlaunch"] = [self.dlaunch, *own, "-n", str(ranks), *command]
        if self.hydra and hydra is not None:
            found["Hydra"] = [self.hydra, *hydra, "-n", str(ranks), *command]
        if self.mpirun and mpirun is not None:
            # mpirun's spawn threads (32 ranks and more) hang; measure without them.
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
    yield Row(key="plain-pipe", title="the same, to a pipe", contestants=contestants(),
              goal=Goal("Hydra", 1.5, True), reader=[], exact=True, **common)
    yield Row(key="label-null", title="the same, each line labelled, to /dev/null", goal=Goal("Hydra", 4, True),
              contestants=contestants(floor=False, own=["--label"], hydra=["-prepend-rank"], mpirun=["--tag-output"]),
              **common)
    yield Row(key="label-pipe", title="the same, each line labelled, to a pipe",
              goal=Goal("Hydra", 4, True), reader=[],
              contestants=contestants(floor=False, own=["--label"], hydra=["-prepend-rank"], mpirun=["--tag-output"]),
              **common)


def fold_rows(launchers, programs, ranks=4, size=64 * MIB):
    """The floor is dlaunch with labels and without --fold."""
    common = {"moved": ranks * (size // LINE) * LINE, "rounds": 7}

    def contestants(level, kind):
        spew = [programs["spew"], str(size), kind]
        found = launchers.plain(ranks, spew, own=[f"--fold={level}"], hydra=None, mpirun=None)
        found["floor"] = launchers.plain(ranks, spew, own=["--label", "--fold=off"], hydra=None, mpirun=None).get("dlaunch")
        return {column: Contestant(argv, label="not folded" if column == "floor" else "")
                for column, argv in found.items() if argv}

    for level in ("exact", "own"):
        yield Row(key=f"fold-equal-{level}", title=f"{ranks} ranks × {size // MIB} MiB of equal lines, `--fold={level}`",
                  contestants=contestants(level, "--equal"), goal=AtLeast(1e9), **common)
        yield Row(key=f"fold-none-{level}", title="the same, without equal lines",
                  contestants=contestants(level, "--sequence"), goal=Goal("floor", 0.87, True), **common)


def file_rows(launchers, programs, directory, ranks=4, size=64 * MIB):
    """A file per rank, on tmpfs: the disk is not measured."""
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
    return [*start_rows(launchers, programs), *stream_rows(launchers, programs), *fold_rows(launchers, programs),
            *file_rows(launchers, programs, directory), *memory_rows(launchers, programs)]
