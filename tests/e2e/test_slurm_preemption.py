"""Tests jobs of a real Slurm: the notice before a job's end reaches the ranks, the ranks save their state, and the next
attempt of the requeued job continues from it."""
import json
import pathlib
import re
import shutil
import time

from hosts_case import PATIENCE
from promises import DEADLINE, ENDS, FILES, LOSES_NOTHING, PREEMPTION, SIGNAL, promise
from side_by_side import takes_long
from support import DLAUNCH, main, wait_until
from slurm import why_no_cgroups
from test_slurm import SlurmCase

PYTHON = "/usr/bin/python3"  # on the hosts; this interpreter may be in a home directory
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "requeue"
# Counts its signals, and saves its step some time after the first signal, so that a second signal would arrive before.
# If a state exists, the rank continues from it and succeeds.
RANK = '''
import os, signal, sys, time
place, told = (*sys.argv[1:2], ".")[0], []
for name in sys.argv[2:] or ["SIGUSR1", "SIGTERM"]:
    signal.signal(getattr(signal, name), lambda number, _: told.append(signal.Signals(number).name))
rank, attempt = os.environ["DLAUNCH_RANK"], os.environ.get("DLAUNCH_ATTEMPT")
state = f"{place}/state.{rank}"
if os.path.exists(state):
    print(f"rank {rank} attempt {attempt} goes on from {open(state).read()}", flush=True)
    sys.exit(0)
print(f"rank {rank} attempt {attempt} begins", flush=True)
open(f"{place}/up.{rank}", "w").close()
while not told:
    time.sleep(0.02)
time.sleep(1.5)
open(state, "w").write("step 7")
for number in range(int(os.environ.get("AFTER", "0"))):
    print(f"rank {rank} line {number}")
print(f"rank {rank} was told {'+'.join(told)}", flush=True)
'''


class PreemptionCase(SlurmCase):
    kill_wait = 20  # ranks must save their state within this time, also on a busy machine

    def setUp(self):
        super().setUp()
        self.rank = self.dir / "rank.py"
        self.rank.write_text(RANK)

    def submit(self, *options, place, words=(), script=None):
        """Submits a job of two nodes with one rank per node. Returns its number. The output is written to place/said.
        """
        place.mkdir(exist_ok=True)
        text = script or f"#!/bin/sh\nexec {DLAUNCH} {' '.join(map(str, words))}\n"
        (place / "script").write_text(text)
        done = self.bed.head.run(["sbatch", "--parsable", "-N2", "--ntasks-per-node=1", "-o", place / "said", "--open-mode=append",
                                  *options, place / "script"], env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def words(self, place, *caught, options=()):
        return ["--checkpoint-signal", "USR1", *options, PYTHON, self.rank, place, *(caught or ["SIGUSR1"])]

    def wait_up(self, place):
        self.assertTrue(wait_until(lambda: len(list(place.glob("up.*"))) == 2, PATIENCE), f"{self.text(place)}\n{self.slurm.told()}")

    def text(self, place):
        said = place / "said"
        return said.read_text() if said.exists() else ""

    def wait_said(self, place, text):
        self.assertTrue(wait_until(lambda: re.search(text, self.text(place)), PATIENCE),
                        f"no {text} in:\n{self.text(place)}\n{self.slurm.told()}")

    def start_again(self, number):
        """Starts a requeued job without Slurm's delay of two minutes. The new start must be in a later second than the
        end, because nodes would take the new attempt for the ended one and drop it silently."""
        self.assertTrue(wait_until(lambda: "PENDING" in self.slurm.tell("squeue", "-h", "-j", number, "-o", "%T"), PATIENCE), self.slurm.told())
        ended = int(time.time())
        self.assertTrue(wait_until(lambda: int(time.time()) > ended))
        self.slurm.update(number, "StartTime=now")

    def assert_saved(self, place, told="SIGUSR1", by="SIGUSR1.*"):
        said = self.text(place)
        for rank in (0, 1):
            self.assertEqual(len(re.findall(rf"(?m)^rank {rank} was told {told}$", said)), 1, said)
            self.assertEqual((place / f"state.{rank}").read_text(), "step 7")
        self.assertRegex(said, rf"dlaunch: preempted by {by} after .*: all ranks exited with 0 within")


class SignalsOfSteps:
    """Slurm signals the steps of a job: the ranks get the signal once, from Slurm or from dlaunch."""

    @promise(ENDS, mode=PREEMPTION)
    def test_signal_to_the_steps_preempts_the_job(self):
        """Slurm sends such a signal for --signal=USR1@…: agents or ranks get it, dlaunch does not."""
        place = self.dir / "job"
        number = self.submit(place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, by="SIGUSR1 to an agent")

    def test_signal_to_the_steps_reaches_the_ranks_without_the_option(self):
        """Without --checkpoint-signal, only the ranks handle the signal."""
        place = self.dir / "job"
        number = self.submit(place=place, words=[PYTHON, self.rank, place, "SIGUSR1"])
        self.wait_up(place)
        self.slurm.tell("scancel", "-s", "USR1", number)
        self.wait_said(place, "(?s)was told SIGUSR1\n.*was told SIGUSR1\n")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())
        self.assertNotIn("dlaunch: ", self.text(place))

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_sigterm_as_checkpoint_signal_is_sent_once(self):
        place = self.dir / "job"
        words = ["--checkpoint-signal", "TERM", "--preempt-grace", 15, PYTHON, self.rank, place, "SIGTERM"]
        number = self.submit(place=place, words=words)
        self.wait_up(place)
        self.slurm.tell("scancel", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, told="SIGTERM", by="SIGTERM.*")


class Preemption(SignalsOfSteps, PreemptionCase):
    @promise(ENDS, mode=PREEMPTION)
    def test_signal_to_the_batch_shell_preempts_the_job(self):
        """Slurm sends such a signal for --signal=B:USR1@…, which it checks twice a minute."""
        place = self.dir / "job"
        number = self.submit("--time=10", place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place)
        left = int(re.search(r"the ranks have (\d+) s to save", self.text(place))[1])
        self.assertTrue(90 < left <= 600, f"not the job's end: {left} s")

    @promise(LOSES_NOTHING, mode=PREEMPTION)
    def test_output_after_the_signal_is_complete(self):
        place = self.dir / "job"
        self.env["AFTER"] = "100000"
        number = self.submit(place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        for rank in (0, 1):
            found = re.findall(rf"(?m)^rank {rank} line (\d+)$", self.text(place))
            self.assertEqual(found, [str(number) for number in range(100000)])

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_cancelled_job_saves_its_state(self):
        """Slurm sends SIGTERM to all processes of the job, and SIGKILL after KillWait."""
        place = self.dir / "job"
        number = self.submit(place=place, words=["--preempt-grace", 15, *self.words(place, "SIGTERM")])
        self.wait_up(place)
        self.slurm.tell("scancel", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, told="SIGTERM", by="SIGTERM.*")


class ByCgroup(SignalsOfSteps, PreemptionCase):
    """proctrack/cgroup signals only the children of slurmstepd: the process that carries the link of an agent."""
    proctrack = "cgroup"

    def setUp(self):
        if why := why_no_cgroups():
            self.skipTest(why)
        super().setUp()


class RequeueCase(PreemptionCase):
    """Tests the script of examples/requeue."""

    def setUp(self):
        super().setUp()
        programs = self.dir / "bin"
        programs.mkdir()
        (programs / "dlaunch").symlink_to(DLAUNCH)
        (programs / "python3").symlink_to(PYTHON)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"
        self.place = self.dir / "job"

    def submit_example(self, *options):
        self.place.mkdir()
        shutil.copy(self.rank, self.place / "train.py")
        number = self.submit("-D", self.place, *options, place=self.place, script=(EXAMPLES / "requeue.sbatch").read_text())
        self.wait_up(self.place)
        return number

    def assert_continues(self):
        for rank in (0, 1):
            self.wait_said(self.place, rf"rank {rank} attempt 1 goes on from step 7")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())


class Requeue(RequeueCase):
    @promise(LOSES_NOTHING, mode=(PREEMPTION, FILES))
    def test_next_attempt_continues_with_its_own_files(self):
        number = self.submit_example()
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.start_again(number)
        self.assert_continues()
        self.assert_saved(self.place)
        logs, begun = self.place / "logs" / "1", "rank 1 attempt 0 begins\nrank 1 was told SIGUSR1\n"
        self.assertEqual((logs / "rank.1" / "stdout").read_text(), begun)
        self.assertEqual((logs / "attempt.1" / "rank.1" / "stdout").read_text(), "rank 1 attempt 1 goes on from step 7\n")
        first, second = (json.loads((self.place / name).read_text()) for name in ("report.json.attempt.0", "report.json"))
        self.assertEqual((first["attempt"], first["cause"], first["exit_code"]), (0, "preempted", 75))
        self.assertEqual((second["attempt"], second["cause"], second["exit_code"]), (1, "success", 0))

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_cancelled_job_stays_cancelled(self):
        number = self.submit_example()
        self.slurm.tell("scancel", number)
        self.wait_said(self.place, "preempted by .* after")
        self.assert_saved(self.place, told=r"(?:SIGUSR1\+)?SIGTERM(?:\+SIGUSR1)?", by="SIGTERM.*")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())

    def test_job_requeued_by_slurm_continues(self):
        number = self.submit_example()
        self.slurm.tell("scontrol", "requeue", number)
        self.start_again(number)
        self.assert_continues()


class ByPriority(RequeueCase):
    """A job in a partition of higher priority needs the nodes; the preempted job has time to save its state."""
    more = ("PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE",
            "PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=25", "PartitionName=high Nodes=ALL PriorityTier=10")

    @promise(ENDS, mode=PREEMPTION)
    def test_preempted_job_continues_afterwards(self):
        number = self.submit_example("-p", "low")
        self.bed.head.run(["sbatch", "-p", "high", "-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1"], env=self.env)
        self.start_again(number)
        self.assert_continues()
        self.assertRegex(self.text(self.place), "preempted by SIGTERM to an agent")


@takes_long
class TimeLimits(PreemptionCase):
    @promise(ENDS, mode=(PREEMPTION, DEADLINE))
    def test_time_limits_that_are_near_or_reached(self):
        """In parallel, because Slurm checks time limits only twice a minute."""
        places = {name: self.dir / name for name in ("shell", "steps", "over")}
        number = {}
        for name, options in (("shell", ["--signal=B:USR1@70"]), ("steps", ["--signal=USR1@70"]), ("over", [])):
            number[name] = self.submit("--time=10", *options, place=places[name], words=self.words(places[name], "SIGUSR1", "SIGTERM"))
        for place in places.values():
            self.wait_up(place)
        for name in ("shell", "steps"):
            self.slurm.update(number[name], "EndTime=now+68")
        self.slurm.update(number["over"], "EndTime=now+2")
        for place in places.values():
            self.wait_said(place, "preempted by .* after")
        self.assert_saved(places["shell"], by="SIGUSR1 from pid.*")
        self.assert_saved(places["steps"], by="SIGUSR1 to an agent")
        self.assert_saved(places["over"], told=r"(?:SIGTERM\+)*SIGUSR1(?:\+SIGTERM)*", by="SIGTERM.*")


if __name__ == "__main__":
    main(side_by_side=3)
