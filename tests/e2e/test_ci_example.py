"""Tests the script of examples/ci, which checks that a job recovers."""
import pathlib
import subprocess
import xml.etree.ElementTree

from support import Case, DLAUNCH, TIMEOUT, main

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "ci" / "prove-recovery"


class CiExample(Case):
    def test_script_proves_a_recovery(self):
        done = subprocess.run([SCRIPT, "results"], cwd=self.dir, env=self.env | {"DLAUNCH": DLAUNCH}, capture_output=True, timeout=3 * TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode().splitlines(), [f"rank {rank} result {5050 * (rank + 1)}" for rank in range(4)])
        suite = xml.etree.ElementTree.parse(self.dir / "results" / "junit.xml").getroot()
        self.assertEqual(suite.get("failures"), "0")


if __name__ == "__main__":
    main()
