"""Interactive programs under --pty in an allocation of a real Slurm."""
from interactive_case import InteractiveHosts
from support import main
from test_slurm import SlurmCase

# salloc puts its program into the foreground after the start. `sh -i` in the background stops, and salloc never
# continues it.
FOREGROUND_SHELL = """\
#!/bin/sh
until [ "$(ps -o pgid= -p $$)" = "$(ps -o tpgid= -p $$)" ]; do sleep 0.1; done
exec sh -i
"""


class Slurm(InteractiveHosts, SlurmCase):
    """salloc does not return to the user's shell when its program is suspended."""
    shell = "salloc -Q -N1 -n1 ./shell"

    def setUp(self):
        super().setUp()
        (self.dir / "shell").write_text(FOREGROUND_SHELL)
        (self.dir / "shell").chmod(0o755)

    def reason(self):
        return self.slurm.told()


if __name__ == "__main__":
    main(side_by_side=2)
