"""Checks whether a step kept the five promises, by outside observation. dlaunch's own output is not trusted; only the
reported cause is compared with the real cause. PURE."""
import dataclasses
import re
import signal

import lines
from draw import BEATS, GRACE, HEARTBEAT, IN_FILES, INPUT, KILL_WAIT, LEASE, ON_CONSOLE, REACH, silent

# Seconds on a quiet machine; Seen.slow is the factor of this machine.
TOGETHER = 1.0  # events within this time have no common order
# From the cause to the end of the job, if the launcher notices the cause at once (docs/CONTRIBUTING.md).
TOLD = 2 * GRACE + 8
BROKEN_INSIDE = re.compile(rb"internal error|terminate called|Assertion|AddressSanitizer|runtime error|Traceback")
# UCX and MPICH create named segments and unlink them once all ranks have opened them. Ranks killed in between leave the
# segments.
OF_LIBRARIES = ("/dev/shm/ucx_shm_posix_", "/dev/shm/mpich_shar_tmp")
# Dlaunch writes this file next to the ranks' files when a time limit ends the job.
STACKS = re.compile(r"/stacks\.\d+$")
STARTS = 2  # seconds until the launcher has logged in to every host


def sum_of(data):
    """The output of tests/programs/stdin_sum for the data."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{len(data)} {value:016x}\n"


INPUT_SUM = sum_of(INPUT)


@dataclasses.dataclass
class Ender:
    """A possible cause of a job's end: its time, the exit code, the name on stderr, and the delay until the launcher
    may notice it. If not `sure`, it may have no effect; after a `last` cause no round follows. `host`: the host that is
    lost. `where`: the host of a rank, if known."""
    time: float
    code: int
    named: str
    heard: float = 0
    sure: bool = True
    last: bool = False
    host: str = ""
    where: str = ""


def named(host):
    """A pattern that matches the host, also in a folded list of hosts: node[1,3]."""
    return rf"{host}|node\[[\d,-]*\]" if host.startswith("node") else re.escape(host)


def noticed(fault, step):
    """Seconds from the fault until its host is lost, if no other event comes first."""
    return BEATS * step.heartbeat if silent(fault) else 0


def ender_of(done, step, seen):
    """None for a fault that ends no job."""
    fault, host = done.fault, named(done.fault.host)
    if step.way == "exec":
        host = "node"  # /proc does not show the name of the agent
    if (fault.act in ("pause", "sleep", "call") and not silent(fault)) or not done.hit:
        return None
    if fault.whom == "launcher":
        # The job succeeds if all ranks exit with 0 nevertheless.
        sure = any(step.quirks.get(rank) != "ignores TERM" for rank in range(step.ranks))
        return Ender(done.time, -9, "", last=True) if fault.act == "kill" else \
            Ender(done.time, 143 if fault.act == "term" else 130, "TERM" if fault.act == "term" else "INT", 0, sure, last=True)
    if fault.whom == "rank":
        sure = fault.act == "kill" or step.quirks.get(fault.rank) != "ignores TERM"
        return Ender(done.time, 137 if fault.act == "kill" else 143, rf"rank {fault.rank} \(host", 0, sure, where=fault.host if step.pairs else "")
    if fault.whom == "reader":
        return Ender(done.time, 141, "", 2 * seen.slow, False, last=True)
    if fault.whom == "link" and not silent(fault):
        return None
    if step.way == "same-line":
        # Before all nodes are connected, a lost node may come again: the launcher waits for it and names its number.
        lost = rf"{host}|nodes? [\d,-]*\d"
        heard = noticed(fault, step) + (0 if seen.witness else step.wait)
        return Ender(done.time, 125, lost, heard, bool(seen.witness), last=not seen.witness, host=fault.host)
    # An sshd that exits before the login is tried again.
    sure = fault.whom != "sshd" or done.time > seen.started + seen.slow * STARTS
    return Ender(done.time, 125, host, noticed(fault, step), sure, host=fault.host)


def heard_later(ender, seen):
    """A stopped launcher or worker notices all events when it continues."""
    for done in seen.done:
        stood = done.fault.whom in ("launcher", "all") or (done.fault.whom in ("worker", "node") and is_behind(done.fault.host, ender))
        if done.fault.act == "pause" and stood and done.time <= ender.time + ender.heard <= done.until:
            ender.heard = done.until - ender.time
        if done.fault.act == "down" and is_behind(done.fault.host, ender):
            # TCP repeats packets after doubling delays: at the latest when the link has been up for as long as it was
            # down.
            heard = done.time + 2 * done.fault.seconds
            if done.time <= ender.time < done.time + done.fault.seconds:
                ender.heard = max(ender.heard, heard - ender.time)
    return ender


def is_behind(host, ender):
    """Whether the launcher may learn of the cause only through that host."""
    return (ender.named.startswith("rank ") and ender.where in ("", host)) or ender.host == host or ender.named == named(host)


def enders(step, seen, witness=None):
    """All possible causes, ordered by time. `witness`: of one round."""
    found = [Ender(rank.end, rank.code, rf"rank {number} \(host", where=rank.host if step.pairs else "") for number, rank in (seen.witness if witness is None else witness).items() if rank.code]
    found += [ender for ender in (ender_of(done, step, seen) for done in seen.done) if ender]
    if step.timeout and seen.ended - seen.started > step.timeout - seen.slow * TOGETHER:
        found.append(Ender(seen.started + step.timeout, 124, "timed out", last=True))
    found += told_at_nodes(step, seen)
    if step.full_disk:
        found.append(Ender(seen.started, 1, "No space left on device", seen.ended - seen.started, False, last=True))
    return sorted((heard_later(ender, seen) for ender in found), key=lambda ender: ender.time)


def told_at_nodes(step, seen):
    """A node that gets a signal notifies the launcher. A node without an agent ends by itself."""
    if step.way != "same-line":
        return
    lost = set()  # nodes that may have no link to the launcher any more
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
    """Each undisturbed other node of a same-line job ends with the exit code of the job. A killed launcher may have
    sent another code."""
    if any(done.hit and done.fault.whom == "all" for done in seen.done) or seen.code is None or seen.code < 0:
        return
    hurt = {done.fault.host for done in seen.done if done.hit and done.fault.whom in ("node", "guardian", "worker", "link")}
    for host, code in seen.nodes.items():
        if host not in hurt | seen.told_by_us and code != seen.code:
            yield f"cause: node {host} ended with {code}, and the job with {seen.code}"


def possible(step, seen):
    """The possible causes of the end, and whether the job may also have succeeded."""
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
    unheard = not seen.witness and -seen.code in (signal.SIGTERM, signal.SIGINT)  # before the launcher handled signals
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
    since = excused(step, seen, min((ender.time + ender.heard for ender in sure), default=max(ends, default=seen.ended)))
    if seen.ended - since > seen.slow * TOLD:
        yield f"time: it ended {seen.ended - since:.1f} s after what ended it"


def excused(step, seen, since):
    """The latest allowed time for an end that is due at `since`."""
    # A stopped process continues when it is continued, a link when TCP repeats. A silent host is lost after its
    # heartbeats, or because it does not confirm SIGKILL; then the launcher tries to connect again.
    for done in seen.done:
        if done.hit and silent(done.fault):
            since = max(since + KILL_WAIT, done.time + noticed(done.fault, step)) + REACH
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
    """The seconds in which all processes of a job must end after the job, except on hosts that dlaunch names. The guardian
    ends a stopped worker after four heartbeats, perhaps after the end of the job."""
    lost = [done.time for done in seen.done if done.hit and silent(done.fault)]
    return seen.slow * TOLD + max([0, *(time + LEASE * HEARTBEAT - seen.ended for time in lost)])


def written_by_ranks(err):
    """Removes the lines of dlaunch, and the indented lines that belong to them. The ranks here write no indented lines.
    """
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
    """Whether all output of a rank must have arrived: the connection to it was not cut. `ran_on`: the host of the rank
    in that round."""
    for done in seen.done:
        fault = done.fault
        if not done.hit or fault.whom == "rank" or (fault.act in ("pause", "sleep", "term", "int", "call") and not silent(fault)):
            continue
        if fault.whom in ("launcher", "reader") or step.way == "exec" or fault.host in (step.host_of(rank), ran_on):
            if fault.whom != "link" or silent(fault):
                return False
    return not step.full_disk


def check_bytes(step, seen):
    """The output is complete for successful ranks with an undisturbed connection, and in order, whole and not doubled
    for all ranks."""
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
    """The broken promises, one line each. rounds.py checks the promises about the rounds of a job."""
    checks = (check_left, check_nodes, check_bytes) if step.restarts else (check_cause, check_time, check_left, check_nodes, check_bytes)
    return [text for check in checks for text in check(step, seen)]
