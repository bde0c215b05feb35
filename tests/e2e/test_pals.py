"""Tests jobs inside a PBS job on a machine with PALS, with a fake aprun command (tests/testbed/pbs.py)."""
from manager_case import ROWS, ManagerCase
from promises import PALS
from support import main
from test_pbs import PbsCase


class Promises(ManagerCase, PbsCase):
    place = PALS
    row = ROWS[PALS]
    programs = ("aprun", "pbs_tmrsh")

    def break_command(self):
        program = self.pbs.dir / "aprun"
        program.write_text(program.read_text().replace("if host not in ENTER", "if host == 'node2'"))
        return ("aprun: host node2 is not in the job",)

    def test_transport_pbs_overrides_aprun(self):
        self.assertIn(b"by pbs_tmrsh", self.run_dlaunch("--transport", "pbs", "--dry-run", "true").stdout)


if __name__ == "__main__":
    main()
