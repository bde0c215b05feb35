"""Interactive programs under --pty on this machine, and with --fake-hosts."""
from interactive_case import InteractiveCase
from promises import FAKE_HOSTS
from support import Case, main


class Here(InteractiveCase, Case):
    pass


class FakeHosts(InteractiveCase, Case):
    place = FAKE_HOSTS
    options = ("--fake-hosts", "1")


if __name__ == "__main__":
    main(side_by_side=2)
