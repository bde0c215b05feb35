"""Interactive programs under --pty in an allocation of a real Slurm."""
from interactive_case import InteractiveHosts
from support import main
from test_slurm import SlurmCase


class Slurm(InteractiveHosts, SlurmCase):
    """salloc does not return to the user's shell when its program is suspended."""
    shell = "salloc -Q -N1 -n1 sh -i"


if __name__ == "__main__":
    main(side_by_side=2)
