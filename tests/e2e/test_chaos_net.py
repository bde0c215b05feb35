"""Tests dlaunch chaos on a network interface: the interface is cut and slowed, and restored at the end of the job."""
import os
import signal
import subprocess

from hosts_case import WHY_NOT
from promises import LEAVES_NOTHING, SILENCE, promise
from support import Case, TIMEOUT, main, sh, wait_until

LINK = "ip link add name vea type veth peer name veb && ip addr add 10.9.0.1/24 dev vea && ip link set dev vea up && ip link set dev veb up && "

# The rank prints "up", waits for the condition, prints "broken", waits for the end of the condition, and prints
# "whole".
WAITS = 'echo up; until {0}; do sleep 0.02; done; echo broken; while {0}; do sleep 0.02; done; echo whole'
IS_UP = 'ip -o link show dev vea | grep -q "[<,]UP[,>]"'
IS_DOWN = "! " + IS_UP
IS_SLOW = 'tc qdisc show dev vea | grep -q "tbf [0-9a-f]*: root"'


class Net(Case):
    def setUp(self):
        super().setUp()
        if WHY_NOT:
            self.skipTest(WHY_NOT)

    def chaos(self, fault, *words, before=LINK, options=()):
        """Runs dlaunch chaos in its own network namespace, with a link in it."""
        shell = ["unshare", "--net", "sh", "-c", before + 'exec "$@"', "sh"]
        return self.run_dlaunch("chaos", "--fault", fault, *options, "--", "-n", 1, *words, before=shell, timeout=3 * TIMEOUT)

    def test_interface_is_cut_for_a_time(self):
        result = self.chaos("cut:net=vea@line:/up/+3s", *sh(WAITS.format(IS_DOWN)), options=["--expect", "code=0"])
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"up\nbroken\nwhole\n", result.stderr)
        self.assertRegex(result.stderr.decode(), r"s: cut:net=vea@line:/up/\+3s \(interface vea\)\n")

    def test_interface_is_slowed_for_a_time(self):
        result = self.chaos("slow:net=vea=1MB/s@line:/up/+3s", *sh(WAITS.format(IS_SLOW)), options=["--expect", "code=0"])
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"up\nbroken\nwhole\n", result.stderr)

    @promise(LEAVES_NOTHING, mode=SILENCE)
    def test_interface_is_restored_at_the_end_of_the_job(self):
        for fault, broken in (("cut:net=vea@0s", IS_DOWN), ("slow:net=vea=1MB/s@0s", IS_SLOW)):
            after = '"$@" || exit; ip -o link show dev vea; tc qdisc show dev vea; exit; '
            result = self.chaos(fault, *sh(f"until {broken}; do sleep 0.02; done; echo broken"), before=LINK + after)
            self.assert_exit(result, 0)
            self.assertTrue(result.stdout.startswith(b"broken\n"), result.stdout)
            self.assertRegex(result.stdout, rb"[<,]UP[,>]")
            self.assertNotIn(b"tbf", result.stdout)

    def test_interface_is_restored_if_chaos_is_killed(self):
        for fault, broken in (("cut:net=vea@0s", IS_DOWN), ("slow:net=vea=1MB/s@0s", IS_SLOW)):
            job = self.start("chaos", "--fault", fault, "--", "-n", 1, *sh(f"until {broken}; do sleep 0.02; done; echo broken; exec sleep 1000"),
                             before=["unshare", "--net", "sh", "-c", LINK + 'exec "$@"', "sh"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(job.stdout.readline(), b"broken\n")
            job.stdout.close()
            with open(f"/proc/{job.pid}/ns/net") as space:
                job.send_signal(signal.SIGKILL)
                job.wait(TIMEOUT)
                wait_until(lambda: self.in_space(space, broken) != 0, TIMEOUT)

    def in_space(self, space, script):
        return subprocess.run(["nsenter", f"--net=/proc/{os.getpid()}/fd/{space.fileno()}", *sh(script)], env=self.env).returncode

    def test_second_fault_does_not_touch_a_broken_interface(self):
        """Both faults are planned for an intact interface. The second fault finds the interface broken and changes
        nothing."""
        for fault, broken, why in (("cut:net=vea@line:/now/", IS_DOWN, b"interface vea is down already"),
                                   ("slow:net=vea=1MB/s@line:/now/", IS_SLOW, b"it already has a queueing discipline")):
            with self.subTest(fault):
                planned, done, ends = (self.dir / f"{name}-{fault[:4]}" for name in ("planned", "done", "ends"))
                breaks = sh(f"until [ -e {planned} ]; do sleep 0.02; done; echo now; until {broken}; do sleep 0.02; done; "
                            f"touch {done}; until [ -e {ends} ]; do sleep 0.02; done")
                first = self.start("chaos", "--fault", fault, "--", "-n", 1, *breaks, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   before=["unshare", "--net", "sh", "-c", LINK + f'touch {self.dir}/there; exec "$@"', "sh"])
                self.assertTrue(wait_until((self.dir / "there").exists, TIMEOUT))
                (self.dir / "there").unlink()
                with open(f"/proc/{first.pid}/ns/net") as space:
                    comes = sh(f"trap exit USR1; touch {planned}; until [ -e {done} ]; do sleep 0.02; done; echo now; while :; do sleep 0.02; done")
                    result = self.run_dlaunch("chaos", "--fault", fault, "--fault", "signal:USR1:rank=0@line:/now/", "--", "-n", 1, *comes,
                                              before=["nsenter", f"--net=/proc/{os.getpid()}/fd/{space.fileno()}"], timeout=3 * TIMEOUT)
                    self.assert_exit(result, 3)
                    self.assertIn(why, result.stderr)
                    self.assertEqual(self.in_space(space, broken), 0)
                    ends.touch()
                    self.assertEqual(first.wait(TIMEOUT), 0)
                    self.assertNotEqual(self.in_space(space, broken), 0)

    def test_faults_without_permission_or_interface_are_rejected(self):
        for fault, before, why in (
                ("cut:net=eth77@0s", LINK, "unknown interface eth77 in this network namespace"),
                ("cut:net=vea@0s", LINK + "ip route add default via 10.9.0.2 && ", "interface vea has further routes or IPv6 addresses, which the fault would remove"),
                ("cut:net=vea@0s", LINK + "ip route add 10.50.0.0/16 dev vea && ", "interface vea has further routes or IPv6 addresses"),
                ("cut:net=vea@0s", LINK + "ip link set dev vea down && ", "interface vea is down already"),
                ("slow:net=vea=1MB/s@0s", LINK + 'setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"; exit; ', "changing interface vea requires CAP_NET_ADMIN")):
            result = self.chaos(fault, "true", before=before)
            self.assert_exit(result, 2)
            self.assertIn(why, result.stderr.decode())

    def test_interface_keeps_its_own_queueing_discipline(self):
        before = LINK + 'tc qdisc add dev vea root pfifo limit 7 && '
        result = self.chaos("slow:net=vea=1MB/s@0s", *sh('trap "tc qdisc show dev vea; exit" USR1; echo up; while :; do sleep 0.05; done'), before=before,
                            # The first fault has been tried by then.
                            options=["--fault", "signal:USR1:rank=0@line:/up/"])
        self.assert_exit(result, 3)
        self.assertIn(b"pfifo", result.stdout)
        self.assertIn(b"it already has a queueing discipline", result.stderr)


if __name__ == "__main__":
    main()
