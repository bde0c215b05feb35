"""Tests a name server that never answers: all lookups end within 10 s in total, and the message names the host."""
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import namespaces  # noqa: E402
import testbed  # noqa: E402
import support  # noqa: E402
from promises import COMMAND, ENDS, NAMES_FIRST, SILENCE, START, promise  # noqa: E402
from support import Case  # noqa: E402

WHY_NOT = testbed.why_not()
LIMIT = 10
NAMES = [f"mute{number}" for number in range(1, 6)]
ELSEWHERE = ("--exec", "env X={host}")  # a shell on this machine replaces the shell of each host


class SilentNameServer(Case):
    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()
        (self.dir / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:5 attempts:3\n")
        (self.dir / "nsswitch.conf").write_text("hosts: files dns\n")
        (self.dir / "hosts").write_text("127.0.0.1 localhost\n192.0.2.7 known\n")

    def start(self, *args, **options):
        return super().start(*args, preexec_fn=self.enter_silent_network, close_fds=False, **options)

    def enter_silent_network(self):
        namespaces.unshare(namespaces.NEWNS | namespaces.NEWNET)
        namespaces.keep_mounts_private()
        for name in ("resolv.conf", "nsswitch.conf", "hosts"):
            namespaces.bind(self.dir / name, f"/etc/{name}")
        subprocess.run("ip link set lo up && ip link add d0 type veth peer name d1 && "
                       "ip addr add 192.0.2.1/24 dev d0 && ip link set d0 up",
                       shell=True, check=True)
        mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        mute.bind(("127.0.0.1", 53))
        mute.set_inheritable(True)
        mute.detach()

    @promise(ENDS, NAMES_FIRST, mode=(START, SILENCE), place=COMMAND)
    def test_every_name_lookup_ends(self):
        """All jobs run in parallel, because each takes the whole limit."""
        (self.dir / "list").write_text("localhost\n" + "\n".join(NAMES) + "\n")
        (self.dir / "one").write_text("localhost\nmute1\nknown\n")
        host = socket.gethostname()
        torch = ("--env-for", "torch")
        start = time.monotonic()
        # With slots, no host is contacted before the plan. Without slots, the agents wait during the lookups.
        planned = self.job("-H", ",".join(["localhost", *NAMES]), *torch, "true")
        queried = self.job("--hostfile", "list", *torch, "true")
        # The known name is looked up after the lookups of the names before it have timed out.
        one_known = self.job("--hostfile", "one", "-N", 1, *torch, *support.sh("echo $MASTER_ADDR"))
        maybe_ours = self.job("-H", ",".join(f"{host}.x{number}.example" for number in range(4)), "true")
        interrupted = self.job("--hostfile", "list", *torch, "true")
        time.sleep(3)  # during the lookups, whose begin and end cause no visible event
        interrupted.send_signal(signal.SIGINT)
        interrupted.communicate(timeout=3)
        self.assertNotEqual(interrupted.returncode, 0)
        for job in (planned, queried):
            with self.subTest(job=job.args):
                _, said = self.finish(job, 2, start)
                self.assertIn(b"timed out after 10 s (waiting for a name server to resolve mute[1-5])", said)
                self.assertIn(b"write this machine's address in -H", said)
                self.assertGreater(time.monotonic() - start, LIMIT - 1)
        printed, _ = self.finish(one_known, 0, start)
        self.assertEqual(set(printed.split()), {b"192.0.2.1"})
        self.finish(maybe_ours, 0, start)

    def job(self, *args):
        return self.start(*ELSEWHERE, *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, job, code, start):
        rest = 15 if support.SANITIZED else 5  # seconds for five launchers and their agents to start and end
        printed, said = job.communicate(timeout=max(1, start + LIMIT + rest - time.monotonic()))
        self.assertEqual(job.returncode, code, said)
        return printed, said


if __name__ == "__main__":
    support.main()
