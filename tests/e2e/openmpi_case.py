"""Shared by the end-to-end tests of Open MPI: its programs, and the check that no files are left."""
import os
import pathlib
import shutil
import subprocess

from support import Case, left_since, program

BRIDGE = pathlib.Path(os.environ["DLAUNCH"]).with_name("dlaunch-pmix")
WHY_NOT = None
if not shutil.which("mpicc.openmpi"):
    WHY_NOT = "no mpicc.openmpi: scripts/install-packages mpi"
elif not BRIDGE.exists():
    WHY_NOT = "this build has no dlaunch-pmix: scripts/install-packages mpi, then configure and build again"
PYTHON = "/usr/bin/python3"  # Debian's own Python, which has the packages of Debian
MPI4PY = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode == 0


def openmpi(name):
    return program("openmpi/" + name)


def left_behind():
    """Job directories, and files of Open MPI."""
    patterns = {"/tmp": ("dlaunch-????????????????", "dlaunch-kvs_*", "ompi.*"),
                "/dev/shm": ("dlaunch-????????????????", "dlaunch-kvs_*", "vader_segment*")}
    return {str(path) for place, names in patterns.items() for name in names for path in pathlib.Path(place).glob(name)}


class OpenMpi:
    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()

    def mpi(self, name):
        return openmpi(name)


class OpenMpiCase(OpenMpi, Case):
    def setUp(self):
        super().setUp()
        self.before = left_behind()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(left_since(self.before, left_behind), set())
