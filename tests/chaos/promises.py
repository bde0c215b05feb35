"""Whether a step kept the five promises, by what was seen of it from outside. Nothing that dlaunch says is believed; what it
says of the cause is compared with the cause. PURE."""
import dataclasses
import os
import re
import signal

import lines
from draw import GRACE

TOGETHER = 1.0  # seconds: what happens within them has no order that everybody sees alike
SLOWER = 3 if os.environ.get("SANITIZE") else 1  # as the tests' own limits
TOLD = 2 * GRACE + 8  # seconds from what ends a job to its end, where the launcher hears of it at once (docs/CONTRIBUTING.md)
BROKEN_INSIDE = re.compile(rb"internal error|terminate called|Assertion|AddressSanitizer|runtime error|Traceback")


@dataclasses.dataclass
class Ender:
    """Something that may end a job: when it happened, the code that it gives, what names it on stderr."""
    time: float
    code: int
    named: str


def enders(step, seen):
    found = [Ender(end, code, rf"rank {rank} \(host") for rank, (code, end) in seen.witness.items() if code]
    for done in seen.done:
        fault = done.fault
        if not done.pids or fault.act in ("stop", "pause"):
            continue
        if fault.whom == "launcher":
            found.append(Ender(done.time, -9 if fault.act == "kill" else 143, "" if fault.act == "kill" else "SIGTERM|TERM"))
        elif fault.whom in ("worker", "guardian"):
            found.append(Ender(done.time, 125, r"lost|host"))
        elif fault.act == "kill" or step.quirks.get(fault.rank) != "ignores TERM":
            found.append(Ender(done.time, 137 if fault.act == "kill" else 143, rf"rank {fault.rank} \(host"))
    if step.timeout and seen.ended - seen.started > step.timeout - TOGETHER:
        found.append(Ender(seen.started + step.timeout, 124, "time out"))
    return sorted(found, key=lambda ender: ender.time)


def all_ended_well(step, seen):
    return all(seen.witness.get(rank, (None,))[0] == 0 for rank in range(step.ranks))


def possible(step, seen):
    """The enders of which any may be the cause, and whether the job may also have ended well."""
    found = enders(step, seen)
    first = [ender for ender in found if ender.time <= found[0].time + TOGETHER]
    well = all_ended_well(step, seen) and not step.codes
    last = max((end for _, end in seen.witness.values() if end), default=0)
    return first, well and (not found or last <= found[0].time + TOGETHER)


def check_cause(step, seen):
    if BROKEN_INSIDE.search(seen.err):
        yield "cause: it broke inside"
    first, may_be_well = possible(step, seen)
    unheard = seen.code == -signal.SIGTERM and not seen.witness  # it came before the launcher listened to signals
    code = 143 if unheard else seen.code
    if code == 0:
        if not may_be_well:
            yield f"cause: code 0, and {[vars(ender) for ender in first]} happened; witness {seen.witness}"
        return
    if code is None:
        return
    right = [ender for ender in first if ender.code == code]
    if not right:
        yield f"cause: code {code}, and what may be the cause is {[vars(ender) for ender in first] or 'nothing'}"
    own = b"\n".join(line for line in seen.err.split(b"\n") if line.startswith(b"dlaunch: ")).decode(errors="replace")
    if right and not unheard and not any(re.search(ender.named, own) for ender in right):
        yield f"cause: code {code}, and nothing names {[ender.named for ender in right]}: {own}"


def check_time(step, seen):
    if seen.code is None:
        yield "time: it hangs"
        return
    first, _ = possible(step, seen)
    ends = [end for _, end in seen.witness.values() if end]
    if not first and len(ends) < step.ranks:
        return
    since = first[0].time if first else max(ends)
    since = max(since, *(done.time + done.fault.seconds for done in seen.done if done.fault.act == "pause"), 0)
    if seen.ended - since > SLOWER * TOLD:
        yield f"time: it ended {seen.ended - since:.1f} s after what ended it"


def check_left(_, seen):
    if seen.left:
        yield f"left behind: {seen.left}"
    if seen.files:
        yield f"left behind: {seen.files}"


def read_streams(step, seen):
    streams = lines.Streams(step.length)
    own = b"".join(line for line in seen.err.splitlines(True) if not line.startswith(b"dlaunch: "))
    if step.mode == "jsonl":
        streams.jsonl(seen.out)
    elif step.mode == "label":
        streams.labelled(seen.out)
        streams.labelled(own)
    elif step.mode in ("plain", "files"):
        streams.text(seen.out)
        streams.text(own)
    return streams


def check_bytes(step, seen):
    """Complete for ranks that ended well where launcher and agent lived; in order, whole and once for all."""
    touched = any(done.pids and done.fault.act == "kill" and done.fault.whom != "rank" for done in seen.done)
    all_streams = [read_streams(step, seen)] if step.mode in ("plain", "label", "jsonl", "files") else []
    if step.mode in ("files", "nocopy", "streams"):
        files = lines.Streams(step.length)
        for _, data in sorted(seen.logs.items()):
            files.text(data)
        all_streams.append(files)
    for streams in all_streams:
        for rank, (code, _) in seen.witness.items():
            if code == 0 and not touched:
                streams.missing(rank, step.lines)
        yield from (f"bytes: {text}" for text in streams.wrong)


def broken(step, seen):
    """What is broken of the promises, a line each."""
    return [text for check in (check_cause, check_time, check_left, check_bytes) for text in check(step, seen)]
