"""Interactive programs under --pty on a host with sshd."""
from hosts_case import HostsCase
from interactive_case import ENDS_OF_JOBS, InteractiveHosts, by_a_lost_host
from support import main


class Ssh(InteractiveHosts, HostsCase):
    options = ("-H", "node1")
    ends = [*ENDS_OF_JOBS, by_a_lost_host]


if __name__ == "__main__":
    main(side_by_side=2)
