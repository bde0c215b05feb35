"""Tests --restarts: a failure ends all ranks on all hosts; then all ranks start again on the same agents, with the same
numbers."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

from hosts_case import HostsCase, lines, own_lines
from promises import (DEADLINE, ENDS, FAILURE, FILES, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ORPHANS,
                      RESTARTS, SIGNAL, SILENCE, promise)
from side_by_side import takes_long
from support import Case, SANITIZED, TIMEOUT, cause, kill_together, main, program, sh, wait_until

LIMIT = 3 * TIMEOUT  # time limit of a job in seconds, on a busy machine

# Rank 1 fails in round 0 while the others sleep; in round 1 all ranks succeed.
ONCE = '[ "$DLAUNCH_ROUND" = 0 ] || exit 0; [ "$DLAUNCH_RANK" != 1 ] || exit 3; exec sleep 1000'

# The same for two ranks, after rank 0 has printed its output.
ONCE_BOTH_SAID = '> "up.$DLAUNCH_RANK"; [ "$DLAUNCH_RANK" = 0 ] || until [ -e up.0 ]; do sleep 0.02; done; ' + ONCE


class Rounds(Case):
    @promise(NAMES_FIRST, mode=RESTARTS)
    def test_ranks_start_again_with_the_same_numbers(self):
        result = self.run_dlaunch("-n", 3, "--restarts", 2, "--env-for", "torchrun", *sh(
            'echo "$DLAUNCH_ROUND $RANK $LOCAL_RANK $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS $MASTER_PORT $PPID"; ' + ONCE))
        self.assert_exit(result, 0)
        seen = [line.split() for line in lines(result.stdout)]
        second = sorted(words[:4] for words in seen if words[0] == "1")
        self.assertEqual(second, [["1", str(rank), str(rank), "1/2"] for rank in range(3)])
        self.assertEqual(len({words[5] for words in seen}), 1, "another agent started the second round")
        ports = [{words[4] for words in seen if words[0] == number} for number in "01"]
        self.assertEqual((len(ports[0]), len(ports[1])), (1, 1))
        self.assertNotEqual(*ports, "the port of the first round")
        told = [line for line in lines(result.stderr) if "note:" not in line]
        self.assertEqual(len(told), 1, told)
        self.assertRegex(told[0], r"^dlaunch: rank 1 \(host .*, pid \d+\) exited with code 3 after .* s; restart 1 of 2$")

    @promise(NAMES_FIRST, mode=RESTARTS)
    def test_last_round_decides_the_exit_code(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 1, *sh("exit $((DLAUNCH_ROUND * 10 + 1))"))
        self.assert_exit(result, 11)
        self.assertIn("exited with code 11", cause(result.stderr))

    def test_round_variable_is_unset_without_restarts(self):
        result = self.run_dlaunch("-n", 1, *sh('echo "[$DLAUNCH_ROUND]"'), env={"DLAUNCH_ROUND": "7"})
        self.assertEqual(result.stdout, b"[]\n", result.stderr)

    def test_round_variable_of_the_user_is_kept(self):
        result = self.run_dlaunch("-n", 1, "--restarts", 1, "-x", "DLAUNCH_ROUND=mine", *sh('echo "$DLAUNCH_ROUND"'))
        self.assertEqual(result.stdout, b"mine\n", result.stderr)

    @promise(LEAVES_NOTHING, mode=(RESTARTS, ORPHANS))
    def test_ranks_of_two_rounds_never_overlap(self):
        """Each rank holds a lock until the rank and its daemons have ended."""
        result = self.run_dlaunch("-n", 4, "--restarts", 3, "--grace", 1, *sh(
            f'exec 9>"{self.dir}/lock.$DLAUNCH_RANK"; flock -n 9 || {{ echo "still held"; exit 5; }}; '
            'setsid sleep 1000 & trap "" TERM; [ "$DLAUNCH_ROUND" -lt 2 ] || { kill -9 $!; exit 0; }; '
            '[ "$DLAUNCH_RANK" != "$DLAUNCH_ROUND" ] || exit 3; while :; do sleep 0.1; done'))
        self.assert_exit(result, 0)
        self.assertNotIn(b"still held", result.stdout)

    def test_restart_takes_less_than_100_ms(self):
        """From the end of a rank to the first line of the next round, including the end of the other ranks."""
        limit, times = 1 if SANITIZED else 0.1, []
        while len(times) < 30 and min(times, default=limit) >= limit:  # other work makes some runs slow, but not all
            result = self.run_dlaunch("-n", 4, "--restarts", 1, *sh("date +%s%N; " + ONCE))
            self.assert_exit(result, 0)
            stamps = sorted(int(line) for line in lines(result.stdout))
            times.append((stamps[-4] - stamps[-5]) / 1e9)
        self.assertLess(min(times), limit, times)

    @promise(ENDS, mode=RESTARTS)
    def test_three_equal_failures_end_the_job(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 9, *sh('echo "$DLAUNCH_ROUND"; [ "$DLAUNCH_RANK" = 1 ] && exit 4; exec sleep 1000'))
        self.assert_exit(result, 4)
        self.assertEqual(sorted(set(lines(result.stdout))), ["0", "1", "2"])
        self.assertEqual(lines(result.stderr)[-1], "dlaunch: no restart: the job failed in the same way 3 times")

    @promise(ENDS, NAMES_FIRST, mode=RESTARTS)
    def test_equal_failures_of_different_ranks_end_the_job(self):
        """As with a bug that all ranks share: the messages differ only in numbers."""
        result = self.run_dlaunch("-n", 4, "--restarts", 50, *sh(
            'echo "$DLAUNCH_ROUND"; [ "$DLAUNCH_RANK" = $((DLAUNCH_ROUND * 3 % 4)) ] || exec sleep 1000; '
            'echo "[rank$DLAUNCH_RANK] $(date +%T.%N) bad shape at 0x$$ on node$DLAUNCH_ROUND" >&2; exit 4'))
        self.assert_exit(result, 4)
        self.assertEqual(sorted(set(lines(result.stdout))), ["0", "1", "2"])
        self.assertEqual(lines(result.stderr)[-1], "dlaunch: no restart: the job failed in the same way 3 times")
        failed = [line.split()[2] for line in lines(result.stderr) if " exited with code 4 " in line]
        self.assertEqual(failed, ["0", "3", "2"])

    def test_different_messages_do_not_end_the_job(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 50, *sh(
            '[ "$DLAUNCH_ROUND" -lt 4 ] || exit 0; [ "$DLAUNCH_RANK" = 1 ] || exec sleep 1000; '
            'set -- memory disk time files; shift "$DLAUNCH_ROUND"; echo "no $1" >&2; exit 4'))
        self.assert_exit(result, 0)
        self.assertIn(b"; restart 4 of 50", result.stderr)

    @promise(ENDS, mode=RESTARTS)
    def test_equal_error_files_end_the_job(self):
        """The error file is compared, not the output, which differs in each round."""
        script = ('[ "$DLAUNCH_RANK" = $((DLAUNCH_ROUND % 2)) ] || exec sleep 1000; set -- one two three four five; '
                  'shift "$DLAUNCH_ROUND"; echo "$1" >&2; '
                  'printf \'{"message": "ValueError: bad shape %d", "timestamp": 1}\' $$ '
                  '>"$TORCHELASTIC_ERROR_FILE"; exit 4')
        result = self.run_dlaunch("-n", 2, "--restarts", 50, "--error-file", "{round}.{rank}.json", *sh(script))
        self.assert_exit(result, 4)
        self.assertIn(b"ValueError: bad shape", result.stderr)
        self.assertIn(b"; restart 2 of 50", result.stderr)
        self.assertNotIn(b"; restart 3 of 50", result.stderr)

    def test_exit_codes_without_restart(self):
        for words, code in ((["sh", "-c", "exit 93"], 93), (["sh", "-c", "exit 2"], 2), (["/does/not/exist"], 127),
                            (["--no-restart-codes", "7,8", "sh", "-c", "exit 8"], 8)):
            result = self.run_dlaunch("-n", 2, "--restarts", 3, *words)
            self.assert_exit(result, code)
            self.assertNotIn(b"; restart", result.stderr)

    @promise(ENDS, mode=(RESTARTS, SIGNAL))
    def test_signal_of_the_user_ends_the_job(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.start("-n", 2, "--restarts", 5, *sh("echo up; exec sleep 1000"), stdout=-1, stderr=-1) as job:
                self.assertEqual(job.stdout.readline(), b"up\n")
                job.send_signal(number)
                _, err = job.communicate(timeout=LIMIT)
            self.assertEqual(job.returncode, 128 + number, err)
            self.assertNotIn(b"; restart", err)

    @promise(ENDS, mode=(RESTARTS, SIGNAL))
    def test_signal_ends_the_delay_before_a_round(self):
        with self.start("-n", 2, "--restarts", 50, *sh('exit $((DLAUNCH_ROUND % 2 + 3))'), stdout=-1, stderr=-1) as job:
            said = b""
            while b"in 4 s" not in said:
                said = job.stderr.readline()
            start = time.monotonic()
            job.send_signal(signal.SIGINT)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 130, err)
        self.assertLess(time.monotonic() - start, 3)
        self.assertRegex(err, rb"interrupted by SIGINT after (?:\d+ min|\d\d|[3-9]).*: no rank was running\n.*2 ranks were not started again for restart \d\n")

    @promise(ENDS, mode=(RESTARTS, SIGNAL))
    def test_signals_at_any_time_end_the_job(self):
        """The rounds take some milliseconds, so that signals arrive between two rounds, too."""
        for after in range(0, 60, 4):
            with self.start("-n", 2, "--restarts", 100000, *sh('exit $((DLAUNCH_ROUND % 2 + 3))'), stdout=-1, stderr=-1) as job:
                job.stderr.readline()
                time.sleep(after / 1000)
                job.send_signal(signal.SIGTERM)
                _, err = job.communicate(timeout=LIMIT)
            self.assertIn(job.returncode, (143, 3, 4), err)
            self.assertNotEqual(job.returncode, -signal.SIGTERM)

    @promise(ENDS, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_agent_killed_at_any_time_is_reported(self):
        """Also between two rounds, when the agent has no running rank."""
        for after in range(0, 60, 4):
            with self.start("-n", 2, "--restarts", 100000, *sh('exit $((DLAUNCH_ROUND % 2 + 3))'), stdout=-1, stderr=-1) as job:
                job.stderr.readline()
                time.sleep(after / 1000)
                for pid in self.agents_of(job.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                _, err = job.communicate(timeout=LIMIT)
            self.assertIn(job.returncode, (125, 3, 4), err)
            self.assertRegex(lines(err)[-1], "is lost, and no spare host is left")
            self.assertNotIn(b"after -", err)

    def agents_of(self, launcher):
        """Both processes of the local agent. Their environment does not contain the marker of this test."""
        guardian, = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        return [int(guardian), *map(int, pathlib.Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split())]

    @promise(ENDS, mode=(RESTARTS, DEADLINE))
    def test_timeout_covers_all_rounds(self):
        start = time.monotonic()
        result = self.run_dlaunch("-n", 2, "--restarts", 50, "--timeout", 2, *sh('[ "$DLAUNCH_ROUND" = 2 ] || exit $((DLAUNCH_ROUND + 3)); exec sleep 1000'))
        self.assert_exit(result, 124)
        self.assertLess(time.monotonic() - start, 10)

    def test_mpi_programs_get_a_new_world_in_each_round(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                hello = program(f"{library}/mpi_hello")
                script = f'[ "$DLAUNCH_ROUND" = 0 ] && [ "$DLAUNCH_RANK" = 1 ] && exit 3; exec {hello}'
                result = self.run_dlaunch("-n", 3, "--restarts", 1, "--timeout", 60, *sh(script))
                self.assert_exit(result, 0)
                self.assertEqual(len({line for line in lines(result.stdout)}), 3, result.stdout)

    def test_rank_directories_keep_their_files(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 1, "--rank-dir", f"{self.dir}/d{{rank}}", *sh(
            '[ "$DLAUNCH_ROUND" = 0 ] || exec cat checkpoint; echo step > checkpoint; [ "$DLAUNCH_RANK" = 1 ] || exec sleep 1000; '
            'until [ -s ../d0/checkpoint ]; do sleep 0.02; done; exit 3'))
        self.assert_exit(result, 0)
        self.assertEqual(lines(result.stdout), ["step", "step"])

    def test_ranks_have_a_terminal_in_each_round(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 1, "--pty", *sh('[ -t 1 ] || exit 9; ' + ONCE))
        self.assert_exit(result, 0)


class Files(Case):
    def files(self):
        return {str(path.relative_to(self.dir)): path.read_text() for path in self.dir.rglob("*") if path.is_file() and path.parent != self.dir}

    @promise(LOSES_NOTHING, mode=(RESTARTS, FILES))
    def test_files_of_the_first_round_have_the_usual_paths(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 2, "--output-filename", f"{self.dir}/logs", *sh('echo "$DLAUNCH_ROUND"; ' + ONCE_BOTH_SAID))
        self.assert_exit(result, 0)
        files = self.files()
        for rank in range(2):
            self.assertEqual(files[f"logs/1/rank.{rank}/stdout"], "0\n")
            self.assertEqual(files[f"logs/1/round.1/rank.{rank}/stdout"], "1\n")

    @promise(LOSES_NOTHING, mode=(RESTARTS, FILES))
    def test_templates_with_and_without_round(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 2, "--stdout-file", f"{self.dir}/a/{{round}}/{{rank}}",
                                  "--stderr-file", f"{self.dir}/b/{{rank}}.err", *sh('echo "$DLAUNCH_ROUND"; echo "$DLAUNCH_ROUND" >&2; ' + ONCE_BOTH_SAID))
        self.assert_exit(result, 0)
        for rank in range(2):
            for name, text in ((f"a/0/{rank}", "0\n"), (f"a/1/{rank}", "1\n"), (f"b/{rank}.err", "0\n"), (f"b/{rank}.err.round.1", "1\n")):
                self.assertEqual(self.files()[name], text, name)

    def test_jsonl_and_report_contain_the_rounds(self):
        result = self.run_dlaunch("-n", 2, "--restarts", 2, "--format", "jsonl", "--report", f"{self.dir}/report", *sh("echo up; " + ONCE))
        self.assert_exit(result, 0)
        self.assertEqual({(line["round"], line["rank"]) for line in map(json.loads, lines(result.stdout))} >= {(0, 1), (1, 0), (1, 1)}, True)
        report = json.loads((self.dir / "report").read_text())
        self.assertEqual((report["restarts"], report["round"], report["exit_code"]), (2, 1, 0))
        earlier, = report["earlier_rounds"]
        self.assertEqual((earlier["round"], earlier["cause"], earlier["first_failure"]), (0, "rank_failed", 1))
        self.assertRegex(earlier["text"], "exited with code 3")


    def test_round_that_cannot_begin_is_in_the_report(self):
        """The folder of the next round cannot be created, so the job ends before its ranks start again."""
        result = self.run_dlaunch("-n", 2, "--restarts", 2, "--output-filename", f"{self.dir}/logs", "--report", f"{self.dir}/report", *sh(
            f'> {self.dir}/logs/1/round.1; ' + ONCE))
        self.assert_exit(result, 1)
        self.assertIn(b"logs/1/round.1", result.stderr)
        report = json.loads((self.dir / "report").read_text())
        self.assertEqual((report["exit_code"], report["round"], report["cause"], report["first_failure"]), (1, 1, "output_failed", None))
        self.assertIn("logs/1/round.1", report["detail"])
        self.assertEqual([(each["cause"], each["first_failure"]) for each in report["earlier_rounds"]], [("rank_failed", 1)])


class Agents(HostsCase):
    def kill_agents(self, number):
        for pid in self.host(number).find("dlaunch-agent"):
            with contextlib.suppress(ProcessLookupError):  # the other process of the agent has ended it
                os.kill(pid, signal.SIGKILL)


class OverHosts(Agents):
    def test_agents_and_links_are_kept(self):
        result = self.run_dlaunch("-H", "node1:2,node2:2", "-v", "--restarts", 2, *sh(
            'echo "$DLAUNCH_ROUND $DLAUNCH_HOST $PPID"; setsid sleep 1000 & ' + ONCE.replace("exit 0", "kill $!; exit 0")))
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr.count(b"agent is up"), 2, result.stderr)
        agents = {}
        for _, host, agent in map(str.split, lines(result.stdout)):
            agents.setdefault(host, set()).add(agent)
        self.assertEqual({host: len(pids) for host, pids in agents.items()}, {"node1": 1, "node2": 1})

    @promise(NAMES_FIRST, mode=(RESTARTS, FAILURE))
    def test_killed_rank_on_another_host_restarts_the_job(self):
        with self.start("-H", "node1,node2", "--restarts", 2, *sh(
                'echo "$DLAUNCH_ROUND $DLAUNCH_RANK"; [ "$DLAUNCH_ROUND" = 1 ] || exec sleep 1000'), stdout=-1, stderr=-1) as job:
            seen = sorted(job.stdout.readline() for _ in range(2))
            self.assertEqual(seen, [b"0 0\n", b"0 1\n"])
            sleeping = lambda: [pid for pid, line in self.host(2).strangers().items() if line == "sleep 1000"]
            self.assertTrue(wait_until(sleeping), "the rank of node2 does not run sleep")
            pid, = sleeping()
            os.kill(pid, signal.SIGKILL)
            out, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(lines(out)), ["1 0", "1 1"])
        told, = own_lines(err)
        self.assertRegex(told, r"^dlaunch: rank 1 \(host node2, pid \d+\) killed by signal 9 \(SIGKILL\) after .*; restart 1 of 2$")

    @promise(ENDS, mode=(RESTARTS, KILL))
    def test_lost_host_without_spare_ends_the_job(self):
        with self.start("-H", "node1,node2", "--restarts", 2, *sh("echo up; exec sleep 1000"), stdout=-1, stderr=-1) as job:
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), b"up\n")
            self.kill_agents(2)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 125, err)
        self.assertIn(b"no restart: ", err)


class Spares(Agents):
    count = 3
    SLEEPS = 'echo "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST"; [ "$DLAUNCH_ROUND" = 1 ] || exec sleep 1000'

    def started(self, *words, hosts=("-H", "node1:2,node2:2,node3:2")):
        job = self.start(*hosts, "--restarts", 2, *words, *sh(self.SLEEPS), stdout=-1, stderr=-1)
        seen = sorted(job.stdout.readline() for _ in range(4))
        self.assertEqual(seen, [b"0 0 node1\n", b"0 1 node1\n", b"0 2 node2\n", b"0 3 node2\n"])
        # The ranks do not wait for the spare host. Its agent has a worker once it is connected.
        self.assertTrue(wait_until(lambda: len(self.host(3).find("dlaunch-agent")) == 2, TIMEOUT), "the spare host has no agent")
        return job

    def assert_spare_continues(self, job, timeout=LIMIT):
        out, err = job.communicate(timeout=timeout)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(lines(out)), ["1 0 node1", "1 1 node1", "1 2 node3", "1 3 node3"], err)
        self.assertIn("dlaunch: node3 takes the ranks of node2", own_lines(err))
        return err

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_spare_takes_the_ranks_of_a_killed_agent(self):
        with self.started("-n", 4, "--spares", 1) as job:
            self.kill_agents(2)
            err = self.assert_spare_continues(job)
        self.assertNotIn(b"may still run", err)

    @promise(ENDS, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_spare_of_the_hostfile_is_used(self):
        (self.dir / "hosts").write_text("node3 slots=2 spare\nnode1 slots=2\nnode2 slots=2\n")
        with self.started(hosts=("--hostfile", "hosts")) as job:
            self.kill_agents(2)
            self.assert_spare_continues(job)
        out = self.assert_succeeds("--hostfile", "hosts", *sh("echo $DLAUNCH_HOST")).decode()
        self.assertEqual(sorted(out.split()), ["node1", "node1", "node2", "node2"])

    @promise(NAMES_FIRST, mode=(RESTARTS, FAILURE))
    def test_host_with_two_own_failures_is_replaced(self):
        script = 'echo "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST"; [ "$DLAUNCH_ROUND" -lt 2 ] || exit 0; '
        script += '[ "$DLAUNCH_RANK" != "$DLAUNCH_ROUND" ] && exec sleep 1000; kill -BUS $$'
        result = self.run_dlaunch("-H", "node2:2,node1:2,node3:2", "-n", 4, "--restarts", 2, "--spares", 1, *sh(script))
        self.assert_exit(result, 0)
        last = sorted(line for line in lines(result.stdout) if line.startswith("2 "))
        self.assertIn("1 1 node2", lines(result.stdout))
        self.assertEqual(last, ["2 0 node3", "2 1 node3", "2 2 node1", "2 3 node1"], result.stderr)
        self.assertIn("dlaunch: node3 takes the ranks of node2", own_lines(result.stderr))

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(RESTARTS, SILENCE))
    @takes_long
    def test_spare_takes_the_ranks_of_a_cut_off_host(self):
        with self.started("-n", 4, "--spares", 1) as job:
            self.bed.head.drop_both_ways(self.host(2))
            err = self.assert_spare_continues(job, timeout=100)
            self.assertFalse([line for line in self.host(2).strangers().values() if line == "sleep 1000"], "two rounds were alive at once")
        self.assertIn(b"may still run on node2", err)
        self.bed.head.deliver(self.host(2))
        # The session does not know that its client has ended.
        kill_together(*[pid for pid, line in self.host(2).strangers().items() if line.startswith("sshd: ")])

    @promise(ENDS, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_shrink_continues_with_fewer_ranks(self):
        script = 'echo "$DLAUNCH_ROUND $RANK/$WORLD_SIZE $DLAUNCH_HOST"; [ "$DLAUNCH_ROUND" = 2 ] || exec sleep 1000'
        with self.start("-H", "node1:1,node2:2,node3:2", "-n", 5, "--restarts", 2, "--shrink", "--env-for", "torch",
                        "--ranks", "0-4", *sh(script), stdout=-1, stderr=-1) as job:
            for _ in range(5):
                job.stdout.readline()
            self.kill_agents(2)
            seen = sorted(job.stdout.readline().decode() for _ in range(3))
            self.assertEqual(seen, ["1 0/3 node1\n", "1 1/3 node3\n", "1 2/3 node3\n"])
            self.kill_agents(3)
            out, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(lines(out), ["2 0/1 node1"], err)
        self.assertIn("dlaunch: the job continues without node2, with 3 ranks on 2 hosts", own_lines(err))
        self.assertIn("dlaunch: the job continues without node3, with 1 rank on 1 host", own_lines(err))

    @promise(LOSES_NOTHING, mode=(RESTARTS, KILL))
    def test_shrink_prepares_directories_of_moved_ranks_on_separate_disks(self):
        (self.dir / "go").write_text('#!/bin/sh\necho "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST" $(ls)\ntouch mine; exec sleep 1000\n')
        (self.dir / "go").chmod(0o755)
        self.host(3).sh("mkdir -p /root/run/1; touch /root/run/1/old /root/run/1/.dlaunch-rank-dir")
        with self.start("-H", "node1:1,node2:1,node3:1", "-wdir", "/root", "--rank-dir", "run/{rank}", "--stage", "go",
                        "--restarts", 2, "--shrink", "./go", stdout=-1, stderr=-1) as job:
            seen = sorted(job.stdout.readline().decode() for _ in range(3))
            self.assertEqual(seen, ["0 0 node1 go\n", "0 1 node2 go\n", "0 2 node3 go\n"])
            self.kill_agents(1)
            seen = sorted(job.stdout.readline().decode() for _ in range(2))
            self.assertEqual(seen, ["1 0 node2 go\n", "1 1 node3 go\n"])
            for host, used in ((2, "run/0"), (3, "run/1")):
                other = self.run_dlaunch("-H", f"node{host}", "-wdir", "/root", "--rank-dir", used, "true")
                self.assert_told(other, 125, f"/root/{used}: a running job uses this directory")
            self.assertEqual(self.host(2).sh("ls /root/run/1").split(), ["go", "mine"])
            job.terminate()
            job.communicate(timeout=LIMIT)

    @promise(ENDS, mode=(RESTARTS, KILL))
    def test_shrink_without_remaining_hosts_ends_the_job(self):
        with self.start("-H", "node2:1", "--restarts", 2, "--shrink", *sh("echo up; exec sleep 1000"), stdout=-1, stderr=-1) as job:
            job.stdout.readline()
            self.kill_agents(2)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 125, err)
        self.assertIn(b"--shrink: no host is left", err)

    @promise(ENDS, NAMES_FIRST, mode=(RESTARTS, KILL))
    def test_lost_spare_is_a_note(self):
        with self.started("-n", 4, "--spares", 1) as job:
            self.kill_agents(3)
            self.assertIn(b"note: lost spare host node3", job.stderr.readline())
            self.kill_agents(2)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 125, err)
        self.assertIn(b"no restart: node2 is lost, and no spare host is left", err)

    def test_too_many_spares_are_rejected(self):
        result = self.run_dlaunch("-H", "node1,node2", "--spares", 2, "--restarts", 1, "true")
        self.assert_exit(result, 2)
        self.assertIn(b"the job has 2 hosts", result.stderr)


if __name__ == "__main__":
    main(side_by_side=3)
