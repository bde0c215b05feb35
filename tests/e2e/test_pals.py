"""Tests jobs inside a PBS job on a machine with PALS, with a fake aprun command (tests/testbed/pbs.py)."""
import os
import signal

from promises import ENDS, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, ORPHANS, PALS, RUN, START, promise
from support import TIMEOUT, main, sh
from test_pbs import PbsCase, lines


class ByAprun(PbsCase):
    place = PALS
    programs = ("aprun", "pbs_tmrsh")

    @promise(ONLY_SSHD, mode=RUN)
    def test_aprun_starts_all_agents(self):
        for _ in ("the agent is sent", "it is there"):
            done = self.run_dlaunch("--label", *sh("echo $(hostname) $(env | grep -c ^PALS_); cat"), input=b"")
            self.assert_exit(done, 0)
            self.assertEqual(done.stderr, b"")
            self.assertEqual(sorted(lines(done.stdout)), ["[0] head 0", "[1] node1 0", "[2] node1 0", "[3] node2 0"])

    def test_transport_is_reported(self):
        self.assertIn(b"PBS job 12.server: 3 nodes of 4 slots, by aprun", self.run_dlaunch("--dry-run", "true").stdout)
        self.assertIn(b"by pbs_tmrsh", self.run_dlaunch("--transport", "pbs", "--dry-run", "true").stdout)

    @promise(NAMES_FIRST, mode=START)
    def test_error_of_aprun_is_reported(self):
        program = self.pbs.dir / "aprun"
        program.write_text(program.read_text().replace("if host not in ENTER", "if host == 'node2'"))
        done = self.run_dlaunch("true")
        self.assert_told(done, 125, "aprun: host node2 is not in the job")

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete(self):
        done = self.run_dlaunch("-n", "4", *sh("yes 1234567 | head -c 16777216"))
        self.assert_exit(done, 0)
        self.assertEqual(len(done.stdout), 64 << 20)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_killed_aprun_ends_the_job_and_leaves_no_process(self):
        job = self.start_sleepers()
        for pid in self.bed.head.find("/aprun"):
            os.kill(pid, signal.SIGKILL)
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125, err)
        self.assertRegex(err, rb"node[12[]")
        self.assert_hosts_clean()

    @promise(LEAVES_NOTHING, mode=(KILL, ORPHANS))
    def test_killed_launcher_leaves_no_process(self):
        job = self.start_sleepers()
        os.kill(job.pid, signal.SIGKILL)
        job.communicate(timeout=TIMEOUT)
        self.assert_hosts_clean()


if __name__ == "__main__":
    main()
