"""Runs one step: starts its job on the head of the testbed, executes the faults at their times, and returns the
observations."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import slowness
from draw import DISK, INPUT, Fault, silent
from faults import Faults, send  # adds tests/testbed to the path
from processes import Job

HANGS = 120  # seconds after which a job is killed


@dataclasses.dataclass
class Rank:
    """The notes of a rank: its host, and its exit code and end time if it ended by itself."""
    host: str
    code: int = None
    end: float = None


@dataclasses.dataclass
class Seen:
    code: int = None  # None: the job hung
    out: bytes = b""
    err: bytes = b""
    started: float = 0
    ended: float = 0
    done: list = dataclasses.field(default_factory=list)
    # {rank: Rank} of the ranks that started in the last round with a started rank.
    witness: dict = dataclasses.field(default_factory=dict)
    rounds: list = dataclasses.field(default_factory=list)  # such a dict for each round of a job with restarts
    told: list = dataclasses.field(default_factory=list)  # [(arrival time, line)]: the lines of dlaunch on stderr
    overlap: str = ""  # ranks that found a process of the previous round
    report: dict = None
    sums: dict = dataclasses.field(default_factory=dict)  # {rank: output of stdin_sum}
    logs: dict = dataclasses.field(default_factory=dict)  # path below logs: bytes
    left: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)
    hosts: set = dataclasses.field(default_factory=set)  # hosts with a connection
    slow: float = 1  # slowness.measured(), the larger value of before and after
    settled: float = 0  # the time at which no process and no file of the job was left

    nodes: dict = dataclasses.field(default_factory=dict)  # {host: exit code} of the other nodes of a same-line job
    # Nodes that this program signalled, because they waited for a lost launcher.
    told_by_us: set = dataclasses.field(default_factory=set)


class Reader(threading.Thread):
    """Reads a pipe to its end, unless it sleeps or closes the pipe."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.data = file, bytearray()
        self.came = []  # [(time, number of bytes so far)]
        self.awake, self.closed = threading.Event(), False
        self.awake.set()
        self.start()

    def run(self):
        while not self.closed:
            self.awake.wait()
            if not select.select([self.file], [], [], 0.05)[0] or not self.awake.is_set():
                continue
            piece = os.read(self.file.fileno(), 65536)
            if not piece:
                break
            self.data += piece
            self.came.append((time.monotonic(), len(self.data)))
        self.file.close()

    def told(self):
        """[(arrival time of the whole line, line)] of dlaunch's lines."""
        found, at = [], 0
        for line in bytes(self.data).splitlines(True):
            at += len(line)
            if line.startswith(b"dlaunch: "):
                found.append((next(when for when, bytes_ in self.came if bytes_ >= at), line.decode(errors="replace").rstrip()))
        return found

    def sleep(self):
        self.awake.clear()
        return self.awake.set

    def close(self):
        self.closed = True


def read_rounds(witness):
    """The notes of each round up to the last round with a started rank."""
    rounds = [read_witness(directory) for directory in sorted(witness.iterdir(), key=lambda path: path.name) if directory.is_dir()]
    while rounds and not rounds[-1]:
        rounds.pop()
    return rounds


def read_witness(directory):
    found = {}
    for file in directory.iterdir():
        if not file.name.isdigit() or file.is_dir():
            continue
        words = [line.split() for line in file.read_text().splitlines()]
        rank = Rank(words[0][2] if words else "")
        for line in words:
            if line[0] == "end":
                rank.code, rank.end = int(line[1]), int(line[2]) / 1e9
        found[int(file.name)] = rank
    return found


class Scratch:
    """The working directory of a job, with the ranks' notes and logs, which may be on a small disk."""

    def __init__(self, step, field):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
        self.witness, self.logs, self.head = self.path / "witness", self.path / "logs", field.bed.head
        for directory in (self.witness, *(self.witness / str(round_) for round_ in range(step.restarts + 2 if step.restarts else 0))):
            directory.mkdir()
        self.full_disk = step.full_disk
        if self.full_disk:
            self.logs.mkdir()
            self.head.sh(f"mount -t tmpfs -o size={DISK} chaos {self.logs}")

    def has_begun(self):
        """Whether any rank has started."""
        return any(not path.is_dir() for path in self.witness.rglob("*"))

    def read_logs(self):
        if not self.full_disk:
            return {str(path): path.read_bytes() for path in self.logs.rglob("*") if path.is_file()}
        inside = pathlib.Path(f"/proc/{self.head.pid}/root{self.logs}")
        return {str(path): path.read_bytes() for path in inside.rglob("*") if path.is_file()}

    def overlap(self):
        file = self.witness / "overlap"
        return file.read_text() if file.exists() else ""

    def report(self):
        """The report; None if the job wrote none or was killed."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.path / "report.json").read_text())
        return None

    def remove(self):
        if self.full_disk:
            self.head.sh(f"umount -l {self.logs}")
        shutil.rmtree(self.path)


class Nodes:
    """The other nodes of a same-line job; each starts at its own time."""

    def __init__(self, step, field, dlaunch, programs, env, cwd):
        self.starts = sorted((when, host) for host, when in step.starts.items() if host != "head")
        self.words = lambda host: [dlaunch, *step.words(programs, step.nodes().index(host))]
        self.field, self.env, self.cwd, self.jobs = field, env, str(cwd), {}

    def turn(self, since):
        while self.starts and since + self.starts[0][0] <= time.monotonic():
            _, host = self.starts.pop(0)
            enter, *words = self.field[host].command(["sh", "-c", 'cd "$0"; "$@"; exit $?', self.cwd, *self.words(host)])
            # With its own fork, nsenter would stop together with dlaunch and miss its continuation.
            self.jobs[host] = Job([enter, "--no-fork", *words], env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tell_who_waits(self, seconds):
        """The launcher is lost and no rank has started. A node that has not connected yet waits for another launcher,
        so this function signals it, as a user would. Returns the signalled hosts."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(job.poll() is None for job in self.jobs.values()):
            time.sleep(0.02)
        waiting = {host for host, job in self.jobs.items() if job.poll() is None}
        for host in waiting:
            send(self.field.targets(Fault(0, "term", "node", host=host), 0), signal.SIGTERM)
        return waiting

    def codes(self):
        return {host: job.poll() for host, job in self.jobs.items()}


UNREACHED = re.compile(rb"^dlaunch: processes of the job may still run on .*;.* kills? them:\n((?:dlaunch:   .*\n)+)", re.M)
TARGET = re.compile(r"\b(node\d+) \w+$")


def commands_of(err):
    """{host: command} of the hosts that dlaunch could not reach."""
    found = {}
    for block in UNREACHED.findall(err):
        for line in block.decode().splitlines():
            command = line.removeprefix("dlaunch:   ")
            if host := TARGET.search(command):
                found[host[1]] = command
    return found


def end_silence(seen, field, faults, err):
    """Ends all faults, and runs the commands that dlaunch printed for unreached hosts, as a user would. Adds the
    processes that then remain."""
    commands, since = commands_of(err), time.monotonic()
    silenced = max((since - done.time for done in seen.done if done.hit and silent(done.fault)), default=0)
    faults.finish()
    for command in commands.values():
        done = field.bed.head.run(["sh", "-c", command])
        if done.returncode != 0:
            seen.left[command] = done.stderr
    if silenced:  # TCP repeats packets after doubling delays
        seen.left |= field.left_after(2 * seen.slow + 10 + min(2 * silenced, 90), False, lambda: None)


def write_hosts(step, scratch, programs):
    """A hostfile, and agents with shifted clocks. The name of the processes is dlaunch-agent, as of other agents."""
    program = scratch.path / "dlaunch-agent"
    program.symlink_to(f"{programs}/agent_with_shifted_clock")
    for host, shift in step.clocks.items():
        agent = scratch.path / f"agent.{host}"
        agent.write_text(f'#!/bin/sh\nCLOCK_SHIFT_MS={shift} exec {program} "$@"\n')
        agent.chmod(0o755)
    (scratch.path / "hosts").write_text(step.hostfile().format(agents=scratch.path))


def run_step(step, field, dlaunch, programs, settles):
    """`settles`: a function that returns the seconds from the end of the job until nothing may be left."""
    scratch = Scratch(step, field)
    env = {"PATH": os.environ["PATH"], "HOME": "/root", "WITNESS": str(scratch.witness), "PROGRAMS": str(programs)}
    slow = slowness.measured(dlaunch)
    field.begin()
    step.wait = int(step.wait * slow)
    (scratch.path / "key").write_text("a key that nobody can guess in time\n")
    (scratch.path / "key").chmod(0o600)
    if step.clocks:
        write_hosts(step, scratch, programs)
    seen = Seen(started=time.monotonic(), slow=slow)
    nodes = Nodes(step, field, dlaunch, programs, env, scratch.path)
    while time.monotonic() < seen.started + step.starts.get("head", 0):
        nodes.turn(seen.started)
        time.sleep(0.002)
    job = Job([dlaunch, *step.words(programs)], env=env, cwd=scratch.path, preexec_fn=field.bed.head.enter(scratch.path),
              stdin=subprocess.PIPE if step.stdin else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    readers = [Reader(job.stdout), Reader(job.stderr)]
    if step.stdin:
        threading.Thread(target=feed, args=(job.stdin,), daemon=True).start()
    faults = Faults(step, field, job, readers[0])
    while job.poll() is None and time.monotonic() < seen.started + seen.slow * HANGS * (2 if step.restarts else 1):
        nodes.turn(seen.started)
        faults.turn()
        time.sleep(0.002)
    seen.ended = time.monotonic()
    seen.code = job.poll()
    seen.done = faults.done
    seen.slow = max(seen.slow, slowness.measured(dlaunch))
    if seen.code is not None:
        if nodes.jobs and not scratch.has_begun():
            seen.told_by_us = nodes.tell_who_waits(2 * seen.slow)
        cut = any(done.fault.whom == "link" or silent(done.fault) for done in seen.done)
        silenced = faults.silenced()
        unreached = silenced if seen.code == -signal.SIGKILL else {host for host in commands_of(bytes(readers[1].data)) if host in silenced}
        seen.left = field.left_after(settles(seen), not cut, faults.undo_what_is_over, unreached, silenced)
        seen.settled = time.monotonic()
        end_silence(seen, field, faults, bytes(readers[1].data))
    faults.finish()
    if seen.code is None:
        job.kill()
        job.wait()
    seen.nodes = nodes.codes()
    field.kill_left()
    for each in nodes.jobs.values():
        each.wait()
    for reader in readers:
        reader.join(5)
    seen.out, seen.err = (bytes(reader.data) for reader in readers)
    seen.witness, seen.logs = read_witness(scratch.witness), scratch.read_logs()
    if step.restarts:
        seen.rounds = read_rounds(scratch.witness)
        seen.witness = seen.rounds[-1] if seen.rounds else {}
        seen.told, seen.overlap, seen.report = readers[1].told(), scratch.overlap(), scratch.report()
    seen.sums = {int(file.name[3:]): file.read_text() for file in scratch.witness.glob("in.*")}
    seen.hosts = field.touched()
    scratch.remove()
    seen.files = field.files_left()
    return seen


def feed(pipe):
    try:
        pipe.write(INPUT)
        pipe.close()
    except OSError:  # the job ended before it read all input
        pass
