"""Checks the promises for each round of a job with restarts: the number of rounds, their causes and hosts, and the
reason for the last one. PURE."""
import dataclasses
import re

import promises
from draw import GRACE, KILL_WAIT, LEASE, silent
from promises import TOGETHER, TOLD, enders, excused

RESTART = re.compile(r"; restart (\d+) of (\d+)(?: in (\d+) s)?$")
TAKES = re.compile(r"^dlaunch: (\S+) takes the ranks of (\S+)$")
NO_RESTART = "dlaunch: no restart: "


@dataclasses.dataclass
class Round:
    """`start` and `end` by the output of dlaunch; `places`: {host of the command line: host that has its ranks}."""
    number: int
    witness: dict
    start: float
    end: float
    wait: float = 0
    cause: str = ""  # the line that announced the next round
    places: dict = dataclasses.field(default_factory=dict)
    said: str = ""


def rounds_of(step, seen):
    """Splits the output of dlaunch into rounds. Lines about hosts after the line of a restart belong to the new round.
    """
    rounds = [Round(0, {}, seen.started, seen.ended, places={host: host for host in step.hosts or ("head",)})]
    for time, line in seen.told:
        now = rounds[-1]
        if found := RESTART.search(line):
            now.end, now.cause = time, line
            rounds.append(Round(len(rounds), {}, time, seen.ended, int(found[3] or 0), places=dict(now.places)))
        elif found := TAKES.match(line):
            now.places = {host: found[1] if place == found[2] else place for host, place in now.places.items()}
        rounds[-1].said += line + "\n"
    for round_, witness in zip(rounds, seen.rounds):
        round_.witness = witness
    return rounds


def enders_of(step, seen, round_):
    """The possible causes of a round's end. An event around the start may have ended the previous round, or be noticed
    only now."""
    found = []
    together = seen.slow * TOGETHER
    for ender in enders(step, seen, round_.witness):
        if ender.host and step.way in ("ssh", "openssh", "same-line") and ender.host not in round_.places.values():
            continue  # the host was replaced
        if ender.time > round_.end + together or ender.time + ender.heard < round_.start - together:
            continue
        its_own = any(rank.end == ender.time for rank in round_.witness.values())
        if not its_own and not round_.start + (together if round_.number else 0) <= ender.time <= round_.end:
            ender.sure = False
        found.append(ender)
    return found


def first_of(step, seen, round_):
    """The possible first causes."""
    found = enders_of(step, seen, round_)
    until = min((ender.time + ender.heard for ender in found if ender.sure), default=round_.end) + seen.slow * TOGETHER
    return [ender for ender in found if ender.time <= until], until


def causes(first, seen):
    return [(ender.code, ender.named, round(ender.time - seen.started, 3)) for ender in first] or "nothing"


def check_count(step, seen, rounds):
    """Each round is announced. Ranks and report have the same number of rounds."""
    told = [tuple(map(int, found.groups()[:2])) for _, line in seen.told if (found := RESTART.search(line))]
    if told != [(number, step.restarts) for number in range(1, len(told) + 1)] or len(told) > step.restarts:
        yield f"rounds: of {step.restarts} restarts these were told: {told}"
    if len(seen.rounds) > len(rounds):
        yield f"rounds: ranks began in {len(seen.rounds)} rounds, and {len(rounds)} were told of"
    frozen = any(done.hit and done.fault.whom in ("host", "machine") for done in seen.done)
    if seen.overlap and not frozen:  # a frozen host is the documented exception
        yield f"rounds: these ranks found something of the round before alive: {seen.overlap.split()}"
    report = seen.report
    if report and seen.code is not None and seen.code >= 0:
        wrote = report["exit_code"], report["round"], len(report["earlier_rounds"])
        if wrote != (seen.code, len(told), len(told)):
            yield f"rounds: code {seen.code} after {len(told)} restarts, and the record has code, round, earlier ones: {wrote}"
    elif not report and seen.code not in (None, -9, -15, -2) and (step.way != "same-line" or seen.rounds):  # of nodes that do not meet there is none
        yield "rounds: there is no record"


def check_earlier(step, seen, rounds):
    """The end of each round except the last one has a cause that allows a restart."""
    for round_ in rounds[:-1]:
        first, _ = first_of(step, seen, round_)
        if not any(re.search(ender.named, round_.cause) for ender in first if not ender.last):
            yield f"cause: round {round_.number} ended by {round_.cause!r}, and what may be the cause is {causes(first, seen)}"
        for ender in enders_of(step, seen, round_):
            if ender.last and ender.sure and ender.time + ender.heard < round_.end - seen.slow * TOGETHER:
                yield f"cause: a round followed though {causes([ender], seen)}"


def may_be_last(step, seen, round_, why):
    """Whether the reported reason for the missing restart is possible."""
    found = enders_of(step, seen, round_)
    if "spare host" in why:
        return any(ender.host for ender in found)
    if "in the same way 3 times" in why:
        return round_.number >= 2
    if "the time limit was reached" in why:
        return any(ender.code == 124 for ender in found)
    if "while the round was being stopped" in why or "a signal came" in why:
        return any(ender.code in (130, 143) for ender in found)
    if "some processes of the failed round may be left" in why:
        return any(done.hit and (silent(done.fault) or done.fault.act in ("pause", "down")) for done in seen.done)
    return False


def check_last(step, seen, rounds):
    if promises.BROKEN_INSIDE.search(seen.err):
        yield "cause: it broke inside"
    round_ = rounds[-1]
    if seen.code is None:
        return
    first, until = first_of(step, seen, round_)
    ends = [rank.end for rank in round_.witness.values() if rank.code == 0]
    if seen.code == 0:
        if len(ends) != step.ranks or max(ends) > until:
            yield f"cause: code 0 in round {round_.number}, and {causes(first, seen)}; {round_.witness}"
        return
    unheard = not seen.rounds and seen.code in (-15, -2)  # before the launcher handled signals
    right = [ender for ender in first if ender.code == (128 - seen.code if unheard else seen.code)]
    if not right:
        yield f"cause: code {seen.code} in round {round_.number}, and what may be the cause is {causes(first, seen)}"
    elif not unheard and not any(re.search(ender.named, round_.said) for ender in right):
        yield f"cause: code {seen.code} in round {round_.number}, and nothing names {[ender.named for ender in right]}"
    why = [line for line in round_.said.splitlines() if line.startswith(NO_RESTART)]
    if why and not may_be_last(step, seen, round_, why[0]):
        yield f"rounds: {why[0]!r}, and that cannot be"
    if right and not why and round_.number < step.restarts and not any(ender.last for ender in right):
        yield f"rounds: {causes(right, seen)} ended round {round_.number} of {step.restarts}, and no restart followed, nor a reason"


def check_time(step, seen, rounds):
    if seen.code is None:
        yield "time: it hangs"
        return
    for round_ in rounds:
        sure = [ender.time + ender.heard for ender in first_of(step, seen, round_)[0] if ender.sure]
        ends = [rank.end for rank in round_.witness.values() if rank.end]
        if not sure and len(ends) < step.ranks:
            continue
        since = max(excused(step, seen, min(sure, default=max(ends, default=round_.end))), round_.start + round_.wait)
        if round_.end - since > seen.slow * TOLD:
            yield f"time: round {round_.number} ended {round_.end - since:.1f} s after what ended it"


def check_places(step, _, rounds):
    for round_ in rounds:
        for number, rank in round_.witness.items():
            meant = round_.places[step.host_of(number)] if step.way != "exec" else rank.host
            if rank.host and rank.host != meant:
                yield f"touched: rank {number} of round {round_.number} ran on {rank.host}, and was to run on {meant}"


def check_spare(step, seen, rounds):
    """A spare host continues the job in time, unless the user ends the job. The silent host may be lost in any round."""
    if not step.pairs or any(done.hit and done.fault.whom == "launcher" for done in seen.done):
        return
    if seen.code != 0:
        yield f"rounds: code {seen.code}, and a spare host could continue the job"
    quiet = [done for done in seen.done if done.hit and silent(done.fault)]
    takes = [time for time, line in seen.told if TAKES.match(line)]
    latest = LEASE * step.heartbeat + GRACE + KILL_WAIT + seen.slow * TOGETHER
    if quiet and takes and takes[0] - quiet[0].time > latest:
        yield f"time: the spare host took the ranks {takes[0] - quiet[0].time:.1f} s after the silence began, not within {latest:.1f} s"


def broken(step, seen):
    """The broken promises, one line each."""
    rounds = rounds_of(step, seen)
    checks = (check_count, check_earlier, check_last, check_time, check_places, check_spare)
    return promises.broken(step, seen) + [text for check in checks for text in check(step, seen, rounds)]
