#!/usr/bin/env python3
"""Measures the launcher's cost of many hosts, and prints the Markdown tables of docs/performance.md.

The hosts are stubs (bench/stub_agent.h), started by bench/fake_sshd or by --exec, all on this machine. Wall-clock times
therefore include the work of the hosts. CPU, memory, descriptors and threads are only of dlaunch. scripts/bench builds
the programs.
"""
import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- scale:begin -->", "<!-- scale:end -->"
COUNTS = (1, 16, 64, 256, 1024, 2048, 4096)
DESCRIPTORS = {"ssh": 6, "exec": 3}  # open files per host, as in launcher/open_files.cpp
POLL = 0.001
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    wall: float
    cpu: float
    peak: int     # KiB resident
    files: int
    threads: int
    code: int


def watch(argv):
    """Runs the program to its end. Returns the cost of the process without its children."""
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    peak = files = threads = 0
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        with contextlib.suppress(OSError, KeyError):
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
                said = dict(line.split(":\t", 1) for line in file if ":\t" in line)
            peak = max(peak, int(said["VmHWM"].split()[0]))
            threads = max(threads, int(said["Threads"]))
            files = max(files, os.stat(f"/proc/{pid}/fd").st_size)
        time.sleep(POLL)
    wall = time.perf_counter() - start
    with open(f"/proc/{pid}/stat", "rb") as file:  # also readable for a zombie
        fields = file.read().rpartition(b")")[2].split()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Cost(wall, (int(fields[11]) + int(fields[12])) / TICKS, peak, files, threads, code)


def best(argv, rounds):
    """The round with the lowest CPU time: other processes disturbed the other rounds."""
    costs = [watch(argv) for _ in range(rounds)]
    for cost in costs:
        if cost.code != 0:
            sys.exit(f"scale: exit {cost.code}: {' '.join(argv)}")
    return min(costs, key=lambda cost: cost.cpu)


@contextlib.contextmanager
def fake_sshd(program, directory):
    """Runs the server; yields its port."""
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", f"{directory}/{key}"],
                       check=True)
    with subprocess.Popen([program, directory], stdin=subprocess.PIPE) as server:
        try:
            port = f"{directory}/port"
            while not (os.path.exists(port) and os.path.getsize(port)):
                if server.poll() is not None:
                    sys.exit("scale: fake_sshd: exited before writing its port")
                time.sleep(0.01)
            with open(port, encoding="utf-8") as file:
                yield int(file.read())
        finally:
            server.stdin.close()


def address(number):
    return f"127.77.{number // 250}.{number % 250 + 1}"


class Bench:
    def __init__(self, chosen, directory, port):
        self.build, self.rounds, self.directory, self.port = chosen.build, chosen.rounds, directory, port
        self.dlaunch = f"{chosen.build}/bin/dlaunch"

    def hostfile(self, lines):
        path = f"{self.directory}/hosts"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        return ["--hostfile", path]

    def ssh(self, count, ranks):
        hosts = self.hostfile(f"{address(i)} slots={ranks} port={self.port} identity={self.directory}/user_key"
                              for i in range(count))
        return [self.dlaunch, "--host-key", "off", *hosts, "true"]

    def libssh(self, count):
        return [f"{self.build}/bench/floor_ssh", "-p", str(self.port), "-i", f"{self.directory}/user_key",
                ",".join(address(i) for i in range(count)), "true"]

    def command(self, count, ranks):
        hosts = self.hostfile(f"node{i} slots={ranks}" for i in range(count))
        return [self.dlaunch, "--exec", f"{self.build}/bench/stub_host {{host}}", *hosts, "true"]

    def plan(self, count, ranks, *options):
        hosts = self.hostfile(f"node{i} slots={ranks}" for i in range(count))
        return [self.dlaunch, "--dry-run", *options, *hosts, "true"]


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*titles):
    return [row(*titles), "|" + "---|" * len(titles)]


def costs_of(way, argv_of, bench, base):
    """The rows of one transport, up to the limit of open files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for count, ranks in [*((count, 1) for count in COUNTS), (256, 8), (1024, 8)]:
        if count * DESCRIPTORS[way] + 256 > limit:
            print(f"scale: {count} hosts by {way}: skipped: ulimit -Hn is {limit}", file=sys.stderr)
            continue
        print(f"{way}: {count} hosts, {ranks} ranks each …", file=sys.stderr)
        cost = best(argv_of(count, ranks), bench.rounds)
        floor = best(bench.libssh(count), bench.rounds).cpu if way == "ssh" and ranks == 1 else None
        small = count < 16
        yield row(way, f"{count:,}", ranks, f"{cost.wall:.2f} s", f"{cost.cpu:.2f} s",
                  "–" if small else f"{cost.cpu / count * 1000:.2f} ms",
                  "–" if small or floor is None else f"{floor / count * 1000:.2f} ms",
                  f"{max(cost.peak, base) / 1024:.0f} MiB", "–" if small else f"{(cost.peak - base) / count:.0f} KiB",
                  f"{cost.files:,}", f"{cost.threads:,}")


def tables(bench):
    text = [f"{time.strftime('%Y-%m-%d')}; {len(os.sched_getaffinity(0))} CPUs; load {os.getloadavg()[0]:.1f}; best of "
            f"{bench.rounds}.", ""]
    text += head("transport", "hosts", "ranks per host", "wall", "CPU", "CPU per host", "libssh alone", "memory", "memory per host",
                 "open files", "threads")
    for way, argv_of in (("ssh", bench.ssh), ("exec", bench.command)):
        base = max(watch(argv_of(1, 1)).peak for _ in range(10))  # some runs end before the first measurement
        text += costs_of(way, argv_of, bench, base)
    text += ["", *head("plan only: `--dry-run`", "hosts", "ranks", "CPU", "memory")]
    for count in (1_000, 10_000):
        for name, options in (("table", ()), ("JSON", ("--format", "json"))):
            cost = best(bench.plan(count, 8, *options), bench.rounds)
            text.append(row(name, f"{count:,}", f"{count * 8:,}", f"{cost.cpu:.2f} s",
                            f"{cost.peak / 1024:.0f} MiB"))
    return "\n".join(text)


def write(path, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, found, rest = page.partition(BEGIN)
    if not found or END not in rest:
        sys.exit(f"scale: {path}: missing {BEGIN} … {END}\nadd both lines at the place of the tables")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/performance.md")
    chosen = parser.parse_args()
    missing = [name for name in ("bin/dlaunch", "bench/fake_sshd", "bench/floor_ssh", "bench/stub_host")
               if not os.access(f"{chosen.build}/{name}", os.X_OK)]
    if missing or not shutil.which("ssh-keygen"):
        sys.exit(f"scale: {missing[0] if missing else 'ssh-keygen'}: not found\nrun: "
                 "cmake --build --preset release --target dlaunch fake_sshd floor_ssh stub_host")
    os.environ.pop("SSH_AUTH_SOCK", None)  # dlaunch would try the keys of the ssh-agent first
    with tempfile.TemporaryDirectory(prefix="dlaunch-scale-") as directory:
        with fake_sshd(f"{chosen.build}/bench/fake_sshd", directory) as port:
            text = tables(Bench(chosen, directory, port))
    print(text)
    if chosen.write:
        write(f"{ROOT}/docs/performance.md", text)


if __name__ == "__main__":
    main()
