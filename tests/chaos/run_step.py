"""Runs one step: starts its job on the testbed's head, does the faults at their times, and gives back what was seen."""
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

HANGS = 90  # seconds after which a job is ended from outside


@dataclasses.dataclass
class Done:
    """A fault that was done: when, by our clock, and whether there was something to be hit."""
    fault: object
    time: float
    pids: list


@dataclasses.dataclass
class Seen:
    """`witness`: {rank: (end code or None, time of its end or None)}, of ranks that began."""
    code: int = None  # None: it hung
    out: bytes = b""
    err: bytes = b""
    started: float = 0
    ended: float = 0
    done: list = dataclasses.field(default_factory=list)
    witness: dict = dataclasses.field(default_factory=dict)
    logs: dict = dataclasses.field(default_factory=dict)  # path below logs: bytes
    left: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)
    settled: float = 0  # when nothing was left any more


class Reader(threading.Thread):
    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd, self.data = fd, bytearray()
        self.start()

    def run(self):
        while piece := os.read(self.fd, 65536):
            self.data += piece


def read_witness(directory):
    found = {}
    for file in directory.iterdir():
        words = [line.split() for line in file.read_text().splitlines()]
        ends = [line for line in words if line[0] == "end"]
        found[int(file.name)] = (int(ends[0][1]), int(ends[0][2]) / 1e9) if ends else (None, None)
    return found


def faults_at_their_times(step, field, job, seen):
    """Until the job has ended, or hangs. What is paused is continued, whatever happens."""
    waiting = list(step.faults)
    paused = []
    while job.poll() is None and time.monotonic() < seen.started + HANGS:
        now = time.monotonic()
        while waiting and seen.started + waiting[0].at <= now:
            fault = waiting.pop(0)
            pids = field.hit(fault, job.pid)
            seen.done.append(Done(fault, now, pids))
            if fault.act == "pause":
                paused.append((now + fault.seconds, pids))
        for item in [item for item in paused if item[0] <= now]:
            paused.remove(item)
            go_on(item[1])
        time.sleep(0.002)
    for _, pids in paused:
        go_on(pids)


def go_on(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def run_step(step, field, dlaunch, programs, settle):
    """`settle`: seconds in which nothing may be left, once the job has ended."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    witness = directory / "witness"
    witness.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": "/root", "WITNESS": str(witness), "PROGRAMS": str(programs)}
    seen = Seen(started=time.monotonic())
    job = subprocess.Popen([dlaunch, *step.words()], env=env, cwd=directory, preexec_fn=field.bed.head.enter(directory),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    readers = [Reader(job.stdout.fileno()), Reader(job.stderr.fileno())]
    faults_at_their_times(step, field, job, seen)
    seen.ended = time.monotonic()
    seen.code = job.poll()
    if seen.code is not None:
        seen.left = field.left_after(settle)
        seen.settled = time.monotonic()
    else:
        job.kill()
        job.wait()
    field.kill_left()
    for reader in readers:
        reader.join(5)
    seen.out, seen.err = (bytes(reader.data) for reader in readers)
    job.stdout.close()
    job.stderr.close()
    seen.witness = read_witness(witness)
    logs = directory / "logs"
    seen.logs = {str(path.relative_to(logs)): path.read_bytes() for path in logs.rglob("*") if path.is_file()}
    seen.files = field.files_left()
    shutil.rmtree(directory)
    return seen
