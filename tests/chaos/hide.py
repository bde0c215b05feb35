"""hide.py DIRECTORY...: mounts an empty tmpfs over each directory of this mount namespace. The checkout, the binary DLAUNCH
and the programs PROGRAMS stay visible at their paths, so that a checkout may be below /tmp or /root."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/testbed"))
import namespaces  # noqa: E402

keep = [ROOT, pathlib.Path(os.environ["DLAUNCH"]).parent, pathlib.Path(os.environ["PROGRAMS"])]
for directory in sys.argv[1:]:
    namespaces.hide(directory, "0700" if directory == "/root" else "1777", keep)
