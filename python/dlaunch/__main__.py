"""python3 -m dlaunch: the command line of dlaunch."""
import os
import sys

from . import binary

os.execv(binary(), [binary(), *sys.argv[1:]])
