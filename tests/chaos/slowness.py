"""Measures how much slower this machine is than a quiet machine, by the time of a trivial job. All time limits that are
not promises are multiplied by the result."""
import os
import subprocess
import time

QUIET = 0.01  # seconds of the job on a quiet machine with two cores
MOST = 5  # a larger limit would prove nothing
TIMES = 4


def measured(dlaunch):
    """1 on a quiet machine, and at most MOST."""
    start = time.monotonic()
    for _ in range(TIMES):
        subprocess.run([dlaunch, "-n", "4", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)
    return of_seconds((time.monotonic() - start) / TIMES)


def of_seconds(seconds):
    least = 3 if os.environ.get("SANITIZE") else 1  # as the limits of the tests
    return min(MOST, max(least, seconds / QUIET))
