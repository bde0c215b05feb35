#!/usr/bin/env python3
"""Runs a job, injects a fault after each rank has written a line, and measures the seconds to the first line of the next round.

usage: recovery.py RESULT RANKS rank|agent|host|rendezvous COMMAND... [--and COMMAND...]

RESULT is the file for the seconds. Each rank's line is "RESTART_COUNT RANK PID PARENT". The faults:
- `rank` kills rank 1;
- `agent` kills the parent of the last rank;
- `rendezvous` kills all processes of the rendezvous host: the host of rank 0, or of the first command;
- `host` stops all processes of the last rank's host, so that the host is silent like a host without power.
Several commands are the launchers of several nodes. After the measured line, the script ends the job."""
import contextlib
import os
import signal
import subprocess
import sys
import time

SETTLES = 0.3  # seconds between the last rank's line and the fault
# A file, because torchrun replaces $$ in a command line.
RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recovery_rank.sh")


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def agent_of(worker):
    """The agent's processes: two of dlaunch, one of another launcher."""
    with open(f"/proc/{worker}/stat", "rb") as file:
        parent = int(file.read().rpartition(b")")[2].split()[1])
    with open(f"/proc/{parent}/cmdline", "rb") as file:
        return [worker, parent] if b"dlaunch-agent" in file.read().split(b"\0")[0] else [worker]


def commands_of(words):
    commands = [[]]
    for word in words:
        if word == "--and":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def targets_of(fault, first, jobs):
    """The pids to stop or kill. `first` has the pid of each rank and of its parent."""
    if fault == "rank":
        return [first[1][0]]
    if len(jobs) > 1:
        parent = jobs[0 if fault == "rendezvous" else -1].pid
    else:
        parent = first[0 if fault == "rendezvous" else max(first)][1]
    ranks = [pid for pid, its_parent in first.values() if its_parent == parent]
    return agent_of(parent) + ([] if fault == "agent" else ranks)


def break_it(lines, ranks, fault, jobs):
    """Returns the time of the fault, and the stopped pids."""
    words = [list(map(int, next(lines).split())) for _ in range(ranks)]
    time.sleep(SETTLES)
    targets = targets_of(fault, {rank: (pid, parent) for _, rank, pid, parent in words}, jobs)
    begin = time.perf_counter()
    for target in targets:
        kill(target, signal.SIGSTOP if fault == "host" else signal.SIGKILL)
    return begin, targets if fault == "host" else []


def main():
    result, ranks, fault, *words = sys.argv[1:]
    read, write = os.pipe()
    jobs = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=write) for command in commands_of(words)]
    os.close(write)
    lines = iter(os.fdopen(read, "rb"))
    begin, stopped = break_it(lines, int(ranks), fault, jobs)
    again = next((line for line in lines if not line.startswith(b"0 ")), None)
    took = time.perf_counter() - begin
    for job in jobs:
        kill(job.pid, signal.SIGKILL if job.pid in stopped else signal.SIGTERM)
    for job in jobs:
        job.wait()
    if again is None:
        sys.exit("recovery: missing next round")
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"{took}\n")


if __name__ == "__main__":
    main()
