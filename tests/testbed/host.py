"""One host of a testbed: process 1, which owns the namespaces and reaps, and sshd below it. A Testbed owns the host."""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time
import traceback

import namespaces
import processes

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
START_TIMEOUT = 60
SSHD = "/usr/sbin/sshd"
BRIDGE = "tb-bridge"
NOWHERE = "02:00:00:00:00:01"  # no interface of a testbed has this address
KINDS = ("net", "uts", "ipc", "mnt")


def ip_batch(lines, tool="ip"):
    subprocess.run([tool, "-batch", "-"], input="\n".join(lines), text=True, check=True)


def start_all(hosts, before_network=None):
    """Starts all hosts in parallel: each host makes its namespaces, gets its cable, configures it, and starts its
    services."""
    hosts = list(hosts)
    for host in hosts:
        host.fork()
    for host in hosts:
        host.await_step("namespaces")
        host.open_namespaces()
    if before_network:
        before_network()
    for host in hosts:
        host.go_on()
    for host in hosts:
        host.await_step("network and sshd")


class Host:
    own_processes = True

    def __init__(self, name, address, shared, shell=None):
        self.name, self.address, self.shared, self.shell = name, address, shared, shell
        self.log = shared / f"{name}.sshd.log"
        self.daemons = []  # words in the command lines of long-running daemons
        self.pid = None  # of process 1, in the outer process namespace
        self.namespace = None
        self.sshd = None
        self._fds = {}
        self._said = self._go = None

    # ---- coming up: in the parent ----

    def fork(self):
        said_read, said_write = os.pipe()
        go_read, go_write = os.pipe()
        self.pid = namespaces.fork_first_process() if self.own_processes else os.fork()
        if self.pid == 0:
            os.close(said_read)
            os.close(go_write)
            self._be_first(said_write, go_read)
        os.close(said_write)
        os.close(go_read)
        self._said, self._go = said_read, go_write

    def await_step(self, what):
        ready, _, _ = select.select([self._said], [], [], START_TIMEOUT)
        if not ready or os.read(self._said, 1) != b"k":
            log = self.log.read_text() if self.log.exists() else ""
            raise RuntimeError(f"testbed: {self.name}: no {what} {log}")

    def go_on(self):
        os.write(self._go, b"g")

    def open_namespaces(self):
        for kind in KINDS:
            self._fds[kind] = os.open(f"/proc/{self.pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
        self.namespace = processes.namespace_of(self.pid)

    # ---- coming up: process 1 ----

    def _be_first(self, said, go):
        """Never returns. Does not run the parent's code (such as atexit handlers)."""
        try:
            namespaces.die_with_parent()
            os.setsid()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            namespaces.unshare(namespaces.NEWNS | namespaces.NEWUTS | namespaces.NEWIPC | namespaces.NEWNET)
            namespaces.set_host_name(self.name)
            self._mount()
            os.write(said, b"k")
            if os.read(go, 1) == b"g":
                self._start_network()
                self._start_services()
                os.write(said, b"k")
                signal.signal(signal.SIGCHLD, lambda *_: None)
                self._reap_for_ever()
        except BaseException:
            traceback.print_exc()
        os._exit(1)

    def _mount(self):
        namespaces.keep_mounts_private()
        for path, mode in (("/root", "0700"), ("/run", "0755"), ("/dev/shm", "1777")):
            namespaces.hide(path, mode, keep=[CHECKOUT])
        os.mkdir("/run/sshd")
        if self.own_processes:
            namespaces.mount_proc()
        for name in ("hosts", "nsswitch.conf"):
            if os.path.exists(f"/etc/{name}"):
                namespaces.bind(self.shared / name, f"/etc/{name}")
        if self.shell:
            self._set_login_shell()

    def _set_login_shell(self):
        users = pathlib.Path("/etc/passwd").read_text().splitlines(True)
        root = f"root:x:0:0:root:/root:{self.shell}\n"
        own = self.shared / f"{self.name}.passwd"
        own.write_text("".join(root if line.startswith("root:") else line for line in users))
        namespaces.bind(own, "/etc/passwd")

    def _start_network(self):
        ip_batch(["link set lo up", f"addr add {self.address}/16 dev eth0", "link set eth0 up"])

    def _start_services(self):
        """Returns once sshd listens."""
        if os.fork() == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            clean = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
            os.execve(SSHD, [SSHD, "-D", "-f", str(self.shared / "sshd_config"), "-E", str(self.log)], clean)
        deadline = time.monotonic() + START_TIMEOUT
        while "00000000:0016 " not in pathlib.Path("/proc/net/tcp").read_text():
            if time.monotonic() > deadline:
                raise TimeoutError("sshd does not listen")
            time.sleep(0.005)

    def _reap_for_ever(self):
        while True:
            with contextlib.suppress(ChildProcessError):
                os.wait()
                continue
            signal.pause()

    # ---- going down ----

    def kill_first(self):
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self):
        if self.pid:
            os.waitpid(self.pid, 0)
        for fd in [*self._fds.values(), *(fd for fd in (self._said, self._go) if fd is not None)]:
            os.close(fd)
        self._fds, self._said, self._go, self.pid = {}, None, None, None

    # ---- on the host ----

    def run(self, words, **options):
        """Runs a command on the host to its end. Returns a subprocess.CompletedProcess with text."""
        options = {"capture_output": True, "text": True, "check": False} | options
        return subprocess.run(self.command(words), **options)

    def sh(self, script):
        """Runs a shell script on the host, which must succeed. Returns its stdout."""
        done = self.run(["sh", "-c", script])
        if done.returncode != 0:
            raise RuntimeError(f"testbed: {self.name}: {script}: {done.stderr}")
        return done.stdout

    def command(self, words):
        """The command line that runs `words` on this host from the outer machine."""
        enter = ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", *(["-p"] if self.own_processes else [])]
        return [*enter, "env", "HOME=/root", *words]

    def processes(self):
        """All processes in the host's network namespace: {outer pid: command line}."""
        return processes.of_namespaces([self.namespace])[self.namespace]

    def strangers(self, found=None):
        """The processes without process 1, the listening sshd and the daemons."""
        found = self.processes() if found is None else found
        own = ["[listener]", *self.daemons]
        return {pid: line for pid, line in found.items() if pid != self.pid and not any(words in line for words in own)}

    def find(self, part):
        return [pid for pid, line in self.strangers().items() if part in line]

    def kill_sshd(self):
        """Simulates a crash of sshd: kills the listener and all processes of its sessions at once, and waits for their
        end."""
        killed = [pid for pid, line in self.processes().items() if line.startswith(("sshd:", SSHD))]
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._until(lambda: not self.processes().keys() & killed, "its sshd has not ended")

    def start_sshd(self, *lines):
        """Starts sshd after kill_sshd(). `lines` replace the lines of its configuration with the same keywords."""
        keywords = tuple(line.split()[0] for line in lines)
        usual = (self.shared / "sshd_config").read_text().splitlines()
        own = self.shared / f"{self.name}.sshd_config"
        own.write_text("\n".join([*lines, *(line for line in usual if not line.startswith(keywords))]) + "\n")
        self.sh(f"{SSHD} -f {own} -E {self.log}")  # returns before sshd listens
        self.wait_for_port(22)

    def wait_for_port(self, port):
        self._until(lambda: self.sh(f"ss -Htln sport = :{port}"), f"nothing listens on port {port}")

    def _until(self, holds, otherwise):
        deadline = time.monotonic() + START_TIMEOUT
        while not holds():
            if time.monotonic() > deadline:
                raise RuntimeError(f"testbed: {self.name}: {otherwise}")
            time.sleep(0.05)

    # ---- its cable ----

    def link_down(self):
        """Removes the cable at the host; for other hosts this equals a power cut."""
        self.sh("ip link set eth0 down")

    def link_up(self):
        self.sh("ip link set eth0 up")

    def drop_outgoing(self, to):
        """Drops the packets that this host sends to `to`, silently and in this direction only. Until lose_nothing()."""
        self.sh(f"ip neigh replace {to.address} lladdr {NOWHERE} nud permanent dev eth0")

    def lose_nothing(self, to):
        self.sh(f"ip neigh flush to {to.address} dev eth0 nud permanent")

    def slow_down(self, rate="1mbit"):
        self.sh(f"tc qdisc replace dev eth0 root tbf rate {rate} burst 16kb latency 2s")


class Head(Host):
    """The host of the launcher. Its processes have the same pids as outside, so that a test can wait for them and kill
    them as its own children."""

    own_processes = False

    def _mount(self):
        super()._mount()
        os.mkdir("/root/.ssh", 0o700)
        for source, name in (("user_key", "id_ed25519"), ("known_hosts", "known_hosts"), ("ssh_config", "config")):
            shutil.copyfile(self.shared / source, f"/root/.ssh/{name}")
            os.chmod(f"/root/.ssh/{name}", 0o600)

    def _start_network(self):
        ip_batch(["link set lo up", f"link add {BRIDGE} type bridge", f"addr add {self.address}/16 dev {BRIDGE}",
                  f"link set {BRIDGE} up"])

    def _start_services(self):
        """The launcher's machine needs no services."""

    def plug(self, hosts):
        """Adds a cable from the bridge to each host."""
        lines = []
        for host in hosts:
            lines += [f"link add {host.name} type veth peer name eth0 netns {host.pid}", f"link set {host.name} master {BRIDGE} up"]
        done = self.run(["ip", "-batch", "-"], input="\n".join(lines))
        if done.returncode != 0:
            raise RuntimeError(f"testbed: cables: {done.stderr}")

    def enter(self, cwd=None):
        """For Popen's preexec_fn: the child runs on this host."""
        fds = list(self._fds.values())

        def there():
            for fd in fds:
                namespaces.setns(fd)
            os.chdir(cwd or "/")

        return there

    def drop_both_ways(self, host):
        """Drops all packets of a host, without a visible change of its link. Until deliver()."""
        self.sh(f"bridge link set dev {host.name} state 0")

    def deliver(self, host):
        self.sh(f"bridge link set dev {host.name} state 3")

    def drop_outgoing(self, to):
        self.sh(f"ip neigh replace {to.address} lladdr {NOWHERE} nud permanent dev {BRIDGE}")

    def lose_nothing(self, to):
        self.sh(f"ip neigh flush to {to.address} dev {BRIDGE} nud permanent")

    def kill_first(self):
        for pid in self.strangers() if self.namespace else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().kill_first()
