"""In a real Slurm's jobs: what announces a job's end reaches the ranks, which save their state, and the next attempt of
the requeued job goes on from there."""
import json
import pathlib
import re
import shutil
import time

from hosts_case import PATIENCE
from side_by_side import takes_long
from support import DLAUNCH, main, wait_until
from test_slurm import SlurmCase

PYTHON = "/usr/bin/python3"  # of the hosts: ours may be in a home
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "requeue"
# Counts what it is told, and saves its step a while after the first signal: another one would come meanwhile. Where
# there is a state, it goes on from there, and is done.
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
    kill_wait = 20  # ranks save their state within that, also on a busy machine

    def setUp(self):
        super().setUp()
        self.rank = self.dir / "rank.py"
        self.rank.write_text(RANK)

    def submit(self, *options, place, words=(), script=None):
        """The number of a job of two nodes, with a rank on each, once they run; its output goes to place/said."""
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
        """Slurm lets two minutes pass before a requeued job starts again. In the second in which it ended the job, its nodes
        would take the next attempt for the one that was ended, and drop it without a word."""
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


class Preemption(PreemptionCase):
    def test_the_batch_shell_alone_is_signalled(self):
        """As by --signal=B:USR1@…, which Slurm looks at twice a minute."""
        place = self.dir / "job"
        number = self.submit("--time=10", place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place)
        left = int(re.search(r"which have (\d+) s to save", self.text(place))[1])
        self.assertTrue(90 < left <= 600, f"not the job's end: {left} s")

    def test_all_that_ranks_write_after_the_signal_is_there(self):
        place = self.dir / "job"
        self.env["AFTER"] = "100000"
        number = self.submit(place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        for rank in (0, 1):
            found = re.findall(rf"(?m)^rank {rank} line (\d+)$", self.text(place))
            self.assertEqual(found, [str(number) for number in range(100000)])

    def test_the_steps_alone_are_signalled(self):
        """As by --signal=USR1@…: agents and ranks get it from Slurm, dlaunch does not."""
        place = self.dir / "job"
        number = self.submit(place=place, words=self.words(place))
        self.wait_up(place)
        self.slurm.tell("scancel", "-s", "USR1", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, by="SIGUSR1 to an agent")

    def test_a_signal_to_the_steps_of_another_job_changes_nothing(self):
        """Without --checkpoint-signal it is the ranks' affair."""
        place = self.dir / "job"
        number = self.submit(place=place, words=[PYTHON, self.rank, place, "SIGUSR1"])
        self.wait_up(place)
        self.slurm.tell("scancel", "-s", "USR1", number)
        self.wait_said(place, "(?s)was told SIGUSR1\n.*was told SIGUSR1\n")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())
        self.assertNotIn("dlaunch: ", self.text(place))

    def test_a_cancelled_job_saves_its_state(self):
        """Slurm sends TERM to all that is in the job, and KILL after KillWait."""
        place = self.dir / "job"
        number = self.submit(place=place, words=["--preempt-grace", 15, *self.words(place, "SIGTERM")])
        self.wait_up(place)
        self.slurm.tell("scancel", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, told="SIGTERM", by="SIGTERM.*")

    def test_so_it_does_with_TERM_as_the_signal_which_comes_once(self):
        place = self.dir / "job"
        words = ["--checkpoint-signal", "TERM", "--preempt-grace", 15, PYTHON, self.rank, place, "SIGTERM"]
        number = self.submit(place=place, words=words)
        self.wait_up(place)
        self.slurm.tell("scancel", number)
        self.wait_said(place, "preempted by .* after")
        self.assert_saved(place, told="SIGTERM", by="SIGTERM.*")


class RequeueCase(PreemptionCase):
    """The script of examples/requeue."""

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

    def assert_goes_on(self):
        for rank in (0, 1):
            self.wait_said(self.place, rf"rank {rank} attempt 1 goes on from step 7")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())


class Requeue(RequeueCase):
    def test_the_next_attempt_goes_on_with_files_of_its_own(self):
        number = self.submit_example()
        self.slurm.tell("scancel", "-b", "-s", "USR1", number)
        self.start_again(number)
        self.assert_goes_on()
        self.assert_saved(self.place)
        logs, begun = self.place / "logs" / "1", "rank 1 attempt 0 begins\nrank 1 was told SIGUSR1\n"
        self.assertEqual((logs / "rank.1" / "stdout").read_text(), begun)
        self.assertEqual((logs / "attempt.1" / "rank.1" / "stdout").read_text(), "rank 1 attempt 1 goes on from step 7\n")
        first, second = (json.loads((self.place / name).read_text()) for name in ("report.json.attempt.0", "report.json"))
        self.assertEqual((first["attempt"], first["cause"], first["exit_code"]), (0, "preempted", 75))
        self.assertEqual((second["attempt"], second["cause"], second["exit_code"]), (1, "success", 0))

    def test_a_cancelled_job_stays_cancelled(self):
        number = self.submit_example()
        self.slurm.tell("scancel", number)
        self.wait_said(self.place, "preempted by .* after")
        self.assert_saved(self.place, told=r"(?:SIGUSR1\+)?SIGTERM(?:\+SIGUSR1)?", by="SIGTERM.*")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE), self.slurm.told())

    def test_a_job_that_slurm_requeues_goes_on(self):
        number = self.submit_example()
        self.slurm.tell("scontrol", "requeue", number)
        self.start_again(number)
        self.assert_goes_on()


class ByPriority(RequeueCase):
    """A job of a partition of higher priority needs the nodes; the other has time to save its state."""
    more = ("PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE",
            "PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=25", "PartitionName=high Nodes=ALL PriorityTier=10")

    def test_it_goes_on_afterwards(self):
        number = self.submit_example("-p", "low")
        self.bed.head.run(["sbatch", "-p", "high", "-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1"], env=self.env)
        self.start_again(number)
        self.assert_goes_on()
        self.assertRegex(self.text(self.place), "preempted by SIGTERM to an agent")


@takes_long
class TimeLimits(PreemptionCase):
    def test_time_limits_that_are_near_and_over(self):
        """Side by side, because Slurm looks at time limits only twice a minute."""
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
