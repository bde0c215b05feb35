"""How much slower than a quiet machine this one is now, by the time that a trivial job takes. What is no promise about time waits
so much longer before it is judged."""
import os
import subprocess
import time

QUIET = 0.01  # seconds that the job takes on a quiet machine of two cores
MOST = 5  # a limit that grows beyond proves nothing any more
TIMES = 4


def measured(dlaunch):
    """1 on a quiet machine, and never more than MOST."""
    start = time.monotonic()
    for _ in range(TIMES):
        subprocess.run([dlaunch, "-n", "4", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)
    return of_seconds((time.monotonic() - start) / TIMES)


def of_seconds(seconds):
    least = 3 if os.environ.get("SANITIZE") else 1  # as the tests' own limits
    return min(MOST, max(least, seconds / QUIET))
