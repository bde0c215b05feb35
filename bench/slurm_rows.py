"""The rows of a Slurm job: nodes of a testbed (tests/testbed/slurm.py) in one allocation, kept open by a shell."""
import contextlib
import os
import subprocess
import time

from ssh_rows import Ways, testbed
from rows import LINE, MIB, Contestant, Goal, Row

import slurm  # from the testbed; ssh_rows sets the path

NODES = 4
READY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ready.py")


def wanted(only):
    """Whether `only` selects a key of these rows."""
    return not only or any(key.startswith("slurm") or "slurm".startswith(key) for key in only)


def why_not():
    """The reason why these rows cannot be measured here, or None."""
    return slurm.why_not()


@contextlib.contextmanager
def allocation(scratch):
    """Yields the testbed, the variables of the allocation, and pids of children that must survive a sweep."""
    with testbed.Testbed(NODES) as bed, slurm.Slurm(bed) as batch:
        variables = os.path.join(scratch, "allocation")
        script = f"env -0 >{variables}.new; mv {variables}.new {variables}; read _"
        words = bed.head.command(["salloc", "-Q", f"-N{NODES}", "--ntasks-per-node=1", "sh", "-c", script])
        with subprocess.Popen(words, env=batch.environment(), stdin=subprocess.PIPE) as holder:  # the shell reads until its stdin closes
            deadline = time.monotonic() + 30
            while not os.path.exists(variables):
                if time.monotonic() > deadline or holder.poll() is not None:
                    raise RuntimeError("bench: timed out after 30 s (waiting for an allocation of Slurm)")
                time.sleep(0.02)
            with open(variables, encoding="utf-8") as file:
                environment = file.read().split("\0")[:-1]
            yield bed, environment, [holder.pid, *(daemon.pid for daemon in batch.daemons)]


def slurm_rows(launchers, programs, bed, environment, scratch):
    ways = Ways(launchers, programs, bed)
    there = ["env", *environment]
    result = os.path.join(scratch, "ready")
    found = {"floor": Contestant([*there, READY, result, "end", "srun", f"-N{NODES}", f"-n{NODES}", "true"], label="the whole srun true")}
    if launchers.dlaunch:
        found["dlaunch"] = Contestant([*there, READY, result, "rank", launchers.dlaunch, "-N", "1", "date", "+%s%N"])
    yield Row(key="slurm-ready", title=f"{NODES} nodes of a Slurm job, until the last rank runs", contestants=ways.there(found),
              goal=Goal("floor", 1.2), rounds=15, limit=60, told=result)
    found = {"floor": Contestant([*there, "srun", f"-N{NODES}", f"-n{NODES}", "true"], label="srun")}
    if launchers.dlaunch:
        found["dlaunch"] = Contestant([*there, launchers.dlaunch, "-N", "1", "true"])
        found["ssh"] = Contestant([*there, launchers.dlaunch, "--transport", "ssh", "-N", "1", "true"], label="dlaunch by ssh")
    yield Row(key=f"slurm-{NODES}", title=f"`true` on {NODES} nodes of a Slurm job", contestants=ways.there(found), rounds=7, limit=60)
    size = 256 * MIB
    spew = [programs["spew"], str(size)]
    found = {"floor": Contestant([*there, "srun", "-u", "-N1", "-n1", *spew], label="srun -u")}
    if launchers.dlaunch:
        found["dlaunch"] = Contestant([*there, launchers.dlaunch, "-n", "1", *spew])
    yield Row(key="slurm-output", title=f"{size // MIB} MiB of {LINE}-byte lines from one rank of a Slurm job, to /dev/null",
              contestants=ways.there(found), goal=Goal("floor", 1, True), moved=size // LINE * LINE, rounds=3, limit=60)
