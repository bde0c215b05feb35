"""The rows of a recovery, for dlaunch and torchrun: from a killed rank, agent or host to the first line of the next round."""
import os
import socket
import subprocess

from recovery import RANK
from rows import Contestant, Goal, Row, Within

RECOVERY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recovery.py")
PYTHON = "/usr/bin/python3"  # Debian's Python, with the package python3-torch
RANKS = 4


def wanted(only):
    """Whether `only` selects a key of these rows."""
    return not only or any(key.startswith("recovery") or "recovery".startswith(key) for key in only)


def why_no_torchrun():
    """The reason why torchrun cannot run here, or None."""
    tried = subprocess.run([PYTHON, "-c", "import torch.distributed.run"], capture_output=True, text=True, check=False)
    return f"{PYTHON}: {tried.stderr.strip().splitlines()[-1]}" if tried.returncode else None


def torchrun(nodes, interval, *where):
    # torchrun 1.13 on Python 3.11 requires -r and -t; 9 is not a rank of this job.
    slower = ["--monitor_interval", str(interval)] if interval else []
    return [PYTHON, "-m", "torch.distributed.run", *where, "--nnodes", str(nodes), "--nproc_per_node", str(RANKS // nodes), "--max_restarts", "3",
            "-r", "9:1", "-t", "9:1", *slower, "--no_python", "sh", RANK]


def two_nodes(interval):
    """The commands of two nodes, both on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    there = ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"localhost:{port}", "--rdzv_id", "bench", "--rdzv_conf"]
    return [*torchrun(2, interval, *there, "is_host=1"), "--and", *torchrun(2, interval, *there, "is_host=0")]


def recovery_rows(launchers, scratch, with_torchrun):
    result = os.path.join(scratch, "recovery")

    def contestant(fault, words, **options):
        return Contestant([RECOVERY, result, str(RANKS), fault, *words], **options)

    def row(key, title, fault, own, other=None, goal=None, **options):
        found = {}
        if launchers.dlaunch:
            found["dlaunch"] = contestant(fault, [launchers.dlaunch, *own, "-n", str(RANKS), "--restarts", "3", "--env-for", "torchrun", "sh", RANK])
        if other and with_torchrun:
            found["torchrun"] = contestant(fault, other)
        return Row(key=key, title=title, contestants=found, goal=goal, told=result, **options)

    spare = ["--fake-hosts", "3x2", "--spares", "1"]
    yield row("recovery-sh", f"a killed rank of {RANKS}, to the next round's first line", "rank", [], goal=Within(0.1))
    for interval, ratio in ((None, 0.1), (0.1, 0.3)):
        name = f"`--monitor_interval {interval}`" if interval else "torchrun's defaults"
        key = f"-{interval}" if interval else ""
        yield row(f"recovery-rank{key}", f"the same, {name}", "rank", [], torchrun(1, interval, "--standalone"), Goal("torchrun", ratio), rounds=5)
        yield row(f"recovery-agent{key}", f"a killed agent of 2 hosts with {RANKS // 2} ranks each, a spare host, {name}", "agent", spare,
                  two_nodes(interval), Goal("torchrun", ratio), rounds=2, limit=30)
    yield row("recovery-rendezvous", "the rendezvous host is killed, a spare host", "rendezvous", spare, two_nodes(0.1), rounds=2, limit=30)
    yield row("recovery-host", "a host becomes silent, as without power (three heartbeats of 5 s), a spare host", "host", spare, two_nodes(0.1), rounds=2, limit=60)
