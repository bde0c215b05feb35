"""Where steps run: the testbed in namespaces of the process that calls. It finds a job's processes by /proc alone, and does
faults to them."""
import contextlib
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import processes  # noqa: E402
import testbed  # noqa: E402

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "stop": signal.SIGSTOP, "pause": signal.SIGSTOP}


def everyone():
    """All that live in this process namespace: {pid: command line}. Zombies do not."""
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return {pid: processes.command_line(pid) for pid in pids if processes.state_of(pid) not in (None, "Z", "X")}


def parent(pid):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def variable(pid, name):
    """Of its environment; None without."""
    with contextlib.suppress(OSError):
        for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(name.encode() + b"="):
                return entry.split(b"=", 1)[1].decode()
    return None


def is_agent(pid):
    return "dlaunch-agent" in processes.command_line(pid).split(" ")[0]


class Field:
    def __init__(self, bed):
        self.bed = bed
        self.mounts = self._mounts()
        self.before = set(everyone())

    def _mounts(self):
        return {host.name: pathlib.Path(f"/proc/{host.pid}/mounts").read_text()
                for host in (self.bed.head, *self.bed.hosts.values())}

    def new(self):
        return {pid: line for pid, line in everyone().items() if pid not in self.before and pid != os.getpid()}

    def targets(self, fault, launcher):
        """The pids that a fault is meant for; none when there is no such process now."""
        if fault.whom == "launcher":
            return [launcher] if processes.state_of(launcher) not in (None, "Z") else []
        agents = [pid for pid in self.new() if is_agent(pid)]
        workers = [pid for pid in agents if parent(pid) in agents]
        if fault.whom == "guardian":
            return [pid for pid in agents if pid not in workers][:1]
        if fault.whom == "worker":
            return workers[:1]
        return [pid for pid in self.new() if parent(pid) in workers and variable(pid, "RANK_ID") == str(fault.rank)][:1]

    def hit(self, fault, launcher):
        """Does it; whether there was something to be hit, and the pids that are to be continued."""
        pids = self.targets(fault, launcher)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, SIGNALS[fault.act])
        return pids

    def left_after(self, seconds):
        """What of the job still lives then; as soon as nothing does."""
        deadline = time.monotonic() + seconds
        while (left := self.new()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def kill_left(self):
        for _ in range(100):
            left = self.new()
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def files_left(self):
        """That a job made and nobody asked for."""
        found = [f"mounts of {name}" for name, text in self._mounts().items() if self.mounts[name] != text]
        for host in (self.bed.head, *self.bed.hosts.values()):
            found += [f"{host.name}: {path}" for path in host.sh("ls -d /dev/shm/* /root/.dlaunch* 2>/dev/null || true").split()]
        found += [str(path) for path in pathlib.Path("/tmp").iterdir() if not path.name.startswith(("testbed-", "chaos-"))]
        return found


@contextlib.contextmanager
def field(hosts):
    with testbed.Testbed(hosts) as bed:
        yield Field(bed)
