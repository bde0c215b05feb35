"""The promises that every batch system and every other place of a job must keep: each test is written once, and each
place has a row. A suite has a class with ManagerCase, the case of its place and the row."""
import contextlib
import dataclasses
import os
import re
import signal
import subprocess

from hosts_case import PATIENCE, lines
from promises import (ENDS, FAILURE, FLUX, KILL, KUBERNETES, LEAVES_NOTHING, LOSES_NOTHING, LSF, NAMES_FIRST, ONLY_SSHD,
                      ORPHANS, PALS, PBS, RUN, SAME_LINE, SGE, SIGNAL, SLURM, START, STDIN, Word, promise)
from support import oldest_first, sh, wait_until

MIB = 1 << 20
SLEEPERS = sh("setsid sleep 1000 & exec sleep 1000")
WRITERS = sh("setsid sleep 1000 & sleep 1000 & exec yes")  # the same number of sleepers, and unread output


@dataclasses.dataclass(frozen=True)
class Row:
    place: Word
    hosts: tuple  # the host of each rank
    told: str = ""  # the words of dlaunch about the job, a regular expression
    way: str = ""  # the word of dlaunch for the command that starts agents
    transport: str = ""  # the same for --transport
    connects: bool = False  # agents connect to the launcher
    outside: dict = dataclasses.field(default_factory=dict)  # variables without which no job is seen
    outside_told: str = ""
    show: str = ""  # a word of a shell, and its value for each rank
    value: str = ""
    name: str = "{host}"  # of a host for dlaunch
    hint: bytes = b""  # of the error of such a command
    some_host: bytes = rb"node[12[]"  # the name of any host
    command: str = ""  # a part of the command lines of these commands
    size: int = 16 * MIB  # output of each rank in bytes
    spread: tuple = ()  # options of a job with a rank on each host, for a larger size
    times: int = 1
    cancelled: int = 143  # exit code of a job that the batch system ends; None: any code except 0
    impossible: dict = dataclasses.field(default_factory=dict)  # {test: reason}


ROWS = {row.place: row for row in (
    Row(SLURM, ("node1", "node1", "node2", "node2"), r"Slurm job \d+: 2 nodes × 2 slots", "srun", "slurm", connects=True,
        outside_told="not in a Slurm job", show="$SLURMD_NODENAME", value="{host}", command="srun ", size=64 * MIB, spread=("-N", 1)),
    # Grid Engine chooses the first host.
    Row(SGE, (), r"Grid Engine job \d+: 2 nodes × 2 slots", "qrsh", "sge", outside_told="not in a job of a parallel environment",
        hint=b"control_slaves", show="$QUEUE", value="all.q", size=64 * MIB, spread=("-N", 1),
        times=int(os.environ.get("GRIDENGINE_TIMES", "3")), cancelled=None,
        impossible={"test_host_of_a_killed_agent_is_named": "Grid Engine may end the whole job before dlaunch does"}),
    Row(PBS, ("head", "node1", "node1", "node2"), r"PBS job 12\.server: 3 nodes with 4 slots in total", "pbs_tmrsh", "pbs", connects=True,
        outside={"PBS_NODEFILE": ""}, outside_told="not in a PBS job", show="$PBS_JOBID", value="12.server", command="pbs_tmrsh",
        cancelled=None),
    Row(PALS, ("head", "node1", "node1", "node2"), r"PBS job 12\.server: 3 nodes with 4 slots in total", "aprun", "pals", connects=True,
        outside={"PBS_NODEFILE": ""}, outside_told="not in a PBS job", show="$(env | grep -c ^PALS_)", value="0", command="/aprun"),
    Row(LSF, ("head", "node1", "node1", "node2"), "LSF job 12: 3 nodes with 4 slots in total", "blaunch", "lsf",
        outside={"LSB_MCPU_HOSTS": ""}, outside_told="not in an LSF job", show="$LSB_JOBID", value="12", command="blaunch"),
    Row(FLUX, ("head", "head", "node1", "node1", "node2", "node2"), "Flux: 3 nodes × 2 slots", "flux", "flux", connects=True,
        outside={"FLUX_URI": ""}, outside_told="not in a Flux instance", show="$FLUX_URI", value="local:///run/flux/local-{node}",
        command="flux exec", size=12 * MIB),
    Row(KUBERNETES, ("node1", "node1", "node2", "node2"), "MPIJob: 2 nodes × 2 slots", "kubectl", show="$RANK_ID", value="{rank}",
        name="train-worker-{node}", some_host=b"train-worker-1", command="exec -i train-worker-1",
        impossible={"test_transport_outside_a_job_is_rejected": "--transport cannot select the remote shell of the operator"}),
    Row(SAME_LINE, ("node1", "node2", "node3"), show="$DLAUNCH_NODE_RANK", value="{node}", impossible=dict.fromkeys(
        ("test_transport_is_reported", "test_transport_outside_a_job_is_rejected", "test_error_of_the_command_is_reported",
         "test_killed_command_leaves_no_process"), "no command starts the agents")),
)}


class ManagerCase:
    """A mixin for a HostsCase. The place overrides the methods before the tests."""
    row = None
    patience = PATIENCE

    def __init_subclass__(cls, **options):
        """Hides the tests that are impossible at the place."""
        super().__init_subclass__(**options)
        for test in cls.row.impossible if cls.row else ():
            assert callable(getattr(ManagerCase, test)), test
            setattr(cls, test, None)

    def enter(self):
        """The command line that runs words in the job."""
        return ()

    def hosts(self):
        return self.row.hosts

    def told(self):
        return self.row.told

    def run_there(self, *words, **options):
        return self.run_dlaunch(*words, before=self.enter(), timeout=self.patience, **options)

    def start_there(self, *words):
        job = self.start(*words, before=self.enter(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        return job

    def end_there(self, job, code=None):
        """Waits for the end of a job. `code` None: any code except 0."""
        out, err = job.communicate(timeout=self.patience)
        self.assertTrue(job.returncode == code if code is not None else job.returncode != 0, f"{job.returncode}: {err}")
        return subprocess.CompletedProcess(job.args, job.returncode, out, err)

    def launchers_of(self, job):
        return [job.pid]

    def assert_others_end(self, job):
        """After a killed launcher."""
        job.communicate(timeout=self.patience)

    def without_sshd(self):
        for host in self.bed.hosts.values():
            host.kill_sshd()

    def break_command(self):
        """Lets the command that starts agents fail. Returns parts of its message."""
        raise NotImplementedError

    def commands(self):
        return self.bed.head.find(self.row.command)

    def cancel(self, job):
        """The batch system ends the job: by default, with SIGTERM to the processes on the first host."""
        self.signal_all(self.launchers_of(job), signal.SIGTERM)

    def before_output(self):
        pass

    # ---- helpers of the tests ----

    def name_of(self, host):
        nodes = list(dict.fromkeys(self.hosts()))
        return self.row.name.format(host=host, node=nodes.index(host))

    @staticmethod
    def signal_all(pids, number):
        """A process may end before its turn, because another one has ended."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def start_sleepers(self, words=SLEEPERS):
        """A job whose ranks and their daemons sleep."""
        remote = [host for host in self.hosts() if host != "head"]
        job = self.start_there(*words)
        there = lambda: [pid for host in self.bed.hosts.values() for pid, line in host.strangers().items() if line.startswith("sleep ")]
        self.assertTrue(wait_until(lambda: len(there()) == 2 * len(remote), self.patience), self.bed.left())
        return job

    def kill_agent(self, host):
        """Kills the process of an agent that carries its link: the one that connected, or the worker."""
        connected = [pid for pid, line in self.bed[host].strangers().items() if " --dial " in line and "nsenter" not in line]
        carrier, = connected or oldest_first(self.bed[host].find("dlaunch-agent"))[-1:]
        os.kill(carrier, signal.SIGKILL)

    def assert_gone(self):
        self.assert_hosts_clean()

    # ---- the tests ----

    def test_transport_is_reported(self):
        row = self.row
        for words, way in ((["--dry-run"], row.way), (["hosts"], row.way), (["--dry-run", "--transport", "ssh"], "ssh"),
                           (["--dry-run", "--exec", "x {host}"], "--exec")):
            with self.subTest(words):
                done = self.run_there(*words, *([] if words == ["hosts"] else ["true"]))
                self.assert_exit(done, 0)
                self.assertRegex(done.stdout.decode(), f"{self.told()}, by {way}")
        done = self.run_there("-v", *(["--transport", row.transport] if row.transport else []), "true")
        self.assert_exit(done, 0)
        self.assertRegex(done.stderr.decode(), f"{self.told()}, by {row.way}")
        if row.connects:
            self.assertRegex(done.stderr.decode(), r"agents of node\[1-2\] connect to ")

    def test_transport_outside_a_job_is_rejected(self):
        done = self.run_dlaunch("--transport", self.row.transport, "true", env=self.row.outside)
        self.assert_told(done, 2, f"--transport {self.row.transport}", self.row.outside_told)

    @promise(ONLY_SSHD, mode=RUN)
    def test_ranks_run_where_the_job_has_slots(self):
        """Without sshd on any host. The second job finds the agents of the first one."""
        self.without_sshd()
        nodes = list(dict.fromkeys(self.hosts()))
        expected = [f"[{rank}] {host} {self.row.value.format(rank=rank, host=host, node=nodes.index(host))}"
                    for rank, host in enumerate(self.hosts())]
        for _ in ("the agent is sent", "it is there"):
            done = self.run_there("--label", *sh(f"echo $(hostname) {self.row.show}; cat"), input=b"")
            self.assert_exit(done, 0)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(sorted(lines(done.stdout)), expected)

    @promise(NAMES_FIRST, mode=START)
    def test_error_of_the_command_is_reported(self):
        told = self.break_command()
        done = self.run_there("true")
        self.assert_told(done, 125, *told)
        self.assertIn(self.row.hint, done.stderr)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        """Commands of batch systems can lose output that a task writes right before its end."""
        self.before_output()
        size = self.row.size * len(set(self.hosts()) if self.row.spread else self.hosts())
        for _ in range(self.row.times):
            done = self.run_there(*self.row.spread, *sh(f"yes 1234567 | head -c {self.row.size}"))
            self.assert_exit(done, 0)
            self.assertEqual((len(done.stdout), done.stdout.count(b"1234567\n"), done.stderr), (size, size // 8, b""))

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_stdin_is_complete(self):
        last = len(self.hosts()) - 1
        done = self.run_there("--stdin", last, *sh(f"[ $RANK_ID != {last} ] || wc -c"), input=b"x" * 8 * MIB)
        self.assert_exit(done, 0)
        self.assertEqual(done.stdout.strip(), str(8 * MIB).encode())

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=FAILURE)
    def test_first_failure_is_named(self):
        last = len(self.hosts()) - 1
        done = self.run_there(*sh(f"[ $RANK_ID != {last} ] || exit 7; exec sleep 1000"))
        self.assert_told(done, 7, f"rank {last} (host {self.name_of(self.hosts()[-1])}")
        self.assert_gone()

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_leaves_no_process(self):
        job = self.start_sleepers(WRITERS)
        self.signal_all(self.launchers_of(job), signal.SIGKILL)
        self.assert_others_end(job)
        self.assert_gone()

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_host_of_a_killed_agent_is_named(self):
        job = self.start_sleepers()
        host = self.hosts()[-1]
        self.kill_agent(host)
        done = self.end_there(job, 125)
        self.assertIn(self.name_of(host).encode(), done.stderr)
        self.assertNotIn(b"may still run", done.stderr)
        self.assert_gone()

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_killed_command_leaves_no_process(self):
        job = self.start_sleepers()
        killed = self.commands()
        self.assertTrue(killed)
        self.signal_all(killed, signal.SIGKILL)
        self.assertTrue(re.search(self.row.some_host, self.end_there(job, 125).stderr))
        self.assert_gone()

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, ORPHANS))
    def test_cancelled_job_leaves_no_process(self):
        job = self.start_sleepers()
        self.cancel(job)
        done = self.end_there(job, self.row.cancelled)
        if self.row.cancelled:
            self.assertIn(b"interrupted by SIGTERM", done.stderr)
        self.assert_gone()
