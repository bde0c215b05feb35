"""The testbed in the namespaces of the calling process. Finds the processes of a job only through /proc, and reports
the processes and files that are left."""
import contextlib
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import processes  # noqa: E402
import testbed  # noqa: E402
from draw import HOSTS  # noqa: E402

KEPT = set(pathlib.Path("/tmp").iterdir())  # the checkout, the binary and the programs, if they are below /tmp


def everyone():
    """All running processes in this process namespace: {pid: command line}. Zombies are excluded."""
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
    return {pid: processes.command_line(pid) for pid in pids if processes.state_of(pid) not in (None, "Z", "X")}


def parent(pid):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def variable(pid, name):
    """The value of a variable in the environment of a process, or None."""
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
        self.logged = {}

    def __getitem__(self, name):
        return self.bed.head if name == "head" else self.bed[name]

    def all_hosts(self):
        return [self.bed.head, *self.bed.hosts.values()]

    def _mounts(self):
        return {host.name: set(pathlib.Path(f"/proc/{host.pid}/mounts").read_text().splitlines()) for host in self.all_hosts()}

    def new(self, host=None):
        """The processes that a step started, on all hosts or on one host."""
        found = {pid: line for pid, line in everyone().items() if pid not in self.before and pid != os.getpid()}
        if host is None:
            return found
        return {pid: line for pid, line in found.items() if processes.namespace_of(pid) == self[host].namespace}

    def targets(self, fault, launcher):
        """The pids of a fault's target; empty if no such process exists now."""
        if fault.whom == "launcher":
            return [launcher] if processes.state_of(launcher) not in (None, "Z") else []
        if fault.whom == "machine":
            return [pid for pid in self[fault.host].processes() if pid != self[fault.host].pid]
        there = self.new(fault.host)
        if fault.whom == "host":
            return list(there)
        if fault.whom == "node":
            return [pid for pid, line in there.items() if line.split(" ")[0].endswith("/dlaunch")]
        if fault.whom == "sshd":
            return [pid for pid, line in there.items() if line.startswith("sshd")]
        agents = [pid for pid in there if is_agent(pid)]
        workers = [pid for pid in agents if parent(pid) in agents]
        if fault.whom == "guardian":
            return [pid for pid in agents if pid not in workers][:1]
        if fault.whom == "worker":
            return workers[:1]
        return [pid for pid in there if parent(pid) in workers and variable(pid, "RANK_ID") == str(fault.rank)][:1]

    def whole_job(self):
        """Launcher, agents and ranks, with the processes that they left and the processes that connect them."""
        return list(self.new())

    def left_after(self, seconds, sshd_too, turn, unreached=(), silent=()):
        """Waits until no process of the job is left, at most `seconds`. Returns the remaining processes. An sshd that
        cannot reach the launcher ends when TCP times out. `turn` is called repeatedly. Ignores all processes on the
        hosts `unreached`, and agents on the hosts `silent`."""
        deadline = time.monotonic() + seconds
        ignored = {self[host].namespace for host in unreached}
        agentless = {self[host].namespace for host in silent}
        while True:
            turn()
            left = {pid: line for pid, line in self.new().items()
                    if (sshd_too or not line.startswith("sshd")) and (where := processes.namespace_of(pid)) not in ignored
                    and not (where in agentless and is_agent(pid))}
            if not left or time.monotonic() >= deadline:
                return left
            time.sleep(0.02)

    def kill_left(self):
        for _ in range(200):
            left = self.new()
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def begin(self):
        self.logged = {name: self.bed[name].log.stat().st_size for name in HOSTS}

    def touched(self):
        """The hosts with a connection since begin()."""
        return {name for name in HOSTS if self.bed[name].log.stat().st_size != self.logged[name]}

    def files_left(self):
        """The files that a job made without a request."""
        now = self._mounts()
        found = [f"mount on {name}: {line}" for name in now for line in now[name] - self.mounts[name]]
        for host in self.all_hosts():
            found += [f"{host.name}: {path}" for path in host.sh("ls -d /dev/shm/* /root/dlaunch* 2>/dev/null || true").split()]
            host.sh("rm -rf /dev/shm/*")
        strange = [path for path in pathlib.Path("/tmp").iterdir()
                   if not path.name.startswith(("testbed-", "chaos-")) and path not in KEPT]
        for path in strange:
            path.unlink() if path.is_file() else os.system(f"rm -rf '{path}'")
        return found + [str(path) for path in strange]


@contextlib.contextmanager
def field():
    with testbed.Testbed(len(HOSTS)) as bed:
        yield Field(bed)
