#!/usr/bin/env python3
"""Runs a job, breaks it once all its ranks have written a line, and writes down the seconds to the first line of the next round.

usage: recovery.py RESULT RANKS rank|agent COMMAND... [--and COMMAND...]

RESULT is the file for the seconds. Each rank's line is "RESTART_COUNT RANK PID PARENT". `rank` kills rank 1, `agent` what started it.
Several commands are several nodes' launchers, side by side. The job is ended behind that line."""
import contextlib
import os
import signal
import subprocess
import sys
import time

SETTLES = 0.3  # seconds between the last rank's line and the fault
# In a file, for torchrun replaces $$ in the words of a command line.
RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recovery_rank.sh")


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def agent_of(worker):
    """Both processes of dlaunch's agent, and the one of another launcher's."""
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


def break_it(lines, ranks, fault):
    """Returns when it was done."""
    first = [next(lines).split() for _ in range(ranks)]
    time.sleep(SETTLES)
    pid, parent = next((int(line[2]), int(line[3])) for line in first if line[1] == b"1")
    targets = [pid] if fault == "rank" else agent_of(parent)
    begin = time.perf_counter()
    for target in targets:
        kill(target)
    return begin


def main():
    result, ranks, fault, *words = sys.argv[1:]
    read, write = os.pipe()
    jobs = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=write) for command in commands_of(words)]
    os.close(write)
    lines = iter(os.fdopen(read, "rb"))
    begin = break_it(lines, int(ranks), fault)
    again = next((line for line in lines if not line.startswith(b"0 ")), None)
    took = time.perf_counter() - begin
    for job in jobs:
        kill(job.pid, signal.SIGTERM)
    for job in jobs:
        job.wait()
    if again is None:
        sys.exit("recovery: there was no next round")
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"{took}\n")


if __name__ == "__main__":
    main()
