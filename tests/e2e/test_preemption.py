"""Tests --checkpoint-signal: when the hosts are taken back, ranks save their state first, and the exit code requests a
requeue."""
import json
import os
import signal
import time

from hosts_case import HostsCase, lines
from promises import ENDS, FAILURE, FILES, LOSES_NOTHING, NAMES_FIRST, PREEMPTION, RESTARTS, SIGNAL, promise
from support import Case, SANITIZED, TIMEOUT, cause, main, sh

# Prints "up"; on SIGUSR2, saves for a while, prints "saved" and succeeds.
SAVES = 'trap "sleep 0.2; echo saved $DLAUNCH_RANK; exit 0" USR2; echo up; while :; do sleep 0.05; done'
DEAF = "echo up; exec sleep 1000"


class PreemptedCase:
    def preempt(self, ranks, *words, by=signal.SIGUSR1, options=(), then=None):
        """Sends the notice after `ranks` ranks have printed "up"."""
        with self.start(*options, "--checkpoint-signal", "USR2", *words, stdout=-1, stderr=-1) as job:
            for _ in range(ranks):
                self.assertEqual(job.stdout.readline(), b"up\n", words)
            job.send_signal(by)
            if then:
                then(job)
            out, err = job.communicate(timeout=TIMEOUT)
        return job.returncode, lines(out), err.decode()


class OnOneHost(PreemptedCase, Case):
    @promise(ENDS, mode=PREEMPTION)
    def test_saved_ranks_request_a_requeue(self):
        for by in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            with self.subTest(by.name):
                code, out, err = self.preempt(3, "-n", 3, *sh(SAVES), by=by)
                self.assertEqual(code, 75, err)
                self.assertEqual(sorted(out), ["saved 0", "saved 1", "saved 2"])
                self.assertRegex(err, rf"dlaunch: note: preempted by {by.name}.*: agents send SIGUSR2 to the ranks that catch it; the ranks have 25 s to save their state\n")
                self.assertRegex(err, rf"dlaunch: preempted by {by.name}.* after .* s: all ranks exited with 0 within .* s\n$")
                self.assertNotIn("does not catch", err)

    def test_preempted_code_sets_the_exit_code(self):
        self.assertEqual(self.preempt(1, "-n", 1, "--preempted-code", 99, *sh(SAVES))[0], 99)

    @promise(ENDS, NAMES_FIRST, mode=PREEMPTION)
    def test_rank_without_handler_runs_until_the_deadline(self):
        script = f'[ $DLAUNCH_RANK = 1 ] || {{ {SAVES}; }}; {DEAF}'
        code, out, err = self.preempt(3, "-n", 3, "--preempt-grace", 2, "--report", "r.json", *sh(script))
        self.assertEqual(code, 143, err)
        self.assertEqual(sorted(out), ["saved 0", "saved 2"])
        self.assertRegex(err, r"dlaunch: note: .*: rank 1 does not catch SIGUSR2, so dlaunch did not send the signal\n")
        self.assertRegex(err, r"dlaunch: preempted by SIGUSR1.*: rank 1 did not exit within 2.* s\n$")
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual((record["cause"], record["exit_code"]), ("preempted", 143))
        self.assertEqual(record["preempted"]["signal"], "SIGUSR1")
        self.assertGreaterEqual(record["preempted"]["used_s"], 2)
        self.assertEqual([rank["ended_by_us"] for rank in record["ranks"]], [False, True, False])

    def test_starting_rank_gets_the_signal_after_it_has_a_handler(self):
        """The other rank gets the signal once only."""
        late = "until [ -e told ]; do sleep 0.05; done; trap 'echo saved 1; exit 0' USR2; while :; do sleep 0.05; done"
        first = "n=0; trap 'n=$((n+1))' USR2; echo up; until [ $n != 0 ]; do sleep 0.05; done; until [ -e over ]; do sleep 0.05; done; echo told $n"

        def then(job):
            said = b""
            while b"does not catch" not in said:
                said = job.stderr.readline()
            (self.dir / "told").touch()
            self.assertEqual(job.stdout.readline(), b"saved 1\n")
            (self.dir / "over").touch()

        code, out, err = self.preempt(1, "-n", 2, *sh(f"if [ $DLAUNCH_RANK = 1 ]; then {late}; else {first}; fi"), then=then)
        self.assertEqual((code, out), (75, ["told 1"]), err)

    def test_rank_that_saves_is_not_a_hang(self):
        script = "trap 'sleep 3; exit 0' USR2; echo up; while :; do sleep 0.05; done"
        options = ("--hang-after", "1", "--on-hang", "end")
        code, _, err = self.preempt(2, "-n", 2, *sh(script), options=options)
        self.assertEqual(code, 75, err)

    def test_signal_is_sent_to_the_child_of_a_shell_only(self):
        """A forked worker inherits the handlers of its parent and would save a second time."""
        worker = f'trap "echo worker; exit" USR2; while :; do sleep 0.05; done'
        code, out, err = self.preempt(1, "-n", 1, *sh(f"(trap 'echo saved; kill $!; exit 0' USR2; ({worker}) & echo up; while :; do sleep 0.05; done); exit $?"))
        self.assertEqual((code, out), (75, ["saved"]), err)

    @promise(NAMES_FIRST, mode=(PREEMPTION, FAILURE))
    def test_rank_that_fails_during_the_save_ends_no_other_rank(self):
        fails = 'trap "> failed; exit 7" USR2; echo up; while :; do sleep 0.05; done'
        script = f'[ $DLAUNCH_RANK = 0 ] || {{ {fails}; }}; {SAVES.replace("sleep 0.2", "until [ -e failed ]; do sleep 0.02; done; sleep 0.5")}'
        code, out, err = self.preempt(2, "-n", 2, *sh(script))
        self.assertEqual(code, 7, err)
        self.assertEqual(out, ["saved 0"])
        self.assertIn("rank 1", cause(err.encode()))

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_second_sigterm_shortens_the_time_and_kills_nothing(self):
        def later(job):
            self.assertIn(b"preempted", job.stderr.readline())
            time.sleep(2.1)  # an earlier SIGTERM would belong to the same notice
            job.send_signal(signal.SIGCONT)
            job.send_signal(signal.SIGTERM)
        script = 'trap "" USR2; trap "sleep 1; echo ended; exit 0" TERM; echo up; while :; do sleep 0.05; done'
        start = time.monotonic()
        code, out, err = self.preempt(1, "-n", 1, "--grace", 10, "--preempt-grace", 1000, *sh(script), by=signal.SIGTERM, then=later)
        self.assertEqual((code, out), (75, ["ended"]), err)
        self.assertGreaterEqual(time.monotonic() - start, 5)

    @promise(ENDS, mode=(PREEMPTION, SIGNAL))
    def test_second_interrupt_of_a_user_kills_the_ranks(self):
        def interrupt(job):
            self.assertIn(b"preempted", job.stderr.readline())
            job.send_signal(signal.SIGINT)
            self.assertEqual(job.stdout.readline(), b"told\n")
            job.send_signal(signal.SIGINT)
        code, _, err = self.preempt(1, "-n", 1, "--grace", 1000, *sh('trap "echo told" INT; trap : USR2; echo up; while :; do sleep 0.05; done'), then=interrupt)
        self.assertEqual(code, 130, err)

    @promise(ENDS, mode=(PREEMPTION, RESTARTS))
    def test_preemption_starts_no_round_and_ends_the_delay(self):
        code, out, err = self.preempt(2, "-n", 2, "--restarts", 5, *sh(SAVES.replace("exit 0", "exit 3")))
        self.assertEqual(code, 3, err)
        self.assertNotIn("restart", err)
        with self.start("-n", 1, "--checkpoint-signal", "USR2", "--restarts", 50, *sh("exit $((DLAUNCH_ROUND % 2 + 3))"), stdout=-1, stderr=-1) as job:
            while b"in 4 s" not in job.stderr.readline():
                pass
            job.send_signal(signal.SIGUSR1)
            _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 75, err)
        self.assertIn(b"no rank was running", err)

    def test_repeated_equal_failures_are_not_requeued(self):
        failing = ("-n", 2, "--restarts", 9, *sh("[ $DLAUNCH_RANK = 0 ] || exit 3; exec sleep 1000"))
        for options, code in ((["--checkpoint-signal", "USR2"], 93), ([], 3)):
            result = self.run_dlaunch(*options, *failing)
            self.assert_exit(result, code)
            self.assertIn("no restart: the job failed in the same way 3 times", result.stderr.decode())

    def attempt(self, variables, *options, code=0):
        result = self.run_dlaunch("-n", 1, "--output-filename", "logs:nocopy", "--keep-logs", 1, "--report", "r.json", *options,
                                  *sh("echo $DLAUNCH_ATTEMPT; exit $DLAUNCH_ATTEMPT"), env=variables)
        self.assert_exit(result, code)

    @promise(LOSES_NOTHING, mode=(PREEMPTION, FILES))
    def test_later_attempt_overwrites_nothing(self):
        for number in (0, 1, 2):
            self.attempt({"DLAUNCH_ATTEMPT": str(number)}, code=number)
        logs = self.dir / "logs" / "1"
        for number, path in enumerate(("rank.0", "attempt.1/rank.0", "attempt.2/rank.0")):
            self.assertEqual((logs / path / "stdout").read_text(), f"{number}\n")
        for number, name in enumerate(("r.json.attempt.0", "r.json.attempt.1", "r.json")):
            record = json.loads((self.dir / name).read_text())
            self.assertEqual((record["attempt"], record["exit_code"]), (number, number))
        self.assertFalse((self.dir / "logs.1").exists())

    @promise(LOSES_NOTHING, mode=(PREEMPTION, FILES))
    def test_record_of_an_earlier_attempt_gets_a_free_name(self):
        (self.dir / "r.json.attempt.0").write_text("another file\n")
        for number in (0, 1):
            self.attempt({"DLAUNCH_ATTEMPT": str(number)}, code=number)
        self.assertEqual((self.dir / "r.json.attempt.0").read_text(), "another file\n")
        self.assertEqual(json.loads((self.dir / "r.json.attempt.0.2").read_text())["attempt"], 0)

    def test_attempts_are_counted_without_a_counter_of_the_batch_system(self):
        for restarted, number in ((0, 0), (1, 1), (1, 2)):
            self.attempt({"SGE_ROOT": "/sge", "JOB_ID": "5", "RESTARTED": str(restarted)}, code=number)
        self.assertEqual(sorted(place.name for place in (self.dir / "logs" / "1").iterdir()), ["attempt.1", "attempt.2", "rank.0"])

    def test_attempts_are_counted_with_files_per_stream(self):
        """Without a log folder, nothing shows which attempts precede."""
        self.env |= {"SGE_ROOT": "/sge", "JOB_ID": "5", "RESTARTED": "1"}
        for files in (["--stdout-file", "out"], ["--stderr-file", "err.{rank}"]):
            self.assertEqual(self.run_dlaunch("-n", 1, *files, *sh("exit $DLAUNCH_ATTEMPT")).returncode, 1)

    @promise(LOSES_NOTHING, mode=(PREEMPTION, FILES))
    def test_attempts_are_counted_with_files_and_reports(self):
        self.env |= {"SGE_ROOT": "/sge", "JOB_ID": "5"}
        for files, kept in ((["--stdout-file", "{host}.{rank}"], "*.0*"), (["--output-filename", "logs/{attempt}/{rank}"], "logs/*/0"),
                            (["--stderr-file", "err", "--report", "r.json"], "r.json*")):
            with self.subTest(files):
                numbers = []
                for restarted in "011":
                    done = self.run_dlaunch("-n", 1, *files, *sh("echo $DLAUNCH_ATTEMPT; echo $DLAUNCH_ATTEMPT >&2; exit $DLAUNCH_ATTEMPT"),
                                            env={"RESTARTED": restarted})
                    numbers.append(done.returncode)
                self.assertEqual(numbers, [0, 1, 2])
                self.assertEqual(len(list(self.dir.glob(kept))), 3)

    def test_attempt_is_not_set_without_a_batch_system(self):
        result = self.run_dlaunch("-n", 1, "--report", "r.json", *sh("echo ${DLAUNCH_ATTEMPT-none}"))
        self.assertEqual(result.stdout, b"none\n")
        self.assertNotIn("attempt", json.loads((self.dir / "r.json").read_text()))

    def test_signal_reaches_ranks_of_16_hosts_at_once(self):
        """Each of the 16 hosts has its own agent. On two busy cores, the signal takes 80 ms."""
        (self.dir / "rank.py").write_text(
            "import signal, sys, time\n"
            "signal.signal(signal.SIGUSR2, lambda *_: sys.exit(print('told', time.time(), flush=True)))\n"
            "print('up', flush=True)\ntime.sleep(1000)\n")
        sent = []
        with self.start("--fake-hosts", "16x1", "--checkpoint-signal", "USR2", "/usr/bin/python3", "rank.py", stdout=-1, stderr=-1) as job:
            for _ in range(16):
                self.assertEqual(job.stdout.readline(), b"up\n")
            sent.append(time.time())
            job.send_signal(signal.SIGUSR1)
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 75, err)
        heard = [float(line.split()[1]) - sent[0] for line in lines(out)]
        self.assertEqual(len(heard), 16, out)
        self.assertLess(max(heard), float(os.environ.get("TOLD_WITHIN", "5" if SANITIZED else "1.5")))

    def test_signals_are_forwarded_without_checkpoint_signal(self):
        with self.start("-n", 1, *sh('trap "echo got; exit 0" USR1; echo up; while :; do sleep 0.05; done'), stdout=-1) as job:
            self.assertEqual(job.stdout.readline(), b"up\n")
            job.send_signal(signal.SIGUSR1)
            self.assertEqual(job.communicate(timeout=TIMEOUT)[0], b"got\n")
        self.assertEqual(job.returncode, 0)

    def test_invalid_options_are_rejected(self):
        for words, said in ((["--preempt-grace", 5], "--preempt-grace requires --checkpoint-signal"), (["--checkpoint-signal", "KILL"], "invalid signal \"KILL\"")):
            result = self.run_dlaunch(*words, "true")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())


class OverHosts(PreemptedCase, HostsCase):
    @promise(ENDS, mode=PREEMPTION)
    def test_ranks_on_all_hosts_save(self):
        code, out, err = self.preempt(4, *sh(SAVES), options=("-H", "node1:2,node2:2"))
        self.assertEqual(code, 75, err)
        self.assertEqual(sorted(out), [f"saved {rank}" for rank in range(4)])

    @promise(ENDS, mode=PREEMPTION)
    def test_sigterm_to_an_agent_preempts_the_job(self):
        """The agent gets SIGTERM, as at the end of a container. It notifies the launcher, and its ranks save like all
        others."""
        with self.start("-H", "node1,node2", "--checkpoint-signal", "USR2", *sh(SAVES.replace("sleep 0.2", "sleep 3")), stdout=-1, stderr=-1) as job:
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"up\n")
            for pid in self.host(2).find("dlaunch-agent"):
                os.kill(pid, signal.SIGTERM)
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 75, err)
        self.assertEqual(sorted(lines(out)), ["saved 0", "saved 1"])
        self.assertRegex(err.decode(), "preempted by SIGTERM to an agent")

    def signal_agents(self, number, signal_number):
        for pid in self.host(number).find("dlaunch-agent"):
            os.kill(pid, signal_number)

    @promise(ENDS, mode=PREEMPTION)
    def test_agent_reports_each_sigterm(self):
        """The second SIGTERM means that the deadline has passed."""
        script = 'trap "" USR2; trap "sleep 1; echo ended; exit 0" TERM; echo up; while :; do sleep 0.05; done'
        with self.start("-H", "node1,node2", "--checkpoint-signal", "USR2", "--grace", 3, "--preempt-grace", 1000, *sh(script), stdout=-1, stderr=-1) as job:
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"up\n")
            self.signal_agents(2, signal.SIGTERM)
            self.assertIn(b"preempted by SIGTERM to an agent", job.stderr.readline())
            time.sleep(2.2)  # an earlier SIGTERM would belong to the same notice
            self.signal_agents(2, signal.SIGTERM)
            out, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual((job.returncode, out), (75, b"ended\nended\n"), err)

    def test_sigusr1_to_an_agent_only_announces_an_end(self):
        for options, code in ((["--checkpoint-signal", "USR2"], 75), ([], 0)):
            script = SAVES if options else "echo up; sleep 6"
            with self.start("-H", "node1,node2", *options, *sh(script), stdout=-1, stderr=-1) as job:
                for _ in range(2):
                    self.assertEqual(job.stdout.readline(), b"up\n")
                self.signal_agents(2, signal.SIGUSR1)
                _, err = job.communicate(timeout=TIMEOUT)
            self.assertEqual(job.returncode, code, err)
            self.assertEqual(b"SIGUSR1 to an agent" in err, code == 75, err)


if __name__ == "__main__":
    main(side_by_side=3)
