"""Whether a step kept the five promises, by what was seen of it from outside. Nothing that dlaunch says is believed; what it
says of the cause is compared with the cause. PURE."""
import dataclasses
import re
import signal

import lines
from draw import GRACE, IN_FILES, INPUT, ON_CONSOLE, SILENT

# Seconds on a quiet machine; Seen.slow says how much longer they are on this one.
TOGETHER = 1.0  # what happens within them has no order that everybody sees alike
TOLD = 2 * GRACE + 8  # from what ends a job to its end, where the launcher hears of it at once (docs/CONTRIBUTING.md)
BROKEN_INSIDE = re.compile(rb"internal error|terminate called|Assertion|AddressSanitizer|runtime error|Traceback")
# UCX and MPICH give a segment a name and take it away once all have it open: ranks killed between leave it.
OF_LIBRARIES = ("/dev/shm/ucx_shm_posix_", "/dev/shm/mpich_shar_tmp")
STACKS = re.compile(r"/stacks\.\d+$")  # what dlaunch writes beside the files of ranks when a time limit ends them
STARTS = 2  # within which every host has been logged in to
RIDES_OUT = 10  # seconds without a word that no job may be hurt by


def sum_of(data):
    """As tests/programs/stdin_sum prints it."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{len(data)} {value:016x}\n"


INPUT_SUM = sum_of(INPUT)


@dataclasses.dataclass
class Ender:
    """Something that may end a job: when it happened, the code that it gives, what names it on stderr, and how long after it
    the launcher may hear of it. One that is not `sure` may also be without effect; no round follows a `last` one. `host`: that
    it makes a lost one."""
    time: float
    code: int
    named: str
    heard: float = 0
    sure: bool = True
    last: bool = False
    host: str = ""


def named(host):
    """What names it, also in a folded list of hosts: node[1,3]."""
    return rf"{host}|node\[[\d,-]*\]" if host.startswith("node") else re.escape(host)


def silent(fault):
    """Whether it lets a host fall silent for longer than a job rides out."""
    return fault.act == "stop" or (fault.act in ("down", "pause") and fault.seconds >= RIDES_OUT)


def ender_of(done, step, seen):
    """None for a fault that ends no job."""
    fault, host = done.fault, named(done.fault.host)
    if step.way == "exec":
        host = "node"  # which of its names the agent has, /proc does not tell
    if (fault.act in ("pause", "sleep", "call") and not silent(fault)) or not done.hit:
        return None
    if fault.whom == "launcher":
        return Ender(done.time, -9, "", last=True) if fault.act == "kill" else \
            Ender(done.time, 143 if fault.act == "term" else 130, "TERM" if fault.act == "term" else "INT", last=True)
    if fault.whom == "rank":
        sure = fault.act == "kill" or step.quirks.get(fault.rank) != "ignores TERM"
        return Ender(done.time, 137 if fault.act == "kill" else 143, rf"rank {fault.rank} \(host", 0, sure)
    if fault.whom == "reader":
        return Ender(done.time, 141, "", 2 * seen.slow, False, last=True)
    if fault.whom == "link" and not silent(fault):
        return None
    if step.way == "same-line":
        # Before all nodes are in, one that left may come again: it is waited for, and named by its number.
        lost = rf"{host}|nodes? [\d,-]*\d"
        heard = (SILENT if silent(fault) else 0) + (0 if seen.witness else step.wait)
        return Ender(done.time, 125, lost, heard, bool(seen.witness), last=not seen.witness, host=fault.host)
    # An sshd that goes away before the login is tried again.
    sure = fault.whom != "sshd" or done.time > seen.started + seen.slow * STARTS
    return Ender(done.time, 125, host, SILENT if silent(fault) else 0, sure, host=fault.host)


def heard_later(ender, seen):
    """A launcher that stood still heard of it when it went on, and of all that came meanwhile at once; so did a worker."""
    for done in seen.done:
        stood = done.fault.whom in ("launcher", "all") or (done.fault.whom in ("worker", "node") and is_behind(done.fault.host, ender))
        if done.fault.act == "pause" and stood and done.time <= ender.time + ender.heard <= done.until:
            ender.heard = done.until - ender.time
        if done.fault.act == "down" and is_behind(done.fault.host, ender):
            # TCP tries again after a pause that doubles: at the latest when the link has been up for as long as it was down.
            heard = done.time + 2 * done.fault.seconds
            if done.time <= ender.time < done.time + done.fault.seconds:
                ender.heard = max(ender.heard, heard - ender.time)
    return ender


def is_behind(host, ender):
    """Whether the launcher may hear of it from that host alone. Which host a rank is on is not looked at."""
    return ender.named.startswith("rank ") or ender.host == host or ender.named == named(host)


def enders(step, seen, witness=None):
    """`witness`: of one round."""
    found = [Ender(rank.end, rank.code, rf"rank {number} \(host") for number, rank in (seen.witness if witness is None else witness).items() if rank.code]
    found += [ender for ender in (ender_of(done, step, seen) for done in seen.done) if ender]
    if step.timeout and seen.ended - seen.started > step.timeout - seen.slow * TOGETHER:
        found.append(Ender(seen.started + step.timeout, 124, "timed out", last=True))
    found += told_at_nodes(step, seen)
    if step.full_disk:
        found.append(Ender(seen.started, 1, "No space left on device", seen.ended - seen.started, False, last=True))
    return sorted((heard_later(ender, seen) for ender in found), key=lambda ender: ender.time)


def told_at_nodes(step, seen):
    """A node that is told to end tells the launcher; before it has an agent it ends by itself."""
    if step.way != "same-line":
        return
    lost = set()  # one of these may have no link any more by which it could tell
    for done in seen.done:
        fault = done.fault
        if done.hit and fault.whom == "node" and fault.act in ("term", "int"):
            sure = bool(seen.witness) and fault.host not in lost
            yield Ender(done.time, 143 if fault.act == "term" else 130, "TERM" if fault.act == "term" else "INT", 0, sure, last=True)
        elif done.hit and fault.whom in ("node", "guardian", "worker", "link"):
            lost.add(fault.host)
    if not seen.witness:
        yield Ender(seen.started, 125, r"timed out waiting for node|lost node", step.wait, False, last=True)


def check_nodes(step, seen):
    """Each other node of a same-line job that nothing happened to ends with its code. A killed launcher may have told another."""
    if any(done.hit and done.fault.whom == "all" for done in seen.done) or seen.code is None or seen.code < 0:
        return
    hurt = {done.fault.host for done in seen.done if done.hit and done.fault.whom in ("node", "guardian", "worker", "link")}
    for host, code in seen.nodes.items():
        if host not in hurt | seen.told_by_us and code != seen.code:
            yield f"cause: node {host} ended with {code}, and the job with {seen.code}"


def possible(step, seen):
    """The enders of which any may be the cause, and whether the job may also have ended well."""
    found = enders(step, seen)
    sure = [ender.time + ender.heard for ender in found if ender.sure]
    until = min(sure, default=seen.ended) + seen.slow * TOGETHER
    first = [ender for ender in found if ender.time <= until]
    if step.mpi:
        return first, not sure or min(sure) > seen.ended - seen.slow * TOGETHER
    well = all(rank in seen.witness and seen.witness[rank].code == 0 for rank in range(step.ranks))
    last = max((rank.end for rank in seen.witness.values() if rank.end), default=0)
    return first, well and last <= until


def said(seen):
    return b"\n".join(line for line in seen.err.split(b"\n") if line.startswith(b"dlaunch: ")).decode(errors="replace")


def check_cause(step, seen):
    if BROKEN_INSIDE.search(seen.err):
        yield "cause: it broke inside"
    if seen.code is None:
        return
    first, may_be_well = possible(step, seen)
    causes = [(ender.code, ender.named, round(ender.time - seen.started, 3)) for ender in first]
    if seen.code == 0:
        if not may_be_well:
            yield f"cause: code 0, and {causes or 'not all ranks ended well'}; {seen.witness}"
        return
    unheard = not seen.witness and -seen.code in (signal.SIGTERM, signal.SIGINT)  # before the launcher listened to signals
    code = 128 - seen.code if unheard else seen.code
    right = [ender for ender in first if ender.code == code]
    if not right:
        yield f"cause: code {code}, and what may be the cause is {causes or 'nothing'}"
    elif not unheard and not any(re.search(ender.named, said(seen)) for ender in right):
        yield f"cause: code {code}, and nothing names {[ender.named for ender in right]}"


def check_time(step, seen):
    if seen.code is None:
        yield "time: it hangs"
        return
    sure = [ender for ender in possible(step, seen)[0] if ender.sure]
    ends = [rank.end for rank in seen.witness.values() if rank.end]
    if not sure and len(ends) < step.ranks:
        return
    since = excused(seen, min((ender.time + ender.heard for ender in sure), default=max(ends, default=seen.ended)))
    if seen.ended - since > seen.slow * TOLD:
        yield f"time: it ended {seen.ended - since:.1f} s after what ended it"


def excused(seen, since):
    """From when an end is late that was to come at `since`."""
    for done in seen.done:  # what stood still goes on where it was, a link once TCP tries again; who fell silent is waited for
        if done.hit and silent(done.fault):
            since = max(since, done.time + SILENT)
        if done.until:
            since = max(since, done.until + (done.fault.seconds if done.fault.whom == "link" else 0))
    return since


def check_left(step, seen):
    if seen.left:
        yield f"left behind: {seen.left}"
    files = [path for path in seen.files if not (step.mpi and any(name in path for name in OF_LIBRARIES))]
    if files:
        yield f"left behind: {files}"
    meant = {*step.hosts, *step.spares} if step.way in ("ssh", "openssh") else set()
    if seen.hosts - meant:
        yield f"touched: {seen.hosts - meant}, which the job does not have"
    for number, rank in seen.witness.items():
        if not step.restarts and rank.host and step.way != "exec" and rank.host != step.host_of(number):
            yield f"touched: rank {number} ran on {rank.host}, and was to run on {step.host_of(number)}"


def settles(seen):
    """Seconds after a job's end in which all of it has to go. Who is cut off from the launcher, or was stopped, goes when it has
    been silent for too long, though the job may have ended meanwhile."""
    lost = [done.time for done in seen.done if done.hit and silent(done.fault)]
    return seen.slow * TOLD + max([0, *(time + SILENT - seen.ended for time in lost)])


def written_by_ranks(err):
    """Less what dlaunch says: its lines, and the indented ones that belong to them. No rank here indents one."""
    return b"".join(line for line in err.splitlines(True) if not line.startswith((b"dlaunch: ", b"  ")))


def read_streams(step, seen):
    streams = lines.Streams(step.length)
    own = written_by_ranks(seen.err)
    if step.mode == "jsonl":
        streams.jsonl(seen.out)
    elif step.mode == "label":
        streams.labelled(seen.out)
        streams.labelled(own)
    else:
        streams.text(seen.out.replace(b"\r\n", b"\n") if step.mode == "pty" else seen.out)
        streams.text(own)
    return streams


def wholly_seen(step, seen, rank, ran_on):
    """Whether all that this rank wrote must have come: nothing between it and us was cut. `ran_on`: its host in that round."""
    for done in seen.done:
        fault = done.fault
        if not done.hit or fault.whom == "rank" or (fault.act in ("pause", "sleep", "term", "int", "call") and not silent(fault)):
            continue
        if fault.whom in ("launcher", "reader") or step.way == "exec" or fault.host in (step.host_of(rank), ran_on):
            if fault.whom != "link" or silent(fault):
                return False
    return not step.full_disk


def check_bytes(step, seen):
    """Complete for ranks that ended well where nothing on their way was cut; in order, whole and once for all."""
    if step.mpi:
        return
    all_streams = [read_streams(step, seen)] if step.mode in ON_CONSOLE else []
    if step.mode in IN_FILES:
        files = lines.Streams(step.length)
        for path, data in sorted(seen.logs.items()):
            if STACKS.search(path):
                continue
            files.only = int(found[1]) if (found := re.search(r"round\.(\d+)", path)) else 0
            files.text(data)
        all_streams.append(files)
    well = [(number, round_) for round_, witness in enumerate(seen.rounds or [seen.witness])
            for number, rank in witness.items() if rank.code == 0 and wholly_seen(step, seen, number, rank.host)]
    for streams in all_streams:
        for rank, round_ in well:
            streams.missing(rank, step.lines, round_)
        yield from (f"bytes: {text}" for text in streams.wrong)
    if step.stdin:
        yield from (f"bytes: rank {rank} read {seen.sums.get(rank)!r}" for rank, _ in well if seen.sums.get(rank) != INPUT_SUM)


def broken(step, seen):
    """What is broken of the promises, a line each. Those of a job's rounds are in rounds.py."""
    checks = (check_left, check_nodes, check_bytes) if step.restarts else (check_cause, check_time, check_left, check_nodes, check_bytes)
    return [text for check in checks for text in check(step, seen)]
