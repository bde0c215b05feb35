#!/usr/bin/env python3
"""Runs a command and measures the seconds until its last rank runs, or until the command ends.

usage: ready.py RESULT rank|end COMMAND...

RESULT is the file for the seconds. `rank`: each printed line is the time of a rank in nanoseconds (`date +%s%N`)."""
import subprocess
import sys
import time


def main():
    result, until, *command = sys.argv[1:]
    start = time.time_ns()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    end = max(map(int, done.stdout.split())) if until == "rank" and done.returncode == 0 else time.time_ns()
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"{(end - start) / 1e9:.6f}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
