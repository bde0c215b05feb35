"""Executes the faults of a step at their times, and undoes temporary faults."""
import contextlib
import dataclasses
import os
import signal
import time

from callers import Callers
from draw import PORT, silent

SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT, "stop": signal.SIGSTOP, "pause": signal.SIGSTOP}


@dataclasses.dataclass
class Done:
    """An executed fault: `time` by the local clock, `hit` if a target existed, `until` when it was undone."""
    fault: object
    time: float
    hit: bool
    until: float = 0


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Faults:
    def __init__(self, step, field, job, reader):
        self.field, self.job, self.reader = field, job, reader
        self.start = time.monotonic()
        self.waiting = list(step.faults)
        self.undo = []  # (when, Done, function)
        self.done = []

    def turn(self):
        while self.waiting and self.start + self.waiting[0].at <= time.monotonic():
            self._do(self.waiting.pop(0))
        self.undo_what_is_over()

    def undo_what_is_over(self):
        now = time.monotonic()
        for item in [item for item in self.undo if item[0] <= now]:
            self._undo(item)

    def silenced(self):
        """The hosts that are silent now, and stay silent for long."""
        return {done.fault.host for _, done, _ in self.undo if done.fault.whom in ("link", "host", "machine") and silent(done.fault)}

    def finish(self):
        """Undoes all faults after the end of the job."""
        for item in list(self.undo):
            self._undo(item)

    def _undo(self, item):
        self.undo.remove(item)
        item[2]()
        item[1].until = time.monotonic()

    def _do(self, fault):
        done = Done(fault, time.monotonic(), True)
        self.done.append(done)
        if fault.whom == "reader":
            undo = self.reader.sleep() if fault.act == "sleep" else self.reader.close()
        elif fault.whom == "door":
            undo = Callers(self.field[fault.host], (self.field["head"].address, PORT)).stop
        elif fault.whom == "link":
            self.field[fault.host].link_down()
            undo = self.field[fault.host].link_up
        else:
            pids = self.field.whole_job() if fault.whom == "all" else self.field.targets(fault, self.job.pid)
            done.hit = bool(pids)
            send(pids, SIGNALS[fault.act])
            undo = (lambda: send(pids, signal.SIGCONT)) if fault.act == "pause" else None
        done.time = time.monotonic()
        if undo:
            self.undo.append((done.time + fault.seconds, done, undo))
