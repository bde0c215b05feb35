"""Interactive programs under --pty on this machine, and with --fake-hosts."""
import shlex

import support
from interactive_case import Pane, InteractiveCase
from promises import FAKE_HOSTS
from support import Case, main, until_there


class Here(InteractiveCase, Case):
    def test_typed_text_and_the_status_line_have_separate_lines(self):
        """On the first lines of the screen, and on the last line."""
        (self.dir / "quiet").write_text(f"{until_there('told')}\necho over\nread x\necho got $x\n")
        pane = Pane(self, rows=12)
        try:
            pane.start_shell("")
            for lines in (1, 99):
                (self.dir / "told").unlink(missing_ok=True)
                pane.type(f"clear; seq {lines}; {shlex.quote(support.DLAUNCH)} -n 1 --status 0.3 sh quiet\n")
                pane.until("^1/1 running")
                pane.type("hello")
                pane.until("^1/1 running .* 00:0[2-9]")
                self.assertEqual([line for line in pane.screen() if line][-3:-1], [str(lines), "hello"])
                (self.dir / "told").touch()
                pane.until("^helloover")
                pane.key("Enter")
                pane.until("^got hello")
                self.assertEqual(pane.finish(), 0)
        finally:
            pane.close()


class FakeHosts(InteractiveCase, Case):
    place = FAKE_HOSTS
    options = ("--fake-hosts", "1")


if __name__ == "__main__":
    main(side_by_side=2)
