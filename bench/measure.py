"""Runs one program at a time and measures its cost: wall-clock time from fork to reap, CPU time of all reaped processes.

No process survives its run. The benchmark is a subreaper: remaining processes, such as the ranks of a hung mpirun, become
its children, and sweep() kills them.
"""
import contextlib
import ctypes
import json
import os
import select
import signal
import threading
import time
from dataclasses import dataclass, field

PR_SET_CHILD_SUBREAPER = 36
GRACE = 0.3  # seconds after a run, before its remaining processes are counted


@dataclass
class Sample:
    wall: float = 0.0          # seconds
    cpu: float = 0.0           # seconds, user + system
    status: str = "ok"         # ok, hung, failed
    why: str = ""
    read: dict = field(default_factory=dict)  # the result of slow_reader
    peak: int = 0              # largest resident size in bytes, if measured
    left: int = 0              # number of processes left after the run


def become_subreaper():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def parents():
    """pid -> pid of the parent, for every process, including zombies."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    table[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return table


def descendants(root, without=()):
    """All descendants of `root`, except the processes in `without` and their descendants."""
    children = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        below = [pid for pid in children.get(todo.pop(), []) if pid not in without]
        found += below
        todo += below
    return found


def reap_orphans():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def sweep(grace=GRACE, without=()):
    """Kills all descendants that are still alive after `grace` seconds. Returns their number."""
    deadline = time.perf_counter() + grace
    while True:
        reap_orphans()
        left = descendants(os.getpid(), without)
        if not left:
            return 0
        if time.perf_counter() > deadline:
            break
        time.sleep(0.01)
    everyone = set()
    while left:
        everyone.update(left)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        reap_orphans()
        left = descendants(os.getpid(), without)
    return len(everyone)


def spawn(argv, env, stdin, stdout, stderr):
    # Python ignores SIGPIPE. Reset the signal: programs of users do not inherit this setting.
    return os.posix_spawnp(argv[0], argv, env, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
                           file_actions=[(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1),
                                         (os.POSIX_SPAWN_DUP2, stderr, 2)])


def wait(pid, deadline):
    """(status, usage), or None at the deadline."""
    pidfd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        if not poller.poll(max(0, deadline - time.perf_counter()) * 1000):
            return None
        return os.wait4(pid, 0)[1:]
    finally:
        os.close(pidfd)


class ResidentWatch(threading.Thread):
    """Peak resident memory of a process tree, without the ranks. Ranks are found by the name of their program."""

    def __init__(self, pid, ranks_name, period=0.1):
        super().__init__(daemon=True)
        self.pid, self.ranks_name, self.period = pid, ranks_name, period
        self.peak = 0
        self.over = threading.Event()

    def run(self):
        before = set()
        while not self.over.wait(self.period):
            now = {}
            for pid in [self.pid, *descendants(self.pid)]:
                with contextlib.suppress(OSError, StopIteration, ValueError):
                    now[pid] = self.resident(pid)
            # A child between fork and exec shows the pages of its parent: count only processes seen twice.
            self.peak = max(self.peak, sum(size for pid, size in now.items() if pid in before))
            before = set(now)

    def resident(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if lines[0].split(None, 1)[1] == self.ranks_name:
            raise ValueError("a rank")
        return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) * 1024

    def stop(self):
        self.over.set()
        self.join()
        return self.peak


class Runner:
    """Runs programs in a clean environment. `scratch` is the directory for their files; its owner removes it."""

    def __init__(self, scratch, programs, without=()):
        """`without`: children that sweeps must not kill, such as the hosts of a testbed."""
        self.scratch, self.programs, self.without = scratch, programs, without
        keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.env = {**keep, "LANG": "C", "TMPDIR": scratch, "XDG_CONFIG_HOME": scratch}
        self.null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)

    def run(self, argv, limit, reader=None, watch=None):
        """`reader`: arguments of slow_reader. If set, stdout is a pipe to slow_reader, and the run ends with slow_reader;
        otherwise stdout is /dev/null. `watch`: name of the ranks' program. If set, the resident memory of the other
        processes is sampled."""
        errors = os.open(f"{self.scratch}/stderr", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        said = os.open(f"{self.scratch}/reader", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            return self.timed(argv, limit, reader, watch, errors, said)
        finally:
            os.close(errors)
            os.close(said)

    def timed(self, argv, limit, reader, watch, errors, said):
        sample, stdout, reader_pid = Sample(), self.null, None
        if reader is not None:
            source, stdout = os.pipe()
            reader_pid = spawn([self.programs["slow_reader"], *reader], self.env, source, said, errors)
            os.close(source)
        begin = time.perf_counter()
        pid = spawn(argv, self.env, self.null, stdout, errors)
        if reader is not None:
            os.close(stdout)
        watcher = None
        if watch:
            watcher = ResidentWatch(pid, watch)
            watcher.start()
        ended = wait(pid, begin + limit)
        if ended and reader_pid and not wait(reader_pid, begin + limit):
            ended = None
        sample.wall = time.perf_counter() - begin
        if watcher:
            sample.peak = watcher.stop()
        sample.left = sweep(GRACE if ended else 0, self.without)
        if not ended:
            sample.status, sample.why = "hung", f"timed out after {limit} s"
            return sample
        sample.cpu = ended[1].ru_utime + ended[1].ru_stime
        code = os.waitstatus_to_exitcode(ended[0])
        if code != 0:
            last = os.pread(errors, 4000, 0).decode(errors="replace").strip().splitlines()[:3]
            sample.status, sample.why = "failed", f"exit {code}: {' / '.join(last)}"
        elif reader is not None:
            sample.read = json.loads(os.pread(said, 4000, 0))
        return sample
