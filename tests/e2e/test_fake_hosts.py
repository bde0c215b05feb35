"""Tests --fake-hosts: this machine plays several hosts, each with its own agent."""
import json
import os
import signal

from hosts_case import lines, own_lines
from promises import ENDS, FAKE_HOSTS, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, RESTARTS, SILENCE, promise
from support import Case, TIMEOUT, kill_together, main, of_process, sh, wait_until


class FakeHosts(Case):
    place = FAKE_HOSTS
    SLEEPS = 'echo "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST"; [ "$DLAUNCH_ROUND" = 1 ] || exec sleep 1000'

    def agents(self, host):
        """The pids of the host's agent: guardian and worker. The shell of the command has become the agent."""
        mark = f"DLAUNCH_FAKE_HOST={host}".encode()
        return [pid for pid in self.find("dlaunch-agent") if mark in of_process(pid, "environ").split(b"\0")]

    def test_each_fake_host_has_a_name_an_agent_and_slots(self):
        result = self.run_dlaunch("--fake-hosts", "2x2", "-v", *sh('echo "$DLAUNCH_RANK $DLAUNCH_HOST $DLAUNCH_FAKE_HOST $DLAUNCH_LOCAL_RANK $PPID"'))
        self.assert_exit(result, 0)
        self.assertNotIn(b"names of the same host", result.stderr)
        seen = sorted(line.split() for line in lines(result.stdout))
        self.assertEqual([words[:4] for words in seen], [["0", "fake1", "fake1", "0"], ["1", "fake1", "fake1", "1"],
                                                         ["2", "fake2", "fake2", "0"], ["3", "fake2", "fake2", "1"]])
        self.assertEqual(len({words[4] for words in seen}), 2, "an agent each")

    def test_fake_hosts_run_without_home(self):
        result = self.run_dlaunch("--fake-hosts", "2x1", *sh('echo "$DLAUNCH_HOST ${HOME-unset}"'),
                                  before=("env", "-u", "HOME", "-u", "XDG_CACHE_HOME"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["fake1 unset", "fake2 unset"])
        empty = self.run_dlaunch("--fake-hosts", "1x1", *sh('echo "[$HOME]"'), before=("env", "-u", "XDG_CACHE_HOME", "HOME="))
        self.assertEqual((empty.returncode, empty.stdout), (0, b"[]\n"), empty.stderr)

    def test_user_without_a_home_directory_runs_fake_hosts(self):
        """Containers of some clusters have a random uid, and HOME is /."""
        user = ("setpriv", "--reuid", 23457, "--regid", 23457, "--clear-groups") if os.geteuid() == 0 else ()
        own = self.dir / "temporary"
        own.mkdir()
        if user:
            os.chown(own, 23457, 23457)
            self.dir.chmod(0o711)
        for home in ("HOME=/", "HOME=/nonexistent/home"):
            result = self.run_dlaunch("--fake-hosts", "1x2", "echo", "up", before=(*user, "env", "-u", "XDG_CACHE_HOME", f"TMPDIR={own}", home))
            self.assertEqual((result.returncode, result.stdout), (0, b"up\n" * 2), result.stderr)
            self.assertEqual([path.name for path in own.iterdir() if path.name != f"dlaunch-{23457 if user else os.geteuid()}"], [])

    def test_queries_without_a_start_accept_fake_hosts(self):
        self.assertRegex(self.assert_succeeds("hosts", "--fake-hosts", "2x4"), rb"fake1 +4 .*\n *fake2 +4 ")
        plan = json.loads(self.assert_succeeds("--dry-run", "--format", "json", "--fake-hosts", "2x8", "--fake-devices", "2", "-n", "devices", "true"))
        self.assertEqual([rank["host"] for rank in plan["ranks"]], [0, 0, 1, 1])
        env = self.assert_succeeds("--fake-hosts", "3x2", "--env-for", "torch", "--show-env", "5", "true").decode().splitlines()
        self.assertIn("MASTER_ADDR=127.0.0.1", env)
        check = self.run_dlaunch("check", "--fake-hosts", "2x1")
        self.assert_exit(check, 0)

    def test_conflicting_options_and_values_are_rejected(self):
        for words in (["-H", "a"], ["--exec", "x"], ["--transport", "ssh"], ["--ssh-port", "22"]):
            result = self.run_dlaunch("--fake-hosts", "2x1", *words, "true")
            self.assert_exit(result, 2)
            self.assertIn(b": all hosts are on this machine", result.stderr)
        for value in ("", "x4", "2x", "0x4", "2x0", "255x1", "two", "2x4x1"):
            result = self.run_dlaunch("--fake-hosts", value, "true")
            self.assert_exit(result, 2)
            self.assertIn(b"--fake-hosts", result.stderr)

    @promise(ENDS, NAMES_FIRST, mode=KILL)
    def test_lost_host_is_named_and_its_ranks_end(self):
        with self.start("--fake-hosts", "2x1", *sh("echo up; exec sleep 1000"), stdout=-1, stderr=-1) as job:
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"up\n")
            kill_together(*self.agents("fake2"))
            _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 125, err)
        self.assertIn(b"fake2", err)

    @promise(ENDS, LEAVES_NOTHING, mode=(RESTARTS, SILENCE))
    def test_stopped_agent_ends_before_a_spare_host_takes_its_ranks(self):
        """The agents of the other fake hosts are of the same job and machine, and stay."""
        with self.start("--fake-hosts", "3x2", "-n", 4, "--restarts", 2, "--spares", 1, "--heartbeat", 2, *sh(self.SLEEPS), stdout=-1, stderr=-1) as job:
            for _ in range(4):
                job.stdout.readline()
            self.assertTrue(wait_until(lambda: len(self.agents("fake3")) == 2, TIMEOUT), "the spare host has no agent")
            stopped = sorted(self.agents("fake2"))
            for pid in stopped:  # the guardian first: it kills a worker that stays stopped
                os.kill(pid, signal.SIGSTOP)
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(lines(out)), ["1 0 fake1", "1 1 fake1", "1 2 fake3", "1 3 fake3"], err)
        self.assertNotIn(b"may still run", err)
        self.assertEqual([pid for pid in stopped if of_process(pid, "cmdline")], [], "they still run")

    @promise(LOSES_NOTHING, mode=(RESTARTS, KILL))
    def test_spare_host_keeps_the_files_in_a_shared_rank_directory(self):
        script = "ls; echo $DLAUNCH_ROUND; [ $DLAUNCH_ROUND = 1 ] || { touch checkpoint; exec sleep 1000; }"
        with self.start("--fake-hosts", "2x1", "-n", 1, "--rank-dir", "d{rank}", "--restarts", 1, "--spares", 1, *sh(script), stdout=-1, stderr=-1) as job:
            self.assertEqual(job.stdout.readline(), b"0\n")
            self.assertTrue(wait_until((self.dir / "d0/checkpoint").exists, TIMEOUT))
            self.assertTrue(wait_until(lambda: len(self.agents("fake2")) == 2, TIMEOUT), "the spare host has no agent")
            kill_together(*self.agents("fake1"))
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual((job.returncode, out), (0, b"checkpoint\n1\n"), err)
        self.assert_succeeds("-n", 1, "--rank-dir", "d{rank}", *sh("! ls | grep ."))

    @promise(LOSES_NOTHING, mode=(RESTARTS, KILL))
    def test_shrink_moves_ranks_with_their_directories_on_a_shared_disk(self):
        """The ranks of fake1 and fake2 move to fake2 and fake3, whose agents have locked other directories."""
        script = 'echo "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST" $(ls); touch checkpoint$DLAUNCH_RANK; [ $RANK = 0 ] && chmod 0 .; exec sleep 1000'
        with self.start("--fake-hosts", "3x2", "-n", 6, "--rank-dir", "d{rank}", "--restarts", 1, "--shrink", "--env-for", "torch",
                        *sh(script), stdout=-1, stderr=-1) as job:
            self.assertEqual(sorted(job.stdout.readline()[:3] for _ in range(6)), [b"0 %d" % rank for rank in range(6)])
            self.assertTrue(wait_until(lambda: (self.dir / "d5/checkpoint5").exists(), TIMEOUT))
            kill_together(*self.agents("fake1"))
            seen = sorted(job.stdout.readline().decode() for _ in range(4))
            self.assertEqual(seen, [f"1 {rank} fake{2 + rank // 2} checkpoint{rank}\n" for rank in range(4)])
            for rank in range(4):
                other = self.run_dlaunch("--rank-dir", f"d{rank}", "-n", 1, "true")
                self.assert_exit(other, 125)
                self.assertIn(b"a running job uses this directory", other.stderr)
            self.assert_succeeds("--rank-dir", "d5", "-n", 1, "true")
            job.terminate()
            job.communicate(timeout=TIMEOUT)
        self.assertEqual([(self.dir / f"d{rank}/checkpoint{rank}").exists() for rank in range(6)], [True] * 5 + [False])

    @promise(ENDS, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_spare_host_takes_the_ranks_of_a_lost_host(self):
        with self.start("--fake-hosts", "3x2", "-n", 4, "--restarts", 2, "--spares", 1, *sh(self.SLEEPS), stdout=-1, stderr=-1) as job:
            seen = sorted(job.stdout.readline() for _ in range(4))
            self.assertEqual(seen, [b"0 0 fake1\n", b"0 1 fake1\n", b"0 2 fake2\n", b"0 3 fake2\n"])
            self.assertTrue(wait_until(lambda: len(self.agents("fake3")) == 2, TIMEOUT), "the spare host has no agent")
            stay = self.agents("fake1")
            kill_together(*self.agents("fake2"))
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(len(stay), 2)
        self.assertEqual(sorted(lines(out)), ["1 0 fake1", "1 1 fake1", "1 2 fake3", "1 3 fake3"], err)
        self.assertIn("dlaunch: fake3 takes the ranks of fake2", own_lines(err))
        self.assertNotIn(b"may still run", err)


if __name__ == "__main__":
    main()
