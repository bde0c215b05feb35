"""Interactive programs under --pty in an allocation of a real Slurm."""
from interactive_case import InteractiveHosts
from support import main
from test_slurm import SlurmCase


class Slurm(InteractiveHosts, SlurmCase):
    """salloc does not return to the user's shell when its program is suspended."""
    shell = "salloc -Q -N1 -n1 sh -i"
    # else a shell waits up to 60 s for the node of the shell before
    more = ("SchedulerParameters=sched_interval=1,batch_sched_delay=0",)

    def reason(self):
        return self.slurm.told()


if __name__ == "__main__":
    main(side_by_side=2)
