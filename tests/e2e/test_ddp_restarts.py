"""Tests restarts of a PyTorch training with checkpoints: after a fault, the loss ends at the same digits as without a
fault. Each kind of fault has its own job. DLAUNCH_SLOW=all in the environment adds two faults that silence a host, each
of which takes about 30 s: a cut link and a power-off."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import support
from promises import BAD_DISK, ENDS, KILL, RESTARTS, promise
from hosts_case import HostsCase, lines, own_lines

DDP = pathlib.Path(__file__).parents[2] / "examples" / "ddp.py"
PYTHON = "/usr/bin/python3"  # Debian's Python, for which python3-torch is built; hosts have it too
NO_TORCH = subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True, text=True, check=False).stderr
ALL = os.environ.get("DLAUNCH_SLOW") == "all"
STEPS = 200
BROKEN_AT = b"step 50 "
LOSS = re.compile(rf"step (\d+) of {STEPS} on 4 ranks: loss (\d\.\d{{9}})")
LIMIT = 3 * support.TIMEOUT  # seconds for the starts of PyTorch on a busy machine
FULL = 6  # the first host of the job whose disk gets full
DISK = 128 << 10  # bytes of the disk that gets full
# Runs a script whose rank 0 waits for a file after the line BROKEN_AT: the training cannot end before the fault.
HOLD = f"""
import builtins, os, runpy, sys, time
go, sys.argv = sys.argv[1], sys.argv[2:]
def print_and_hold(*said, **options):
    write(*said, **options)
    while str(said[0]).startswith({BROKEN_AT.decode()!r}) and not os.path.exists(go):
        time.sleep(.01)
write, builtins.print = builtins.print, print_and_hold
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the other process of the agent has ended it
            os.kill(pid, signal.SIGKILL)


class DdpRestarts(HostsCase):
    count = 20 if ALL else 10

    def setUp(self):
        if NO_TORCH:
            self.skipTest(f"{PYTHON}: {NO_TORCH.splitlines()[-1]}: scripts/install-packages torch")
        # Hosts see file systems that were mounted before the host was created
        self.disk = pathlib.Path(tempfile.mkdtemp(prefix="dlaunch-e2e-disk-"))
        self.addCleanup(self.disk.rmdir)
        if os.geteuid() != 0:
            self.skipTest("requires root to mount a small disk")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "e2e", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        super().setUp()

    def training(self, hosts, checkpoint, *options, hold=()):
        return self.start("-n", 4, "-H", hosts, *options, "--env-for", "torch", PYTHON, *hold, DDP, "--steps", STEPS,
                          "--checkpoint", checkpoint, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def broken_training(self, first, checkpoint):
        """Starts a training on four hosts and a spare host."""
        hosts = ",".join(f"node{number}:1" for number in range(first, first + 5))
        return self.training(hosts, checkpoint, "--restarts", 9, "--spares", 1, hold=("-c", HOLD, self.go(first)))

    def go(self, first):
        """The file that the job of host `first` waits for."""
        return self.dir / f"go.{first}"

    def losses(self, out):
        """The losses of each step in the last round that printed the step."""
        return dict(LOSS.findall(out.decode()))

    def read_to(self, job, part):
        """The output up to a line that contains `part`."""
        read = b""
        for line in job.stdout:
            read += line
            if part in line:
                return read
        self.fail(f"{read!r} {job.stderr.read()!r}")

    # ---- the faults ----

    def kill_agent(self, first):
        kill(self.host(first).find("dlaunch-agent"))

    def cut_link(self, first):
        self.bed.head.drop_both_ways(self.host(first))

    def power_off(self, first):
        """The link is cut first, so that no process can send a last message; then all processes of the host are killed.
        """
        host = self.host(first)
        self.bed.head.drop_both_ways(host)
        kill(host.processes())

    def fill_disk(self, _):
        (self.disk / "full").write_bytes(b"")
        with contextlib.suppress(OSError), (self.disk / "full").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)

    @promise(ENDS, mode=(RESTARTS, KILL, BAD_DISK))
    def test_loss_after_a_fault_equals_the_loss_without(self):
        calm, err = self.training("localhost:4", self.dir / "calm").communicate(timeout=LIMIT)
        calm = self.losses(calm)
        self.assertEqual(list(calm), [str(step) for step in range(10, STEPS + 1, 10)], err)
        faults = {1: self.kill_agent, FULL: self.fill_disk} | ({11: self.cut_link, 16: self.power_off} if ALL else {})
        files = {first: self.dir / f"checkpoint.{first}" for first in faults} | {FULL: self.disk / "checkpoint"}
        jobs, read, said = {}, {}, {}
        for first, fault in faults.items():
            jobs[first] = self.broken_training(first, files[first])
            read[first] = self.read_to(jobs[first], BROKEN_AT)
            fault(first)
            self.go(first).touch()
            if first == FULL:
                said[first] = self.free_disk(jobs[first])
        for first in faults:
            with self.subTest(faults[first].__name__):
                self.ends_as_calm(jobs[first], read[first], said.get(first, b""), calm)
                if first != FULL:
                    self.assertIn(f"node{first + 4} takes the ranks of node{first}", self.said)
        if ALL:
            self.bed.head.deliver(self.host(11))
            # connections of ended clients
            kill(pid for pid, line in self.host(11).strangers().items() if line.startswith("sshd: "))

    def free_disk(self, job):
        """Frees the disk after a round has failed on it."""
        said = b""
        while b"; restart 1 of" not in said:
            line = job.stderr.readline()
            self.assertTrue(line, said)
            said += line
        (self.disk / "full").unlink()
        self.assertIn(b"No space left on device", said)
        return said

    def ends_as_calm(self, job, read, said, calm):
        out, err = job.communicate(timeout=LIMIT)
        self.said = "\n".join(own_lines(said + err))
        self.assertEqual(job.returncode, 0, said + err)
        self.assertIn("; restart 1 of 9", self.said)
        found = self.losses(read + out)  # without lines that a killed agent had not sent yet
        self.assertEqual(found, {step: loss for step, loss in calm.items() if step in found})
        self.assertEqual(list(found)[-1], str(STEPS))
        self.assertNotIn("step 10 ", out.decode(), "it began anew")
        self.assertTrue(lines(read)[-1].startswith(BROKEN_AT.decode()))


if __name__ == "__main__":
    support.main()
