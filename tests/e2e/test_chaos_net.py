"""dlaunch chaos on a network interface: it is cut and slowed where that is allowed, and is as before when the job is over."""
import os
import signal
import subprocess

from hosts_case import WHY_NOT
from support import Case, TIMEOUT, main, sh, wait_until

LINK = "ip link add name vea type veth peer name veb && ip addr add 10.9.0.1/24 dev vea && ip link set dev vea up && ip link set dev veb up && "

# A rank that says that it runs, waits until the condition holds, says so, waits until it holds no more, and says that.
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
        """dlaunch chaos in a network namespace of its own, with a link in it."""
        shell = ["unshare", "--net", "sh", "-c", before + 'exec "$@"', "sh"]
        return self.run_dlaunch("chaos", "--fault", fault, *options, "--", "-n", 1, *words, before=shell, timeout=3 * TIMEOUT)

    def test_an_interface_is_cut_for_a_time(self):
        result = self.chaos("cut:net=vea@line:/up/+3s", *sh(WAITS.format(IS_DOWN)), options=["--expect", "code=0"])
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"up\nbroken\nwhole\n", result.stderr)
        self.assertRegex(result.stderr.decode(), r"s: cut:net=vea@line:/up/\+3s \(interface vea\)\n")

    def test_an_interface_is_slowed_for_a_time(self):
        result = self.chaos("slow:net=vea=1MB/s@line:/up/+3s", *sh(WAITS.format(IS_SLOW)), options=["--expect", "code=0"])
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"up\nbroken\nwhole\n", result.stderr)

    def test_all_is_undone_at_the_end_of_the_job(self):
        for fault, broken in (("cut:net=vea@0s", IS_DOWN), ("slow:net=vea=1MB/s@0s", IS_SLOW)):
            after = '"$@" || exit; ip -o link show dev vea; tc qdisc show dev vea; exit; '
            result = self.chaos(fault, *sh(f"until {broken}; do sleep 0.02; done; echo broken"), before=LINK + after)
            self.assert_exit(result, 0)
            self.assertTrue(result.stdout.startswith(b"broken\n"), result.stdout)
            self.assertRegex(result.stdout, rb"[<,]UP[,>]")
            self.assertNotIn(b"tbf", result.stdout)

    def test_and_when_dlaunch_chaos_is_killed(self):
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

    def test_two_on_one_interface_leave_each_others_work(self):
        """Both are planned while it is whole; the second finds it broken, and breaks and heals nothing."""
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

    def test_what_cannot_be_done_is_refused(self):
        for fault, before, why in (
                ("cut:net=eth77@0s", LINK, "there is no interface eth77 in this network namespace"),
                ("cut:net=vea@0s", LINK + "ip route add default via 10.9.0.2 && ", "interface vea has further routes or IPv6 addresses, which the fault would remove"),
                ("cut:net=vea@0s", LINK + "ip route add 10.50.0.0/16 dev vea && ", "interface vea has routes beside that to its own network"),
                ("cut:net=vea@0s", LINK + "ip link set dev vea down && ", "interface vea is down already"),
                ("slow:net=vea=1MB/s@0s", LINK + 'setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"; exit; ', "to change interface vea takes the right CAP_NET_ADMIN")):
            result = self.chaos(fault, "true", before=before)
            self.assert_exit(result, 2)
            self.assertIn(why, result.stderr.decode())

    def test_an_interface_with_a_queueing_discipline_of_its_own_keeps_it(self):
        before = LINK + 'tc qdisc add dev vea root pfifo limit 7 && '
        result = self.chaos("slow:net=vea=1MB/s@0s", *sh('trap "tc qdisc show dev vea; exit" USR1; echo up; while :; do sleep 0.05; done'), before=before,
                            options=["--fault", "signal:USR1:rank=0@line:/up/"])  # the fault before it has been tried by then
        self.assert_exit(result, 3)
        self.assertIn(b"pfifo", result.stdout)
        self.assertIn(b"it already has a queueing discipline", result.stderr)


if __name__ == "__main__":
    main()
