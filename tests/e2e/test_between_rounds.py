"""Tests what happens between two rounds of a job: removal of shared memory that killed ranks left, the delay before the
next round, and the time limit of all rounds."""
import json
import os
import pathlib
import signal
import uuid

from hosts_case import lines
from promises import DEADLINE, ENDS, FAKE_HOSTS, LEAVES_NOTHING, NAMES_FIRST, RESTARTS, SILENCE, promise
from support import Case, TIMEOUT, main, of_process, screen, sh, wait_until

SHARED = pathlib.Path("/dev/shm")
LIMIT = 3 * TIMEOUT  # time limit of a job in seconds, on a busy machine

# A rank with a mapped file whose descriptor is closed. The rank prints "up" when the file is mapped.
MAPS = """
import mmap, os, pathlib, signal, sys
if os.environ["DLAUNCH_ROUND"] != "0":
    sys.exit(0)
with open(sys.argv[1], "r+b" if os.path.exists(sys.argv[1]) else "w+b") as file:
    file.truncate(4096)
    mapped = mmap.mmap(file.fileno(), 4096)
print("up", flush=True)
signal.pause()
"""


class SharedMemory(Case):
    def setUp(self):
        super().setUp()
        self.mark = uuid.uuid4().hex[:12]
        self.addCleanup(lambda: [path.unlink(missing_ok=True) for path in self.there()])

    def there(self):
        return [path for path in SHARED.iterdir() if self.mark in path.name]

    def names(self):
        return sorted(path.name for path in self.there())

    @promise(LEAVES_NOTHING, mode=RESTARTS)
    def test_segment_with_the_pid_of_a_killed_rank_is_removed(self):
        """Segments of other processes, open segments, and segments with an unknown name remain."""
        with self.start("-vv", "-n", 2, "--restarts", 1, *sh(
                f'[ "$DLAUNCH_ROUND" = 0 ] || exit 0; for each in torch_$$_{self.mark} sem.loky-$$-{self.mark} torch_$$_open_{self.mark} ckpt_$$_{self.mark}; do '
                'echo bytes > /dev/shm/$each; done; echo $$; while [ ! -e go ]; do sleep 0.02; done; kill -9 $$'), cwd=self.dir, stdout=-1, stderr=-1) as job:
            pids = sorted(int(job.stdout.readline()) for _ in range(2))
            stranger = SHARED / f"torch_{os.getpid()}_{self.mark}"
            stranger.write_text("of another job")
            held = [open(SHARED / f"torch_{pid}_open_{self.mark}") for pid in pids]
            (self.dir / "go").touch()
            _, err = job.communicate(timeout=LIMIT)
            for file in held:
                file.close()
        self.assertEqual(job.returncode, 0, err)
        kept = [stranger.name, *(f"{name}_{pid}_{more}{self.mark}" for pid in pids for name, more in (("ckpt", ""), ("torch", "open_")))]
        self.assertEqual(self.names(), sorted(kept), err)
        for pid in pids:
            self.assertIn(f"/dev/shm/torch_{pid}_{self.mark}", err.decode().partition("removed shared memory of killed ranks: ")[2])

    @promise(LEAVES_NOTHING, mode=RESTARTS)
    def test_segment_mapped_by_a_killed_rank_is_removed(self):
        """The name does not contain the rank's pid. A segment that no rank has mapped may belong to another job: it is
        named, not removed."""
        segment, other = SHARED / f"nccl-{self.mark}", SHARED / f"nccl-other-{self.mark}"
        script = '[ "$DLAUNCH_RANK" = 0 ] && exec python3 -c "$1" "$2"; [ "$DLAUNCH_ROUND" = 0 ] || exit 0; while [ ! -e go ]; do sleep 0.02; done; kill -9 $$'
        for _ in range(5):  # the scan of mapped files has 0.1 s, which is too short on a very busy machine
            for path in (segment, other, self.dir / "go"):
                path.unlink(missing_ok=True)
            with self.start("-vv", "-n", 2, "--restarts", 1, *sh(script), "sh", MAPS, segment, cwd=self.dir, stdout=-1, stderr=-1) as job:
                self.assertEqual(job.stdout.readline(), b"up\n")
                other.write_text("left long ago")
                (self.dir / "go").touch()
                _, err = job.communicate(timeout=LIMIT)
            self.assertEqual(job.returncode, 0, err)
            if not segment.exists():
                break
        self.assertEqual(self.names(), [other.name], err)
        self.assertRegex(err.decode(), rf"shared memory of killed ranks:.* {segment}.*; found unused shared memory, .*run: rm .*{other}")

    def test_segment_of_an_outside_process_remains(self):
        """The process creates the segment during the round, closes it, and may open it again later."""
        segment = SHARED / f"psm_{self.mark}"
        script = ('await() { while [ ! -e $1 ]; do sleep 0.02; done; }; [ "$DLAUNCH_RANK" = 0 ] && { touch ready; await created; exec python3 -c "$1" "$2"; }; '
                  '[ "$DLAUNCH_ROUND" = 0 ] || exit 0; await go; kill -9 $$')
        with self.start("-vv", "-n", 2, "--restarts", 1, *sh(script), "sh", MAPS, segment, cwd=self.dir, stdout=-1,
                        stderr=-1) as job:
            self.assertTrue(wait_until((self.dir / "ready").exists))
            segment.write_bytes(bytes(4096))
            (self.dir / "created").touch()
            self.assertEqual(job.stdout.readline(), b"up\n")
            (self.dir / "go").touch()
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(self.names(), [segment.name], err)

    def test_older_segments_remain(self):
        old = SHARED / f"torch_1_{self.mark}"
        old.write_text("of another job")
        self.assert_exit(self.run_dlaunch("-n", 1, "--restarts", 1, *sh('[ "$DLAUNCH_ROUND" = 1 ] || exit 3')), 0)
        self.assertEqual(self.names(), [old.name])


class Delays(Case):
    # Each round fails in a different way.
    FAILS = sh("exit $((DLAUNCH_ROUND + 3))")

    def test_status_line_counts_down_to_the_next_round(self):
        with self.under_pty("-n", 2, "--restarts", 20, *self.FAILS) as terminal:
            terminal.read_until(b"starting: round ", LIMIT)
            self.assertRegex(terminal.read_until(b" s", LIMIT, after=b"starting: round "), rb"starting: round \d+ in \d+ s")
            terminal.job.send_signal(signal.SIGTERM)
            code, seen = terminal.finish(LIMIT)
        self.assertEqual(code, 143, seen)
        self.assertNotIn(b"starting: round", b"\n".join(screen(seen)), "it is erased")

    @promise(ENDS, mode=(RESTARTS, DEADLINE))
    def test_time_limit_ends_a_delay_between_rounds(self):
        """Each round ends at once, so a limit per round would never be reached. A delay of eight seconds begins after
        seven seconds."""
        result = self.run_dlaunch("-n", 2, "--restarts", 50, "--timeout", 11, "--report", "report.json", *self.FAILS, cwd=self.dir)
        told, record = lines(result.stderr), json.loads((self.dir / "report.json").read_text())
        self.assert_exit(result, 124)
        self.assertRegex(told[-1], r"^dlaunch: 2 ranks were not started again for restart \d+$")
        self.assertRegex(told[-2], r"^dlaunch: timed out after \d+\.\d s$")
        self.assertGreaterEqual(float(told[-2].split()[-2]), 11, "the time of all rounds is told")
        self.assertEqual((record["cause"], record["exit_code"]), ("timeout", 124))
        self.assertGreaterEqual(record["wall_s"], 11)
        self.assertEqual([each["cause"] for each in record["earlier_rounds"]], record["round"] * ["rank_failed"])


class StoppedAgent(Case):
    @promise(ENDS, LEAVES_NOTHING, mode=SILENCE, place=FAKE_HOSTS)
    def test_stopped_agent_ends_with_the_job(self):
        """Both processes of the agent are stopped, as on a host without power. Here they can be continued, so that they
        end."""
        with self.job() as job:
            agent = self.stop_agent(job)
            job.send_signal(signal.SIGTERM)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 143, err)
        self.wait_for_end(agent, err)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=SILENCE, place=FAKE_HOSTS)
    def test_short_heartbeat_finds_a_stopped_agent_sooner(self):
        """After 6 to 8 s, and later on a busy machine; a heartbeat of 5 s needs at least 15 s."""
        with self.job("--heartbeat", 2) as job:
            agent = self.stop_agent(job)
            _, err = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 125, err)
        self.assertRegex(err, rb"dlaunch: a host was lost after ([4-9]|1[0-3])\.\d s: .*: the agent stopped sending heartbeats\n")
        self.wait_for_end(agent, err)

    def job(self, *options):
        return self.start("--fake-hosts", "2x1", "-n", 2, "--grace", 0.5, *options,
                          *sh('echo "$DLAUNCH_RANK $PPID"; exec sleep 1000'), stdout=-1, stderr=-1)

    def stop_agent(self, job):
        worker = dict(job.stdout.readline().split() for _ in range(2))[b"1"].decode()
        agent = [int(pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1]), int(worker)]
        for pid in agent:
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(lambda pid=pid: self.is_agent(pid) and os.kill(pid, signal.SIGKILL))
        return agent

    def wait_for_end(self, agent, err):
        wait_until(lambda: not any(map(self.is_agent, agent)), LIMIT)
        self.assertEqual([pid for pid in agent if self.is_agent(pid)], [], err)

    @staticmethod
    def is_agent(pid):
        return b"dlaunch-agent" in of_process(pid, "cmdline")


if __name__ == "__main__":
    main(side_by_side=3)
