"""Real hosts on one machine. Each host is a set of namespaces (network, host name, mounts, processes, IPC) with an
empty home, an /etc/hosts with all names, and its own sshd. The launcher runs on `head`, which has the bridge between
the hosts and a home from which `ssh node1` works with strict host keys and without a password.

    with Testbed(4) as bed:
        bed.head.run(["ssh", "node1", "hostname"])

All traffic stays in these namespaces; the machine's own network is not touched. Process 1 of each host dies with this
process, and the host with it, so nothing is left, however a test ends. Only a killed test leaves a directory in /tmp.

Links are cut with iproute2 only: by link, by bridge port, and in one direction by an unused address of a neighbour.

As a command: testbed.py N runs a shell on `head` with N hosts."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import keys  # noqa: E402
import processes  # noqa: E402
from host import Head, Host, start_all  # noqa: E402

TOOLS = ("ip", "bridge", "tc", "ssh", "ssh-keygen", "nsenter", "/usr/sbin/sshd")
SUBNET = "10.77"


def why_not():
    """The reason why no testbed can run here, or None."""
    if os.geteuid() != 0:
        return "a testbed of network namespaces needs root"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"a testbed needs iproute2, util-linux, openssh-client and openssh-server: no {', '.join(missing)}"
    tried = subprocess.run(["unshare", "-n", "-u", "-m", "-p", "-i", "-f", "sh", "-c",
                            "ip link add tb0 type bridge && ip link add tb1 type veth peer name tb2"],
                           capture_output=True, text=True, check=False)
    return f"no namespaces, bridge or veth here: {tried.stderr.strip()}" if tried.returncode else None


class Testbed:
    """`shells`: {host name: login shell}, /bin/bash for the others."""

    def __init__(self, count, shells=None):
        self.names = [f"node{number}" for number in range(1, count + 1)]
        self.shells = shells or {}
        self.dir = None
        self.head = None
        self.hosts = {}

    def __enter__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="testbed-"))
        try:
            self._up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def __getitem__(self, name):
        return self.hosts[name]

    def close(self):
        """Ends every process on every host. May be called twice."""
        everyone = [*self.hosts.values(), *([self.head] if self.head else [])]
        for host in everyone:
            host.kill_first()
        for host in everyone:
            host.close()
        self.hosts = {}
        self.head = None
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)

    def addresses(self):
        return {name: f"{SUBNET}.{number >> 8}.{number & 255}" for number, name in enumerate(["head", *self.names], start=1)}

    def left(self):
        """The remaining processes of tests on hosts: {host: {pid: command line}}, without empty hosts."""
        everyone = self.hosts.values()
        found = processes.of_namespaces([host.namespace for host in everyone])
        left = {host.name: host.strangers(found[host.namespace]) for host in everyone}
        return {name: pids for name, pids in left.items() if pids}

    def left_after(self, seconds):
        """Waits until no process is left, or the time is over. Returns the rest."""
        deadline = time.monotonic() + seconds
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def _up(self):
        addresses = self.addresses()
        (self.dir / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in addresses.items()))
        (self.dir / "nsswitch.conf").write_text("passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
        keys.make(self.dir, self.names)
        self.head = Head("head", addresses["head"], self.dir)
        start_all([self.head])
        self.hosts = {name: Host(name, addresses[name], self.dir, self.shells.get(name)) for name in self.names}
        start_all(self.hosts.values(), before_network=lambda: self.head.plug(self.hosts.values()))


def main():
    if reason := why_not():
        print(f"testbed: {reason}", file=sys.stderr)
        return 77
    with Testbed(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as bed:
        return bed.head.run(["bash"], capture_output=False).returncode


if __name__ == "__main__":
    sys.exit(main())
