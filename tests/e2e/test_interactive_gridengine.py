"""Interactive programs under --pty in a job of a real Grid Engine: tmux and dlaunch run on the first host of the job, the
program on the other one."""
from interactive_case import InteractiveHosts
from support import main
from test_gridengine import JobCase


class GridEngine(InteractiveHosts, JobCase):
    options = ("-N", "1", "--stdin", "1", "--ranks", "1", "-n", "1", "true", ":")

    def enter(self):
        return self.job.enter


if __name__ == "__main__":
    main()
