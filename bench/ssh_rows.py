"""The rows of other hosts: network namespaces with a real sshd (tests/testbed). All launchers use ssh.

The hosts share this machine's CPUs with the launcher, so most of the wall-clock time is sshd and its logins. The CPU time
is the cost of the launcher: it includes client processes (one per host), and excludes the processes of the hosts.
"""
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "testbed"))
import testbed  # noqa: E402
from rows import LINE, MIB, Contestant, Goal, Row  # noqa: E402

COUNTS = (1, 4, 16, 64)
KEY = "/root/.ssh/id_ed25519"


def wanted(only):
    """Whether `only` selects a key of these rows."""
    return not only or any(key.startswith("ssh") or "ssh".startswith(key) for key in only)


def why_not():
    """The reason why these rows cannot be measured here, or None."""
    return testbed.why_not()


class Ways:
    """The commands of each launcher for N hosts of a testbed. `bed` must stay open while the rows run."""

    def __init__(self, launchers, programs, bed):
        self.launchers, self.programs, self.bed = launchers, programs, bed
        self.on_head = ["nsenter", "-t", str(bed.head.pid), "-n", "-u", "-i", "-m"]  # nsenter execs, so it adds no process

    def to(self, count, command, own=(), hydra=()):
        """column -> Contestant that runs `command` once on each host. `own` and `hydra`: options of dlaunch and Hydra."""
        names = self.bed.names[:count]
        listed, one_each, ranks = ",".join(names), ",".join(f"{name}:1" for name in names), ["-n", str(count)]
        pdsh, mpirun = shutil.which("pdsh"), self.launchers.mpirun
        found = {"floor": Contestant([self.programs["floor_ssh"], "-i", KEY, listed, " ".join(command)], label="libssh")}
        if self.launchers.dlaunch:
            found["dlaunch"] = Contestant([self.launchers.dlaunch, *own, "-H", one_each, *ranks, *command])
        if self.launchers.hydra:
            found["Hydra"] = Contestant([self.launchers.hydra, *hydra, "-launcher", "ssh", "-hosts", listed, *ranks, *command])
        if mpirun:
            # The hosts have no keys for each other, so this machine connects to all hosts.
            options = ["--mca", "plm_rsh_agent", "ssh", "--mca", "plm_rsh_no_tree_spawn", "1",
                       "--mca", "odls_base_num_threads", "0"]
            found["Open MPI"] = Contestant([mpirun, "--allow-run-as-root", *options, "--host", one_each, *ranks, *command])
        if pdsh:
            found["ssh"] = Contestant([pdsh, "-R", "ssh", "-f", "64", "-w", listed, " ".join(command)], label="pdsh")
        return self.there(found)

    def ssh(self, name, command):
        return self.there({"ssh": Contestant(["ssh", name, *command], label="ssh")})

    def there(self, found):
        for contestant in found.values():
            contestant.argv = [*self.on_head, *contestant.argv]
            contestant.after = self.left
        return found

    def left(self):
        left = self.bed.left_after(5)
        return f"processes left on hosts: {left}" if left else ""


def ssh_rows(launchers, programs, bed):
    ways = Ways(launchers, programs, bed)
    for count in COUNTS:
        many = count == COUNTS[-1]
        yield Row(key=f"ssh-{count}", title=f"`true` on {count} host{'s' if count > 1 else ''} over ssh",
                  contestants=ways.to(count, ["true"]), goal=Goal("Hydra", 0.7) if many else None, hosts=count,
                  cpu_a_host=0.003 if many else None, rounds=2 if many else 5, limit=90)
    size = 256 * MIB
    spew = [programs["spew"], str(size)]
    contestants = {**ways.to(1, spew), **ways.ssh(bed.names[0], spew)}
    yield Row(key="ssh-output", title=f"{size // MIB} MiB of {LINE}-byte lines from one rank over ssh, to /dev/null",
              contestants=contestants, goal=Goal("floor", 0.85, True), moved=size // LINE * LINE, rounds=5)
