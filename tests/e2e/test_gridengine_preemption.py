"""Tests the script of examples/requeue in a real Grid Engine: ranks save their state before the job is suspended, and
the next attempt continues from it."""
import json
import pathlib
import re

from hosts_case import PATIENCE
from promises import ENDS, LOSES_NOTHING, PREEMPTION, SIGNAL, promise
from support import DLAUNCH, main, wait_until
from test_gridengine import GridEngineCase
from test_slurm_preemption import PYTHON, RANK

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "requeue" / "requeue.sge"


class Requeue(GridEngineCase):
    def setUp(self):
        super().setUp()
        self.place = self.dir / "job"
        self.place.mkdir()
        self.script = self.dir / "script"  # Grid Engine sets its own PATH for a job
        self.script.write_text(SCRIPT.read_text().replace("exec dlaunch", f"exec {DLAUNCH}").replace("python3", PYTHON))
        (self.place / "train.py").write_text(RANK)

    def submit(self, *options):
        number = self.engine.tell("qsub", "-terse", "-pe", "orte", "2", "-wd", str(self.place), "-j", "y", "-o",
                                  str(self.place / "said"), *options, str(self.script)).strip()
        self.assertTrue(number.isdigit(), number)
        self.addCleanup(lambda: self.engine.tell("qdel", "-f", number))
        self.assertTrue(wait_until(lambda: len(list(self.place.glob("up.*"))) == 2, PATIENCE), self.text())
        return number

    def text(self):
        said = self.place / "said"
        return (said.read_text() if said.exists() else "nothing was said") + self.engine.tell("qstat", "-f")

    def wait_said(self, text):
        self.assertTrue(wait_until(lambda: re.search(text, self.text()), PATIENCE), f"no {text} in {self.text()}")

    @promise(ENDS, LOSES_NOTHING, mode=PREEMPTION)
    def test_suspended_job_is_requeued_and_continues(self):
        number = self.submit()
        self.engine.tell("qmod", "-sj", number)
        for rank in (0, 1):
            self.wait_said(f"rank {rank} was told SIGUSR1\n")
        self.wait_said("preempted by SIGUSR1.* after .*: all ranks exited with 0 within")
        for rank in (0, 1):
            self.wait_said(f"rank {rank} attempt 1 goes on from step 7")
        self.assertTrue(wait_until(lambda: number not in self.engine.jobs(), PATIENCE), self.text())
        logs = self.place / "logs" / "1"
        self.assertEqual((logs / "rank.1" / "stdout").read_text(), "rank 1 attempt 0 begins\nrank 1 was told SIGUSR1\n")
        self.assertEqual((logs / "attempt.1" / "rank.1" / "stdout").read_text(), "rank 1 attempt 1 goes on from step 7\n")
        first, second = (json.loads((self.place / name).read_text()) for name in ("report.json.attempt.0", "report.json"))
        self.assertEqual((first["attempt"], first["cause"], first["exit_code"]), (0, "preempted", 99))
        self.assertEqual((second["attempt"], second["cause"], second["exit_code"]), (1, "success", 0))

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_deleted_job_saves_its_state_and_stays_deleted(self):
        number = self.submit()
        self.engine.tell("qdel", number)
        self.wait_said("preempted by SIGUSR2.* after .*: all ranks exited with 0 within")
        self.assertTrue(wait_until(lambda: number not in self.engine.jobs(), PATIENCE), self.text())
        self.assertEqual(sorted(state.name for state in self.place.glob("state.*")), ["state.0", "state.1"])


if __name__ == "__main__":
    main()
