"""Tests silent and frozen hosts together with a second fault: a failure of a rank, a signal of the user, a time limit, a
stopped launcher. The simulator tests all orders under virtual time (docs/simulation.md). scripts/silent-hosts repeats
each test and counts the successful runs."""
import os
import random
import signal
import time
import unittest

from promises import DEADLINE, ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ORPHANS, RESTARTS, SIGNAL, SILENCE, promise
from silent_case import FIRST_LINE, CutConnections, CutOff, FrozenHost, FrozenSession, SilentCase, sleeping
from side_by_side import takes_long
from support import kill_together, main, of_process, oldest_first, settle, sh, wait_until, written

QUICK = ("--heartbeat", 2, "--grace", 2)
LOADED = 10  # seconds that a busy machine may need for the work of a moment
TIME_LIMIT = 21  # seconds
SILENCE_BEFORE = 8  # seconds before the time limit; the launcher notices a silence after 10 to 15 s
HOSTS = "node1:1,node2:1,node3:1,node4:1"

# A rank holds a lock while it lives. The rank of the next round reports a lock that is still held.
LOCKED = 'exec 9>lock.$DLAUNCH_RANK; flock -n 9 || echo held; echo "$DLAUNCH_ROUND $DLAUNCH_RANK $DLAUNCH_HOST"; '
# Rank 0 exits with 7 on request. The ranks of the next round succeed.
FAILS = LOCKED + '[ "$DLAUNCH_ROUND" = 0 ] || exit 0; [ "$DLAUNCH_RANK" = 0 ] || exec sleep 1000; ' \
    'until [ -e fail ]; do sleep 0.02; done; exit 7'


class SilenceAndFailure(SilentCase):
    """The host is silent, and a rank elsewhere fails, as in every job whose ranks communicate."""

    def started(self, script=FAILS, options=QUICK):
        job = self.job("job", "-H", HOSTS, "-n", 3, "--restarts", 5, "--spares", 1, *options, *sh(script))
        self.wait_for(job, "0 ", times=3)
        self.spares_are_up(4)
        return job

    def spares_are_up(self, *numbers):
        self.assertTrue(wait_until(lambda: all(len(self.host(number).find("dlaunch-agent")) == 2 for number in numbers)))

    def fail_rank(self):
        (self.dir / "fail").touch()

    def assert_spare_continues(self, job, cut, line="1 1 node4"):
        self.wait_for(job, line)
        first = line.split()[0]
        self.wait_for(job, f"\n{first} ", times=3)
        took = time.monotonic() - cut
        self.ended(job, 0)
        self.assertLess(took, FIRST_LINE, self.told(job))
        self.assertIn("dlaunch: node4 takes the ranks of node2\n", self.text(job, "err"))
        self.assertNotIn("held", self.text(job))

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    @takes_long
    def test_failure_after_a_silence_with_the_default_heartbeat(self):
        job = self.started(options=("--grace", 5))
        cut = time.monotonic()
        self.silence(CutOff, 2)
        time.sleep(4)
        self.fail_rank()
        self.assert_spare_continues(job, cut)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_failure_after_a_silence(self):
        job = self.started()
        cut = time.monotonic()
        self.silence(CutOff, 2)
        time.sleep(random.uniform(0.5, 5))
        self.fail_rank()
        self.assert_spare_continues(job, cut)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_failure_and_silence_at_the_same_time(self):
        job = self.started()
        cut = time.monotonic()
        self.silence(CutOff, 2)
        self.fail_rank()
        self.assert_spare_continues(job, cut)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_silence_after_a_failure(self):
        """The rank of the silent host ignores SIGTERM, so that the silence begins before the end of the round."""
        job = self.started(FAILS.replace("exec sleep", '[ "$DLAUNCH_RANK" = 2 ] || trap "" TERM; exec sleep'))
        self.fail_rank()
        time.sleep(random.uniform(0.1, 1.5))
        cut = time.monotonic()
        self.silence(CutOff, 2)
        self.assert_spare_continues(job, cut)

    # The host answered after Finish, so the launcher does not lose the host, and does not connect again.
    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS, ORPHANS))
    def test_silence_while_a_host_ends_daemons(self):
        """The agent has received the end of the round. The daemons ignore SIGTERM."""
        daemon = '(trap "" TERM HUP INT; setsid sleep 1000 >/dev/null 2>&1 9>&- &); '
        job = self.started(FAILS.replace('[ "$DLAUNCH_RANK"', daemon + '[ "$DLAUNCH_RANK"'), options=("--grace", 2))
        self.fail_rank()
        time.sleep(random.uniform(0.3, 1.2))
        cut = time.monotonic()
        self.silence(CutOff, 2)
        self.assert_spare_continues(job, cut)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_failure_while_only_the_connection_is_silent(self):
        """A login to the host works, so the next round does not wait for the lease of the agent."""
        job = self.started()
        cut = time.monotonic()
        self.silence(CutConnections, 2)
        time.sleep(1)
        self.fail_rank()
        self.assert_spare_continues(job, cut)
        self.assertNotIn("may still run", self.text(job, "err"))

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_failure_while_a_host_is_frozen(self):
        job = self.started()
        cut = time.monotonic()
        frozen = self.silence(FrozenHost, 2)
        time.sleep(1)
        self.fail_rank()
        self.wait_for(job, "1 ", FIRST_LINE)
        self.ended(job, 0)
        self.assertLess(time.monotonic() - cut, FIRST_LINE)
        self.restore(frozen)
        self.assert_none_left(job, 2, LOADED)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_silence_between_two_rounds(self):
        """Three rounds fail. The host is cut off in the delay of two seconds before the next round."""
        script = LOCKED + 'if [ "$DLAUNCH_ROUND" -lt 3 ]; then [ "$DLAUNCH_RANK" != 0 ] || exit $((DLAUNCH_ROUND + 3)); ' \
            'exec sleep 1000; fi; [ "$DLAUNCH_HOST" != node4 ] || touch spare; until [ -e spare ]; do sleep 0.02; done'
        job = self.started(script)
        self.wait_for(job, " in 2 s", stream="err")
        cut = time.monotonic()
        self.silence(CutOff, 2)
        self.assert_spare_continues(job, cut, "4 1 node4")

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_second_host_is_cut_off_between_two_rounds(self):
        script = LOCKED + '[ "$DLAUNCH_ROUND" != 0 ] || exec sleep 1000; [ "$DLAUNCH_HOST" != node4 ] || touch spare; ' \
            'until [ -e spare ]; do sleep 0.02; done'
        job = self.job("job", "-H", HOSTS, "-n", 2, "--restarts", 5, "--spares", 2, *QUICK, *sh(script))
        self.wait_for(job, "0 ", times=2)
        self.spares_are_up(3, 4)
        self.silence(CutOff, 2)
        self.wait_for(job, "; restart 1 of 5", stream="err")
        time.sleep(random.uniform(0, 2))
        cut = time.monotonic()
        self.silence(CutOff, 1)
        self.wait_for(job, "node4", FIRST_LINE)
        self.assertLess(time.monotonic() - cut, FIRST_LINE)
        self.ended(job, 0)
        self.assertNotIn("held", self.text(job))


class SilenceAndEnd(SilentCase):
    """Three jobs, each with a silent host: SIGINT, SIGTERM and --timeout end them."""

    def end_three_jobs(self, way):
        """Each job ends while the launcher does not know of the silence, which it notices after 15 s."""
        jobs = {}
        for number, name in enumerate(("int", "term", "timeout"), start=2):
            limit = ("--timeout", TIME_LIMIT) if name == "timeout" else ()
            jobs[number] = self.job(name, "-H", f"node1:1,node{number}:1", "--grace", 2, *limit, *sleeping())
        for job in jobs.values():
            self.wait_for(job, "up", times=2)
            job.since = time.monotonic()  # --timeout counts from the connections on, which a busy machine makes late
        silences = {}
        for number, job in jobs.items():
            if job.name == "timeout":
                time.sleep(max(0, job.since + TIME_LIMIT - SILENCE_BEFORE - time.monotonic()))
            silences[number] = self.silence(way, number)
            time.sleep(random.uniform(0, 2))
            if job.name != "timeout":
                job.send_signal(signal.SIGINT if job.name == "int" else signal.SIGTERM)
        for number, code in ((2, 130), (3, 143), (4, 124)):
            with self.subTest(jobs[number].name):
                self.ended(jobs[number], code, 40)
                self.assert_end(jobs[number], number, silences[number])
        self.assertEqual(self.left_of_job(1), {})

    def assert_end(self, job, number, silence):
        if not silence.logins:
            return self.assert_ended_by_the_command(job, number, silence)
        self.assert_none_left(job, number)
        self.assertNotIn("may still run", self.text(job, "err"))

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, SIGNAL, DEADLINE))
    def test_end_while_a_host_is_cut_off(self):
        self.end_three_jobs(CutOff)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, SIGNAL, DEADLINE))
    def test_end_while_connections_are_silent(self):
        self.end_three_jobs(CutConnections)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, SIGNAL, DEADLINE))
    def test_end_while_sessions_are_frozen(self):
        self.end_three_jobs(FrozenSession)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, SIGNAL, DEADLINE))
    def test_end_while_hosts_are_frozen(self):
        self.end_three_jobs(FrozenHost)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, SIGNAL))
    def test_no_agent_stays_on_a_host_with_a_silent_connection(self):
        job = self.job("job", "-H", "node1:1,node2:1", *QUICK, *sleeping())
        self.wait_for(job, "up", times=2)
        self.silence(CutConnections, 2)
        time.sleep(1)
        job.send_signal(signal.SIGTERM)
        self.ended(job, 143)
        self.assert_none_left(job, 2, LOADED)


class StoppedLauncher(SilentCase):
    @promise(LOSES_NOTHING, mode=SILENCE)
    @takes_long
    def test_job_survives_a_launcher_that_is_stopped_for_25_s(self):
        job = self.job("job", "-H", HOSTS, *sh("echo up; sleep 30; echo on"))
        self.wait_for(job, "up", times=4)
        job.send_signal(signal.SIGSTOP)
        time.sleep(25)
        job.send_signal(signal.SIGCONT)
        self.ended(job, 0)
        self.assertEqual((self.text(job).count("on\n"), self.text(job, "err")), (4, ""))

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=SILENCE)
    @takes_long
    def test_pause_limit_ends_ranks_after_a_suspension_without_network(self):
        """The user suspends the launcher, and then the network of a host is lost. A silence has 6 s with QUICK."""
        limit = 15
        job = self.job("job", "-H", "node1:1,node2:1", *QUICK, "--pause-limit", limit, *sleeping())
        self.wait_for(job, "up", times=2)
        job.send_signal(signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: b") T " in of_process(job.pid, "stat")))
        suspended = time.monotonic()
        self.silence(CutOff, 2)
        time.sleep(8)
        if time.monotonic() < suspended + limit:
            self.assertNotEqual(self.left_of_job(2, agents=False), {}, "the ranks ended before the pause limit")
        self.assert_none_left(job, 2, suspended + limit + 2 + 3 - time.monotonic())
        job.send_signal(signal.SIGCONT)
        self.ended(job, 125)
        self.assertIn("node2", self.text(job, "err"))


class UnreadSpawn(SilentCase):
    """A worker is stopped before it reads Spawn, and continues after its link has ended."""

    def worker_with_unread_spawn(self, *options):
        """node1 answers last, so the launcher sends Spawn after the worker of node2 was stopped."""
        late = FrozenHost(self.bed, 1)
        self.silences.append(late)
        job = self.job("job", "-v", "-H", "node1:1,node2:1,node3:1", *QUICK, *options,
                       *sh('echo "rank ${DLAUNCH_ROUND-0} $DLAUNCH_RANK"; date >>began.$DLAUNCH_HOST; exec sleep 1000'))
        self.wait_for(job, "node2: agent is up", stream="err")
        worker = oldest_first(self.host(2).find("dlaunch-agent"))[-1]
        self.assertTrue(settle(lambda: written([worker]), still=1), "the worker still answers the launcher")
        os.kill(worker, signal.SIGSTOP)
        self.restore(late)
        self.wait_for(job, "rank 0 0")
        return job, worker

    def end_the_link(self):
        kill_together(*[pid for pid, line in self.host(2).strangers().items() if line.startswith("sshd: ")])

    def go_on(self, worker):
        FrozenSession.send([worker], signal.SIGCONT)

    def assert_no_rank_began(self, job):
        self.assertFalse((self.dir / "began.node2").exists(), self.told(job))

    @promise(ENDS, LEAVES_NOTHING, mode=SILENCE)
    def test_continued_worker_starts_no_rank_after_the_end_of_its_link(self):
        job, worker = self.worker_with_unread_spawn()
        self.end_the_link()
        time.sleep(random.uniform(0, 2))
        self.go_on(worker)
        self.ended(job, 125)
        self.assert_none_left(job, 2, LOADED)
        self.assert_no_rank_began(job)

    @promise(ENDS, LEAVES_NOTHING, mode=(SILENCE, RESTARTS))
    def test_continued_worker_starts_no_rank_after_its_lease(self):
        """The link is silent, and the spare host runs the rank."""
        job, worker = self.worker_with_unread_spawn("-n", 2, "--restarts", 1, "--spares", 1)
        silence = self.silence(CutOff, 2)
        self.wait_for(job, "rank 1 1", FIRST_LINE)
        job.send_signal(signal.SIGTERM)
        self.ended(job, 143)
        self.go_on(worker)
        self.assert_none_left(job, 2, 6 + LOADED)  # the silence limit of QUICK
        self.restore(silence)
        self.assert_no_rank_began(job)


if __name__ == "__main__":
    main(side_by_side=6)
