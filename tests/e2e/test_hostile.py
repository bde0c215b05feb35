"""Tests hostile peers (tests/hostile): a hostile agent against the launcher, and a hostile launcher against the agent.
The job ends in time, names the host and the reason, uses little memory, starts no program that is not in the plan, and
leaves no process."""
import concurrent.futures
import os
import pathlib
import subprocess
import time

import support
from hosts_case import HostsCase
from promises import ATTACK, COMMAND, ENDS, FLUX, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, SILENCE, SLURM, promise
from side_by_side import takes_long
from support import Case, SANITIZED, TIMEOUT, program

import flux  # of the testbed, by hosts_case's path

AGENT = os.environ.get("AGENT") or str(support.PROGRAMS.parent.parent / "src/agent/dlaunch-agent")
MEBI = 1 << 20
MEMORY = 64 * MEBI
AT_ONCE = 4

# Actions of hostile_agent, and the message about its host.
ACTS = {
    "garbage_before_hello": "bad frame",
    "garbage_after_hello": "bad frame",
    "length_0": "bad frame: length 0",
    "length_4e9": "bad frame: length 4000000000",
    "log_of_16_mib": "bad frame: length 16777216 of type 38",
    "ping_of_16_mib": "bad frame: length 16777216 of type 16",
    "unknown_type": "bad frame: unknown type 200",
    "count_of_4e9": "bad frame: malformed fields of type 42",
    "list_of_empty_items": "bad frame: malformed fields of type 42",
    "incomplete_frame": "lost the connection to the agent",
    "frame_of_the_launcher": "which only the other side sends",
    "unknown_version": "protocol version 99",
    "hello_twice": "unexpected message from the agent",
    "started_before_hello": "unexpected message from the agent",
    "unrequested_started": "unexpected message from the agent",
    "started_of_another_host": "a rank of another host",
    "ended_of_an_unknown_rank": "a rank of another host",
    "unrequested_clean": "unexpected message from the agent",
    "unrequested_host_info": "unknown type 254",
    "unrequested_prepared": "unexpected message from the agent",
    "unrequested_stage_credit": "granted more --stage data than the launcher sent",
    "unknown_stream": "unknown stream",
    "descriptors_over_exec": "unexpected descriptors",
    "stdin_credit": "granted more stdin than the launcher sent",
    "output_credit": "unexpected message from the agent",
    "endless_logs": "unknown type 254",
    "spawn_by_an_unknown_rank": "a rank of another host",
    "spawn_of_4e9_words": "invalid request from the agent",
    "fence_of_9_mib": "too much data to a fence",
    "fence_twice": "unexpected message from the agent",
    "fence_of_an_unknown_world": "unknown world",
    "fence_for_ranks_of_another_host": "a rank of another host",
    "names": "unknown type 254",
    "name_of_4_kib": "invalid request from the agent",
    "requests_without_reading": "the agent stopped reading",
    "unrequested_pmix": "unexpected message from the agent",
    "pmix_program_twice": "unexpected message from the agent",
    "board": "unknown type 254",
    "collectives": "unknown type 254",
    "unrequested_modex": "unknown type 254",
    "event_of_another_host": "a rank of another host",
}
SILENT = ["silent_at_once", "silent_after_hello", "silent_before_started", "silent_after_started", "silent_in_a_frame"]
WITHOUT_MPI = ["spawn", "spawn_on_the_launcher_host", "abort", "fence", "names", "unrequested_pmix"]
QUERIED = {
    "cpus_4e9": "reports 4000000000 CPUs",
    "million_devices": "reports 1000000 devices",
    "unrequested_addresses": "unexpected reply from the agent",
}
SLOWLY_READ = {
    "over_credit": "sent more output than the launcher granted",
    "output_of_single_bytes": "unknown type 254",
    "output_after_its_end": "unknown type 254",
}

# Actions of hostile_launcher. The ranks end with the agent.
SILENT_LAUNCHERS = ["silence_at_once", "silence_after_setup", "silence_while_a_rank_runs", "pings_without_answers",
                    "silence_in_a_frame", "heartbeat_0"]
LAUNCHERS = [
    "closes_at_once", "closes_in_a_frame", "garbage", "garbage_while_a_rank_runs", "length_4e9", "ping_of_16_mib", "stdin_of_16_mib",
    "count_of_4e9", "frame_of_the_agent", "setup_twice", "unknown_version", "over_credit_of_stdin",
    "over_credit_of_files", "endless_credit", "ranks_without_a_program", "unrequested_mpi",
]


class Peers(Case):
    place = COMMAND

    def setUp(self):
        super().setUp()
        self.target = self.dir / "started-by-a-stranger"
        lying = f"agent={program('hostile_agent')}"
        (self.dir / "hosts").write_text(f"evil slots=1 {lying}\ngood slots=1 agent={AGENT}\n")
        (self.dir / "queried").write_text(f"evil {lying}\n")
        (self.dir / "alone").write_text(f"evil slots=1 {lying}\n")
        (self.dir / "deaf").write_text(f"evil slots=1 {lying}\ndeaf slots=1 {lying}\n")

    def job(self, act, *options, hosts="hosts", stdout=subprocess.DEVNULL):
        """Runs a job with a hostile host. Returns the exit code, stderr, the peak memory and the seconds."""
        env = self.env | {"HOSTILE": act, "HOSTILE_TARGET": str(self.target)}
        command = [support.DLAUNCH, "--exec", "env HOSTILE_HOST={host}", "--hostfile", self.dir / hosts, *options,
                   "sleep", "1000"]
        with support.Job(command, env=env, cwd=self.dir, stdin=subprocess.DEVNULL if "--stdin" not in options else subprocess.PIPE,
                         stdout=stdout, stderr=subprocess.PIPE) as job:
            timer = time.monotonic()
            err = job.stderr.read()
            _, status, used = os.wait4(job.pid, 0)
            job.returncode = os.waitstatus_to_exitcode(status)
        return job.returncode, err.decode(errors="replace"), used.ru_maxrss * 1024, time.monotonic() - timer

    def assert_lost(self, act, why, *options, host="evil", **how):
        code, said, memory, seconds = self.job(act, *options, **how)
        self.assertEqual(code, 125, said)
        self.assertTrue(any(host in line and why in line for line in said.splitlines()), f"no {why!r} of {host} in {said}")
        self.assertFalse(self.target.exists(), "a program was started that the plan does not have")
        self.assertNotIn("\x1b", said)
        self.assertLess(len(said), MEBI / 4)
        if not SANITIZED:
            self.assertLessEqual(memory, MEMORY, f"{memory >> 20} MiB")
        return said, seconds

    def play(self, act):
        run = subprocess.run([program("hostile_launcher"), AGENT, act], env=self.env, cwd=self.dir, capture_output=True,
                             timeout=60, check=False)
        said = run.stdout.decode() + run.stderr.decode()
        self.assertEqual(run.returncode, 0, said)
        if not SANITIZED:
            self.assertLessEqual(int(said.split()[-2]) * 1024, MEMORY, said)

    def side_by_side(self, at_once, played):
        """Runs each function with its action, `at_once` at a time."""
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for act, end in [(act, pool.submit(play, act)) for act, play in played]:
                with self.subTest(act):
                    end.result()


@takes_long
class Silence(Peers):
    """A silent agent or launcher ends the job in time, whenever the silence begins. All run in parallel, because each
    takes three heartbeats."""

    def agent(self, act):
        self.assertLess(self.assert_lost(act, "stopped sending heartbeats")[1], 40)

    def agent_at_the_end(self, act):
        """All ranks have succeeded. dlaunch cannot know whether processes are left on the host."""
        code, said, _, seconds = self.job(act, hosts="alone")
        self.assertEqual(code, 0, said)
        self.assertIn("evil", said)
        self.assertLess(seconds, 40)

    @promise(ENDS, NAMES_FIRST, mode=(ATTACK, SILENCE))
    def test_silence(self):
        played = [(act, self.agent) for act in SILENT] + [("silent_to_finish", self.agent_at_the_end)]
        self.side_by_side(len(played) + len(SILENT_LAUNCHERS), played + [(act, self.play) for act in SILENT_LAUNCHERS])


class Agents(Peers):
    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test_mpi_request_without_mpi_is_rejected(self):
        for act in WITHOUT_MPI:
            with self.subTest(act):
                self.assert_lost(act, "does not serve MPI on this host", "--mpi", "none")

    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test_spawn_on_the_launcher_host_is_rejected(self):
        """The launcher's machine is not one of the job's hosts."""
        said, _ = self.assert_lost("spawn_on_the_launcher_host", "unknown type 254")
        self.assertIn('unknown host "localhost"', said)

    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test_too_large_spawns_are_rejected(self):
        for act, why in {"spawn_of_4e9": "invalid number of processes", "spawn_of_long_words": "131072 bytes or more"}.items():
            with self.subTest(act):
                self.assertIn(why, self.assert_lost(act, "unknown type 254")[0])

    def test_invalid_times_do_not_crash_the_launcher(self):
        code, said, _, _ = self.job("invalid_times")
        self.assertNotEqual(code, 70, said)

    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test_false_facts_about_the_host_are_rejected(self):
        for act, why in QUERIED.items():
            with self.subTest(act):
                self.assert_lost(act, why, hosts="queried")

    @promise(ENDS, LOSES_NOTHING, NAMES_FIRST, mode=ATTACK)
    @takes_long
    def test_output_above_the_credit_is_rejected(self):
        """The reader is stopped for longer than it takes to send the maximum that the launcher may buffer."""
        for act, why in SLOWLY_READ.items():
            with self.subTest(act):
                reader = subprocess.Popen(["sh", "-c", "sleep 3; exec cat >/dev/null"], stdin=subprocess.PIPE, env=self.env)
                with reader:
                    self.assert_lost(act, why, stdout=reader.stdin)
                    reader.stdin.close()

    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test_agent_that_does_not_read_events_is_dropped(self):
        self.assert_lost("events", "the agent stopped reading", host="deaf", hosts="deaf")

    def test_escape_sequences_are_not_printed(self):
        """No escape byte reaches the terminal, and no line looks like a line of dlaunch."""
        for act in ("escapes", "escapes_in_a_failure"):
            with self.subTest(act):
                code, said, _, _ = self.job(act, "-vv")
                self.assertNotEqual(code, 0)
                self.assertNotIn("\x1b", said)
                self.assertNotIn("\ndlaunch: forged", said)


def act_test(act, why):
    @promise(ENDS, NAMES_FIRST, mode=ATTACK)
    def test(self):
        self.assert_lost(act, why)
    return test


for name, reason in ACTS.items():
    setattr(Agents, f"test_{name}", act_test(name, reason))


class Nodes(HostsCase):
    """Agents that connect to the launcher: one agent authenticates, and then attacks."""

    def setUp(self):
        super().setUp()
        self.env |= flux.Flux(self.bed, ["node1", "head", "node2"], cores=1).environment()
        # The head's broker; rank 0 is the broker of the hostile node.
        self.env["FLUX_URI"] = "local:///run/flux/local-1"
        self.agent = self.bed.dir / "agent"
        self.agent.write_text(f'#!/bin/sh\n[ "$3" != node1 ] || exec {program("hostile_agent")} "$@"\nexec {AGENT} "$@"\n')
        self.agent.chmod(0o755)

    def lost(self, act, why):
        target = self.dir / f"started-by-{act}"
        result = self.run_dlaunch("--agent-path", self.agent, "sleep", "1000", env={"HOSTILE": act, "HOSTILE_TARGET": str(target)}, timeout=2 * TIMEOUT)
        said = result.stderr.decode(errors="replace")
        self.assert_exit(result, 125)
        self.assertTrue(any("node1" in line and why in line for line in said.splitlines()), f"no {why!r} of node1 in {said}")
        self.assertFalse(target.exists(), "a program was started that the plan does not have")
        self.assertNotIn("\x1b", said)
        self.assertLess(len(said), MEBI / 4)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=ATTACK, place=FLUX)
    @takes_long
    def test_each_action_ends_the_job(self):
        acts = ACTS | dict.fromkeys(SILENT, "stopped sending heartbeats") | {"silent_at_once": "waiting for the agent"}
        with concurrent.futures.ThreadPoolExecutor(2 * AT_ONCE) as pool:
            for act, end in [(act, pool.submit(self.lost, act, why)) for act, why in acts.items()]:
                with self.subTest(act):
                    end.result()
        self.assert_hosts_clean()


# A task per word NAME:SECONDS of $TASKS: the agent of the node NAME, which gets its input SECONDS late. Each task has the
# same stdin, as with the real srun.
SRUN = r"""#!/bin/sh
while [ $# -gt 0 ] && [ "$1" != sh ]; do shift; done
set -- "$@" --
pipes=
for task in $TASKS; do
  mkfifo "$PIPES/$task"
  pipes="$pipes $PIPES/$task"
  (exec <"$PIPES/$task"; sleep "${task#*:}"; SLURMD_NODENAME=${task%%:*} exec "$@") &
done
tee $pipes >/dev/null
wait
"""


class Impersonation(Case):
    """A node of a Slurm job connects under the name of another node: all agents of an srun have the same key."""

    def setUp(self):
        super().setUp()
        self.pipes = self.dir / "pipes"
        self.pipes.mkdir()
        programs = self.dir / "bin"
        programs.mkdir()
        for name, text in (("srun", SRUN), ("scontrol", "#!/bin/sh\nexit 1\n")):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.env |= {"PATH": f"{programs}:{self.env['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "alpha,beta,gamma", "SLURM_JOB_NUM_NODES": "3",
                     "SLURM_JOB_CPUS_PER_NODE": "1(x3)", "SLURM_TASKS_PER_NODE": "1(x3)", "PIPES": str(self.pipes)}

    def job(self, tasks, seconds=3):
        return self.run_dlaunch("--agent-path", AGENT, "--grace", 1, *support.sh(f"echo $DLAUNCH_HOST; sleep {seconds}"), env={"TASKS": tasks})

    def test_agents_with_their_own_names_run_the_job(self):
        result = self.job("alpha:0 beta:0.5 gamma:1")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(result.stdout.split()), [b"alpha", b"beta", b"gamma"])

    def assert_both_named(self, tasks, other):
        result = self.job(tasks, 20)
        said = result.stderr.decode()
        self.assert_exit(result, 125)
        self.assertRegex(said, r"two agents with the name beta: an agent connected from [0-9a-f.:]+ \(alpha connected from this address, too\), and " + other)
        self.assertIn("check these hosts: a process there uses the key of the job's agents", said)

    @promise(ENDS, NAMES_FIRST, mode=ATTACK, place=SLURM)
    def test_second_agent_with_a_name_ends_the_job(self):
        """gamma is missing when the name is used again, after the node's own agent or before."""
        other = r"another agent from [0-9a-f.:]+ \(alpha connected from this address, too\)"
        self.assert_both_named("alpha:0 beta:0.1 beta:1 gamma:2", other)

    @promise(ENDS, NAMES_FIRST, mode=ATTACK, place=SLURM)
    def test_agent_that_comes_after_the_port_is_closed_ends_the_job(self):
        """The other agent is the last to connect, so no port is open for the node's own agent."""
        self.assert_both_named("alpha:0 gamma:0 beta:0.5 beta:2", r"the host's own agent reports: cannot connect to [0-9a-f.:\[\]]+: Connection refused")


class Launchers(Peers):
    @promise(ENDS, LEAVES_NOTHING, mode=ATTACK)
    def test_agent_ends_with_its_ranks(self):
        listed = subprocess.run([program("hostile_launcher")], capture_output=True, check=False).stdout.decode().split()
        self.assertEqual(sorted(LAUNCHERS + SILENT_LAUNCHERS), sorted(listed), "every act is played")
        self.side_by_side(AT_ONCE, [(act, self.play) for act in LAUNCHERS])


if __name__ == "__main__":
    support.main(side_by_side=3)
