"""Tests --same-line: the same command line runs on every node. The hosts have no sshd, may only connect to the first
host, and start in any order."""
import contextlib
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from hosts_case import HostsCase, lines
from pmi_client import client
from promises import (ATTACK, ENDS, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, PREEMPTION, RUN,
                      SAME_LINE, SIGNAL, SILENCE, START, promise)
from side_by_side import takes_long
from support import DLAUNCH, MARKER, Job, SANITIZED, TIMEOUT, kill_together, main, of_process, settle, sh, wait_until

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978"
PORT = 29400


class SameLineCase(HostsCase):
    """Node i of a job is host i + 1 of the testbed. The hosts have no sshd."""

    place = SAME_LINE
    count = 3

    def setUp(self):
        super().setUp()
        for host in self.bed.hosts.values():
            host.kill_sshd()
        self.key_file = self.dir / "key"
        self.key_file.write_text(KEY + "\n")
        self.key_file.chmod(0o600)
        self.jobs = {}

    def line(self, *words, nodes=None):
        return ["--same-line", "--rendezvous", f"node1:{PORT}", "--nodes", str(nodes or self.count), "--key-file",
                str(self.key_file), "--wait-hosts", "60", *map(str, words)]

    def on(self, node, words, env=None, before=(DLAUNCH,), stdin=subprocess.DEVNULL):
        """Starts dlaunch with `words` on a node; `before` may replace the start of the command line."""
        job = Job(self.host(node + 1).command([*before, *map(str, words)]), env=self.env | {MARKER: self.marker} | (env or {}),
                  stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir)
        self.addCleanup(lambda: (job.poll() is None and job.kill(), job.wait(), job.stdout.close(), job.stderr.close()))
        self.jobs[node] = job
        return job

    def node(self, node, *words, **options):
        return self.on(node, [*self.line(), "--node-rank", str(node), *map(str, words)], **options)

    def start_all(self, *words, order=None):
        for node in order or range(self.count):
            self.node(node, *words)

    def ends(self, timeout=TIMEOUT):
        """(exit code, stdout, stderr) of each node, in order."""
        found = {}
        for node, job in sorted(self.jobs.items()):
            out, err = job.communicate(timeout=timeout)
            found[node] = (job.returncode, out.decode(), err.decode())
        return [found[node] for node in sorted(found)]

    def launchers(self, node):
        return [pid for pid, line in self.host(node + 1).strangers().items() if line.startswith(DLAUNCH)]

    def sleepers(self, node):
        return [pid for pid, line in self.host(node + 1).strangers().items() if line.startswith("sleep ")]

    def kill(self, node, what=signal.SIGKILL):
        """Signals the launcher's processes of a node. A helper process of the launcher may exit before its turn."""
        signalled = 0
        for pid in self.launchers(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, what)
                signalled += 1
        self.assertGreater(signalled, 0, f"no dlaunch runs on node {node}")

    def listens(self):
        return bool(self.host(1).sh(f"ss -Htln sport = :{PORT}"))

    def await_nodes(self, count):
        """Waits until `count` other nodes are connected and their handshakes have ended."""
        received = lambda: re.findall(r"bytes_received:\d+", self.host(1).sh(f"ss -Htni state established sport = :{PORT}"))
        self.assertTrue(wait_until(lambda: len(received()) == count, TIMEOUT), "a node is missing")
        self.assertTrue(settle(received), "the handshake did not end")

    def await_sleepers(self):
        self.assertTrue(wait_until(lambda: all(self.sleepers(node) for node in range(self.count)), TIMEOUT), "ranks have not started")


class Torchrun(SameLineCase):
    count = 2

    def test_torchrun_line_of_several_nodes_is_one_job(self):
        """Users write one line per node. dlaunch requires a key in addition, which torchrun does not have."""
        script = self.dir / "train.py"
        script.write_text("import os\nprint(*(os.environ[n] for n in ('RANK', 'LOCAL_RANK', 'GROUP_RANK', 'WORLD_SIZE')), os.uname().nodename)\n")
        by_endpoint = ["--nnodes=2", "--nproc_per_node=2", "--rdzv_backend=c10d", f"--rdzv_endpoint=node1:{PORT}"]
        by_master = ["--nnodes", 2, "--nproc-per-node", 2, "--master-addr", "node1", "--master-port", PORT]
        for words, numbered in ((by_endpoint, True), (by_endpoint, False), (by_master, True), (by_master, False)):
            with self.subTest(words=words, numbered=numbered):
                for node in (1, 0):
                    number = ["--node-rank", node] if numbered else []
                    self.on(node, list(map(str, ["--as", "torchrun", *words, *number, script])), env={"DLAUNCH_KEY": KEY})
                first, second = self.ends()
                self.assertEqual(first[0], 0, first)
                self.assertEqual(sorted(first[1].splitlines()),
                                 [f"{rank} {rank % 2} {rank // 2} 4 node{1 + rank // 2}" for rank in range(4)])
                self.assertEqual(second[:2], (0, ""), second)

    def test_two_nodes_on_one_machine(self):
        """As in examples for a laptop: the first node to start is node 0."""
        words = ["--as", "torchrun", "--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:29511",
                 "--no-python", "sh", "-c", "echo $RANK of $WORLD_SIZE"]
        for copy in (0, 1):
            self.jobs[copy] = Job(self.host(1).command([DLAUNCH, *words]), env=self.env | {MARKER: self.marker, "DLAUNCH_KEY": KEY},
                                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.dir)
        ends = self.ends()
        self.assertEqual([end[0] for end in ends], [0, 0], ends)
        self.assertEqual(sorted("".join(end[1] for end in ends).splitlines()), ["0 of 2", "1 of 2"])

    def test_missing_key_is_reported_with_a_hint(self):
        job = self.on(0, ["--as", "torchrun", "--nnodes=2", "--master-addr=node1", "--node-rank=0", "t.py"])
        _, err = job.communicate(timeout=TIMEOUT)
        self.assertEqual(job.returncode, 2)
        self.assertIn(b"DLAUNCH_KEY", err)


class NodesWithoutNumbers(SameLineCase):
    def test_nodes_without_numbers_are_numbered_by_name(self):
        """Node 0 is the host of the rendezvous; the other nodes are numbered by name, in any order of start."""
        words = [*self.line("-v"), "-N", "1", *sh("echo $DLAUNCH_RANK $(uname -n)")]
        for order in ((2, 1, 0), (0, 1, 2)):
            with self.subTest(order=order):
                for node in order:
                    self.on(node, words)
                ends = self.ends()
                self.assertEqual([end[0] for end in ends], [0, 0, 0], ends)
                self.assertEqual(sorted(ends[0][1].splitlines()), ["0 node1", "1 node2", "2 node3"])

    def test_given_node_numbers_are_kept(self):
        words = [*self.line("-v"), "-N", "1", *sh("echo $DLAUNCH_RANK $(uname -n)")]
        for node, number in ((1, []), (2, ["--node-rank", 1]), (0, [])):
            self.on(node, [words[0], *number, *words[1:]])
        first, *_ = self.ends()
        self.assertEqual((first[0], sorted(first[1].splitlines())), (0, ["0 node1", "1 node3", "2 node2"]), first[2])


class NodeRanges(SameLineCase):
    """--nodes MIN:MAX, with options of torchrun."""

    def range(self, nodes, last_call):
        return ["--as", "torchrun", f"--nnodes={nodes}", "--nproc_per_node=1", "--rdzv_backend=c10d", f"--rdzv_endpoint=node1:{PORT}",
                f"--rdzv_conf=last_call_timeout={last_call}", "--no-python", "sh", "-c", "echo $RANK of $WORLD_SIZE: $(uname -n)"]

    def test_job_starts_with_the_nodes_that_have_connected(self):
        for come, wait, out in (((0,), 2, ["0 of 1: node1"]), ((0, 2), 10, ["0 of 2: node1", "1 of 2: node3"])):
            with self.subTest(come=come):
                self.jobs.clear()
                for node in come:
                    self.on(node, self.range("1:3", wait), env={"DLAUNCH_KEY": KEY})
                ends = self.ends()
                self.assertEqual([end[0] for end in ends], [0] * len(come), ends)
                self.assertEqual(sorted(ends[0][1].splitlines()), out, ends)
                self.assertIn("the number of nodes does not change after the start", ends[0][2])

    def test_job_starts_at_once_with_the_maximum(self):
        for node in (1, 0):
            self.on(node, self.range("1:2", 1000), env={"DLAUNCH_KEY": KEY})
        ends = self.ends()
        self.assertEqual(([end[0] for end in ends], sorted(ends[0][1].splitlines())), ([0, 0], ["0 of 2: node1", "1 of 2: node2"]), ends)

    @promise(ENDS, mode=START)
    def test_job_waits_for_the_minimum(self):
        words = ["--as", "torchrun", "--wait-hosts", 3] + self.range("2:3", 0)[2:]
        self.on(0, words, env={"DLAUNCH_KEY": KEY})
        (code, _, err), = self.ends()
        self.assertEqual(code, 125, err)
        self.assertIn("timed out waiting for", err)


class OtherLaunchers(SameLineCase):
    count = 2

    def test_lines_of_msrun_and_deepspeed_are_one_job(self):
        (self.dir / "hosts").write_text("node1 slots=2\nnode2 slots=2\n")
        msrun = ["msrun", "--worker_num=4", "--local_worker_num=2", "--master_addr=node1", f"--master_port={PORT}", "--join=True",
                 f"--log_dir={self.dir}/logs"]
        deepspeed = ["deepspeed", f"--hostfile={self.dir}/hosts", "--no_ssh", "--master_addr=node1", f"--master_port={PORT}", "--no_python",
                     "--no_local_rank"]
        tell = "[ $MS_ROLE = MS_SCHED ] || echo $RANK_ID $RANK_SIZE $(hostname)"
        (self.dir / "pytest").write_text(f"#!/bin/sh\n{tell}\n")
        (self.dir / "pytest").chmod(0o755)
        for words, program in ((msrun, ["pytest"]), (deepspeed, [str(self.dir / "pytest")])):
            with self.subTest(words=words):
                for node in (1, 0):
                    self.on(node, ["--as", *words, f"--node_rank={node}", *program],
                            env={"DLAUNCH_KEY": KEY, "PATH": f"{self.dir}:{os.environ['PATH']}"})
                first, second = self.ends()
                self.assertEqual(first[0], 0, first)
                self.assertEqual(sorted(first[1].splitlines()), [f"{rank} 4 node{1 + rank // 2}" for rank in range(4)])
                self.assertEqual(second[:2], (0, ""), second)
        self.assertEqual((self.dir / "logs/worker_3.log").read_text(), "3 4 node2\n")


class OneJob(SameLineCase):
    @promise(LOSES_NOTHING, mode=RUN)
    def test_nodes_start_in_any_order(self):
        for order in ((0, 1, 2), (2, 1, 0)):
            with self.subTest(order=order):
                self.start_all("-N", 2, "--label", *sh("echo $RANK_ID of $RANK_SIZE on $(hostname)"), order=order)
                first, *others = self.ends()
                self.assertEqual(first[0], 0, first)
                self.assertEqual(first[2], "")
                self.assertEqual(sorted(first[1].splitlines()),
                                 [f"[{rank}] {rank} of 6 on node{rank // 2 + 1}" for rank in range(6)])
                self.assertEqual(others, [(0, "", "")] * 2)
                self.assertFalse(self.listens())

    @promise(LEAVES_NOTHING, ONLY_SSHD, mode=RUN)
    def test_nodes_connect_to_the_first_only_and_no_port_stays_open(self):
        addresses = self.bed.addresses()
        for node, other in ((2, 3), (3, 2)):
            self.host(node).sh(f"ip route add unreachable {addresses[f'node{other}']}")
        self.start_all("-N", 1, "sleep", "1000")
        self.await_sleepers()
        for host in self.bed.hosts.values():
            self.assertEqual(host.sh("ss -Htln"), "", host.name)
        self.kill(0, signal.SIGTERM)
        self.assertEqual([end[0] for end in self.ends()], [143] * 3)

    def test_port_is_open_at_one_address(self):
        """The address is the one by which the other nodes know node 0."""
        self.node(0, "true")
        self.assertTrue(wait_until(self.listens, TIMEOUT), "no port is open")
        places = [line.split()[3] for line in self.host(1).sh(f"ss -Htln sport = :{PORT}").splitlines()]
        self.assertEqual(places, [f"{self.bed.addresses()['node1']}:{PORT}"])
        self.kill(0, signal.SIGTERM)
        self.ends()

    def test_each_node_sets_its_own_slots(self):
        self.start_all("--fake-devices", 2, *sh("echo $RANK_ID $DEVICE_ID"))
        self.assertEqual(len(self.ends()[0][1].splitlines()), 6)

    @promise(LOSES_NOTHING, mode=RUN)
    def test_large_output_is_complete(self):
        self.start_all("-N", 1, "head", "-c", "8388608", "/dev/zero")
        first = self.ends()[0]
        self.assertEqual((first[0], first[1].count("\0"), first[2]), (0, 3 * 8388608, ""))

    def test_master_address_is_the_address_of_node_0(self):
        self.start_all("-N", 1, "--env-for", "torch", *sh("echo $MASTER_ADDR $RANK"))
        self.assertEqual(sorted(self.ends()[0][1].splitlines()), [f"{self.bed.addresses()['node1']} {rank}" for rank in range(3)])

    def test_mpi_program_runs(self):
        """PMI fences use these links in the same way as links over ssh."""
        body = """
space = init()
ask(f"cmd=put kvsname={space} key=host{rank} value={os.uname().nodename}")
barrier()
print(",".join(ask(f"cmd=get kvsname={space} key=host{other}").split("value=")[1].split()[0] for other in range(size)))
finalize()
"""
        self.start_all("-N", 1, "--mpi", "pmi1", *client(body))
        first = self.ends()[0]
        self.assertEqual((first[0], sorted(first[1].split())), (0, ["node1,node2,node3"] * 3), first[2])


class Ends(SameLineCase):
    def assert_all_ended(self, killed):
        ends = self.ends()
        self.assertTrue(wait_until(lambda: not self.bed.left(), 10), self.bed.left())
        return [end for node, end in enumerate(ends) if node != killed]

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=KILL)
    def test_killed_node_is_named_and_all_nodes_end(self):
        self.start_all("-N", 1, "sleep", "1000")
        self.await_sleepers()
        self.kill(1)
        first, other = self.assert_all_ended(1)
        self.assertEqual(first[0], 125, first)
        self.assertIn("node2: the connection closed", first[2])
        self.assertEqual(other[0], 125)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=KILL)
    def test_killed_agent_leaves_no_process(self):
        self.start_all("-N", 1, "sleep", "1000")
        self.await_sleepers()
        kill_together(*self.host(2).find("dlaunch-agent"))
        first, *_ = self.assert_all_ended(None)
        self.assertEqual(first[0], 125, first)
        self.assertIn("node2", first[2])
        self.assertIn("dlaunch on node2 ends the remaining processes there", first[2])

    @promise(ENDS, NAMES_FIRST, mode=SIGNAL)
    def test_node_that_gets_sigterm_is_named(self):
        self.start_all("-N", 1, "sleep", "1000")
        self.await_sleepers()
        self.kill(2, signal.SIGTERM)
        ends = self.ends()
        self.assertEqual([end[0] for end in ends], [143] * 3)
        self.assertIn("node3 received a termination signal", ends[0][2])
        self.assertIn("interrupted by SIGTERM", ends[0][2])

    @promise(ENDS, LEAVES_NOTHING, mode=(SIGNAL, SILENCE))
    def test_second_sigterm_to_a_node_does_not_wait_for_the_launcher(self):
        self.start_all("-N", 1, "sleep", "1000")
        self.await_sleepers()
        self.kill(0, signal.SIGSTOP)
        self.kill(2, signal.SIGTERM)
        time.sleep(0.3)
        self.assertIsNone(self.jobs[2].poll())
        self.assertEqual(len(self.sleepers(2)), 1)
        self.kill(2, signal.SIGTERM)
        self.assertEqual(self.jobs[2].wait(TIMEOUT), 143)
        self.assertEqual(self.sleepers(2), [])
        self.kill(0, signal.SIGCONT)
        self.jobs[0].send_signal(signal.SIGCONT)  # a stopped child stops nsenter, too
        self.assertEqual([end[0] for end in self.ends()], [143] * 3)

    @promise(ENDS, mode=PREEMPTION)
    def test_repeated_sigterm_to_a_node_preempts_the_job(self):
        script = 'trap "sleep 3; echo saved $DLAUNCH_RANK; exit 0" USR2; sleep 1000 & while :; do wait; done'
        self.start_all("-N", 1, "--checkpoint-signal", "USR2", "--grace", 20, "sh", "-c", script)
        self.await_sleepers()
        self.kill(2, signal.SIGUSR1)  # a batch system may signal only this process: the node forwards the signal
        for _ in range(2):
            self.kill(2, signal.SIGTERM)
            time.sleep(0.3)
        ends = self.ends()
        self.assertEqual([end[0] for end in ends], [75] * 3, ends)
        self.assertEqual(sorted(ends[0][1].splitlines()), ["saved 0", "saved 1", "saved 2"], ends)
        # The agent waits 200 ms for a direct USR1; until then, TERM is usually the first notice.
        self.assertRegex(ends[0][2], "preempted by SIG(TERM|USR1) to an agent")

    @promise(ENDS, NAMES_FIRST, mode=SILENCE)
    @takes_long
    def test_cut_link_ends_both_sides(self):
        """Also a link with much output: a full link must not hide that the agent has ended. The node that is cut off
        ends after the pause limit."""
        writes = "[ $NODE_RANK != 1 ] || while :; do head -c 100000 /dev/zero | tr '\\0' x; sleep 0.05; done"
        self.start_all("-N", 8, "--oversubscribe", "--pause-limit", 20, "--env-for", "torch",
                       *sh(f"sleep 1000 & {writes}; wait"))
        self.await_sleepers()
        self.bed.head.drop_both_ways(self.host(2))
        ends = self.ends(timeout=60)
        self.assertEqual([end[0] for end in ends], [125] * 3, ends)
        self.assertIn("node2: the agent stopped sending heartbeats", ends[0][2])

    # The check of the first answer, 30 s after the connection, delays the check of the heartbeats.
    @promise(ENDS, NAMES_FIRST, mode=SILENCE)
    def test_node_that_is_cut_off_soon_is_lost_after_three_heartbeats(self):
        self.start_all("-N", 1, "--pause-limit", 20, *sh("exec sleep 1000"))
        self.await_sleepers()
        self.bed.head.drop_both_ways(self.host(2))
        ends = self.ends(timeout=60)
        told = re.search(r"a host was lost after (\d+\.\d) s: node2: the agent stopped sending heartbeats", ends[0][2])
        self.assertTrue(told, ends)
        self.assertLess(float(told[1]), 25, ends)

    @promise(ENDS, LOSES_NOTHING, mode=(START, SILENCE))
    @takes_long
    def test_job_runs_after_a_stop_of_the_launcher_that_waits_for_nodes(self):
        """Node 1 receives no heartbeat for twice the usual limit. Node 2 connects during the stop, and tries again after
        10 s."""
        words = ["-N", 1, "--heartbeat", 2, *sh("echo $RANK_ID")]
        for node in (0, 1):
            self.node(node, *words)
        self.await_nodes(1)
        self.kill(0, signal.SIGSTOP)
        self.node(2, *words)
        time.sleep(12)
        self.assertEqual([self.jobs[node].poll() for node in (1, 2)], [None, None])
        self.kill(0, signal.SIGCONT)
        self.jobs[0].send_signal(signal.SIGCONT)  # a stopped child stops nsenter, too
        ends = self.ends()
        self.assertEqual([(end[0], end[2]) for end in ends], [(0, "")] * 3)
        self.assertEqual(sorted(ends[0][1].split()), ["0", "1", "2"])

    @promise(ENDS, LOSES_NOTHING, mode=(RUN, SILENCE))
    @takes_long
    def test_output_is_complete_after_a_stop_of_the_launcher(self):
        """The output of node 1 fills the buffers of the stopped launcher for twice the time of three heartbeats."""
        go = self.dir / "go"
        writes = "[ $RANK_ID != 1 ] || yes 0123456789abcdef | head -c 33554432"
        self.start_all("-N", 1, "--heartbeat", 2, *sh(f"while [ ! -e {go} ]; do sleep 0.2; done; {writes}"))
        self.await_sleepers()
        stopped = lambda: all(pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "T" for pid in self.launchers(0))
        self.kill(0, signal.SIGTSTP)  # Ctrl-Z: node 0 announces the stop to the agents
        self.assertTrue(wait_until(stopped, TIMEOUT))
        go.touch()
        time.sleep(14)
        self.kill(0, signal.SIGCONT)
        self.jobs[0].send_signal(signal.SIGCONT)  # a stopped child stops nsenter, too
        out, err = self.jobs[0].communicate(timeout=TIMEOUT)
        self.assertEqual((self.jobs[0].returncode, len(out)), (0, 32 << 20), err)

    @promise(ENDS, mode=(START, SIGNAL))
    def test_interrupt_ends_the_wait_for_nodes(self):
        self.node(0, "true")
        self.node(1, "true")
        self.await_nodes(1)
        self.kill(0, signal.SIGTERM)
        ends = self.ends()
        self.assertEqual([end[0] for end in ends], [143, 143], ends)
        self.assertIn("interrupted by SIGTERM", ends[1][2])


class Rejections(SameLineCase):
    count = 2

    def rejected(self, node_words, first_words=(), first_line=None):
        """Starts node 0 and node 1 with different command lines. Returns their ends."""
        self.on(0, [*(first_line or self.line()), "--node-rank", "0", *(first_words or ("true",))])
        self.on(1, node_words)
        return self.ends()

    @promise(NAMES_FIRST, mode=START)
    def test_different_program_is_rejected(self):
        first, second = self.rejected([*self.line(), "--node-rank", "1", "false"])
        self.assertEqual((first[0], second[0]), (2, 2))
        for said in (first[2], second[2]):
            self.assertIn('different command lines: "false" on the node, "true" on node 0', said)
            self.assertIn("node 1 (node2, 10.77.0.3)", said)

    @promise(NAMES_FIRST, mode=START)
    def test_different_build_of_dlaunch_is_rejected(self):
        """Another build has another agent."""
        other = self.dir / "dlaunch"
        agent = hashlib.sha256(pathlib.Path(DLAUNCH).with_name("dlaunch-agent").read_bytes()).hexdigest()
        program = pathlib.Path(DLAUNCH).read_bytes()
        self.assertIn(agent.encode(), program)
        other.write_bytes(program.replace(agent.encode(), b"0123456789ab" + agent[12:].encode()))
        other.chmod(0o755)
        self.on(0, [*self.line(), "--node-rank", "0", "true"])
        self.on(1, [*self.line(), "--node-rank", "1", "true"], before=(other,))
        first, second = self.ends()
        self.assertEqual((first[0], second[0]), (2, 2))
        for said in (first[2], second[2]):
            self.assertRegex(said, rf"different versions of dlaunch: dlaunch \S+, agent 0123456789ab on the node, "
                                   rf"dlaunch \S+, agent {agent[:12]} on node 0")
            self.assertIn("node 1 (node2, 10.77.0.3)", said)

    def test_different_number_of_nodes_is_rejected(self):
        first, second = self.rejected([*self.line(nodes=3), "--node-rank", "1", "true"])
        self.assertEqual((first[0], second[0]), (2, 2))
        for said in (first[2], second[2]):
            self.assertIn("different numbers of nodes: 3 on the node, 2 on node 0", said)

    @promise(NAMES_FIRST, mode=START)
    def test_duplicate_node_number_is_rejected(self):
        """Both sides reject the second node. The job continues with the connected nodes, two of which are on one host.
        """
        def start(node, index):
            return self.on(node, [*self.line(nodes=3), "--node-rank", str(index), "-N", "1", *sh("echo $DLAUNCH_HOST")])

        first = start(0, 0)
        twins = [start(1, 1), start(1, 1)]
        self.assertTrue(wait_until(lambda: any(twin.poll() is not None for twin in twins), TIMEOUT))
        rejected, admitted = sorted(twins, key=lambda twin: twin.poll() is None)
        self.assertEqual(rejected.wait(), 2)
        self.assertIn('duplicate node number "1": already connected: node 1 (node2, 10.77.0.3)', rejected.stderr.read().decode())
        last = start(1, 2)
        out, err = first.communicate(timeout=TIMEOUT)
        self.assertEqual((first.returncode, sorted(lines(out))), (0, ["10.77.0.3-1", "10.77.0.3-2", "node1"]), err)
        self.assertIn(b'was refused: duplicate node number "1"', err)
        self.assertEqual((admitted.wait(), last.wait()), (0, 0))

    @promise(ENDS, NAMES_FIRST, mode=(START, ATTACK))
    def test_different_key_is_rejected(self):
        other = self.dir / "other"
        other.write_text("another key, which is long enough")
        other.chmod(0o600)
        words = self.line("--wait-hosts", 3)
        self.on(0, [*words, "--node-rank", "0", "true"])
        self.on(1, [*words, "--key-file", str(other), "--node-rank", "1", "true"])
        first, second = self.ends()
        self.assertEqual((first[0], second[0]), (125, 2))
        self.assertIn("node 0 has a different key", second[2])
        self.assertIn("1 connection without the job's key (from 10.77.0.3)", first[2])

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_missing_node_times_out(self):
        start = time.monotonic()
        self.on(0, [*self.line("--wait-hosts", 2), "--node-rank", "0", "true"])
        (code, _, said), = self.ends()
        self.assertEqual(code, 125)
        self.assertIn("timed out waiting for node 1 at 10.77.0.2:29400", said)
        self.assertLess(time.monotonic() - start, 6)

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_missing_launcher_times_out(self):
        self.on(1, [*self.line("--wait-hosts", 2), "--node-rank", "1", "true"])
        (code, _, said), = self.ends()
        self.assertEqual(code, 125)
        self.assertIn(f"node1:{PORT}", said)

    @promise(ENDS, NAMES_FIRST, mode=(START, SILENCE))
    def test_dropped_packets_time_out(self):
        """Packets to node 0 are lost without an answer, as a firewall drops them."""
        self.bed.head.drop_both_ways(self.host(2))
        for node in range(2):
            self.on(node, [*self.line("--wait-hosts", 3), "--node-rank", str(node), "true"])
        first, second = self.ends()
        self.assertEqual((first[0], second[0]), (125, 125))
        self.assertIn("timed out waiting for node 1 at 10.77.0.2:29400", first[2])
        self.assertIn(f"check the connection to node1:{PORT}", second[2])

    def test_missing_options_are_named(self):
        for words, told in ((["--same-line", "true"], "--nodes N"), (["--same-line", "--nodes", "2", "true"], "missing --node-rank or --rendezvous"),
                            (["--same-line", "--nodes", "2", "--node-rank", "2", "true"], 'invalid node number "2": expected 0 to 1'),
                            (["--same-line", "--nodes", "2", "--node-rank", "1", "--key-file", str(self.key_file), "true"], "--rendezvous HOST:PORT"),
                            (["--same-line", "--nodes", "2", "--node-rank", "0", "true"], "--key-file"),
                            (["--nodes", "2", "true"], "--nodes requires --same-line"),
                            (["--same-line", "-H", "a", "true"], "--same-line conflicts with -H")):
            with self.subTest(words=words):
                done = self.run_dlaunch(*words)
                self.assert_exit(done, 2)
                self.assertIn(told, done.stderr.decode())

    def test_key_file_readable_by_others_is_rejected(self):
        self.key_file.chmod(0o644)
        done = self.run_dlaunch(*self.line(), "--node-rank", "0", "true")
        self.assert_exit(done, 2)
        self.assertIn("other users can read or write the file", done.stderr.decode())


class KeySecrecy(SameLineCase):
    def test_key_is_not_visible_to_others(self):
        """The key is not in arguments, environments of ranks and of dlaunch, reports, plans and logs, and not in files
        that others may read."""
        report, begun = self.dir / "report.json", self.dir / "begun"
        begun.touch()
        words = [word for word in self.line("-vv", "--report", report, "-x", "DLAUNCH_*", "-N", 1, *sh("env; exec sleep 1000"))
                 if word not in ("--key-file", str(self.key_file))]
        for node in range(self.count):
            self.on(node, [*words[:7], "--node-rank", str(node), *words[7:]], env={"DLAUNCH_KEY": KEY})
        self.await_sleepers()
        key = KEY.encode()
        looked_at = []
        for host in list(self.bed.hosts.values()):
            for pid, line in host.strangers().items():
                if line.startswith("nsenter "):  # starts dlaunch on a host of the testbed
                    continue
                self.assertNotIn(KEY, line)
                environment = of_process(pid, "environ")
                self.assertNotIn(key, environment, line)
                looked_at += [line] if environment else []
        self.assertEqual(looked_at.count("sleep 1000"), self.count)
        self.assertEqual(self.files_of_others(key, begun), [], "while it runs")
        self.kill(0, signal.SIGTERM)
        ends = self.ends()
        self.assertEqual(ends[0][0], 143, ends[0][2])
        for code, out, err in ends:
            self.assertNotIn(KEY, out + err)
        self.assertNotIn(KEY, report.read_text())
        self.assertEqual(self.files_of_others(key, begun), [], "behind its end")
        dry = self.run_dlaunch(words[0], "--dry-run", *words[1:], env={"DLAUNCH_KEY": KEY})
        self.assert_exit(dry, 0)
        self.assertNotIn(key, dry.stdout + dry.stderr)

    def test_key_is_removed_from_the_environment_without_same_line(self):
        done = self.assert_succeeds("-n", 1, "env", env={"DLAUNCH_KEY": KEY})
        self.assertNotIn(b"DLAUNCH_KEY", done)


class Strangers(SameLineCase):
    count = 2

    def memory(self):
        pid, = self.launchers(0)
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

    @promise(ENDS, mode=ATTACK)
    def test_connections_of_strangers_cost_little_and_are_reported_once(self):
        """Idle connections, garbage, HTTP, TLS, half a hello, and a hello with a wrong proof precede the node."""
        alone = self.seconds_of_a_job()
        self.node(0, "-v", "true")
        self.assertTrue(wait_until(self.listens, TIMEOUT))
        before = self.memory()
        script = f"""
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
def connect():
    c = socket.create_connection(("{self.bed.addresses()['node1']}", {PORT}))
    c.settimeout(5)
    return c
def say(data):
    c = connect()
    try:
        c.sendall(data)
    except OSError:
        pass
    return c
idle = [connect() for _ in range(1000)]
hello = b"dlaunch\\1" + os.urandom(64)
for data in (b"GET / HTTP/1.1\\r\\n\\r\\n", b"\\x16\\x03\\x01" + bytes(600), hello[:40], os.urandom(1 << 20) * 10):
    idle.append(say(data))
c = say(hello)
answer = b""
while len(answer) < 104:
    answer += c.recv(104)
c.sendall(answer[72:])
assert c.recv(1) == b""
print("said", flush=True)
sys.stdin.read()
"""
        with subprocess.Popen(self.host(2).command(["python3", "-c", script]), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as noise:
            self.assertEqual(noise.stdout.readline(), b"said\n")
            if not SANITIZED:  # asan keeps freed memory
                self.assertLess(self.memory() - before, 1024)
            self.assert_node_connects(alone)

    def seconds_of_a_job(self):
        """The seconds that two nodes take without strangers."""
        self.node(0, "true")
        self.assertTrue(wait_until(self.listens, TIMEOUT))
        start = time.monotonic()
        self.node(1, "true")
        self.assertEqual([code for code, _, _ in self.ends()], [0, 0])
        return time.monotonic() - start

    def assert_node_connects(self, alone):
        """The job runs as fast as without strangers."""
        start = time.monotonic()
        self.node(1, "-v", "true")
        first, second = self.ends()
        self.assertEqual((first[0], second[0]), (0, 0), first[2])
        self.assertLess(time.monotonic() - start, 2 * alone + 1)
        told = [line for line in first[2].splitlines() if "without the job's key" in line]
        self.assertEqual(len(told), 1, first[2])
        self.assertIn("(from 10.77.0.3)", told[0])


class Environments(SameLineCase):
    count = 2

    def test_single_node_is_a_normal_job(self):
        self.on(0, ["--same-line", "-n", "1", "echo", "here"], env={"PET_NNODES": "1", "PET_NODE_RANK": "0"})
        self.assertEqual(self.ends(), [(0, "here\n", "")])

    def test_copies_without_same_line_are_rejected(self):
        """If the environment shows several nodes, each copy would run the whole job."""
        for env, said in (({"PET_NNODES": "2", "PET_NODE_RANK": "1", "PET_MASTER_ADDR": "node1"}, "PET_NNODES=2: 2 nodes start copies of dlaunch"),
                          ({"AWS_BATCH_JOB_NUM_NODES": "3", "AWS_BATCH_JOB_NODE_INDEX": "0"}, "AWS_BATCH_JOB_NUM_NODES=3: 3 nodes start copies of dlaunch")):
            with self.subTest(said):
                done = self.run_dlaunch("-n", 1, "true", env=env)
                self.assert_exit(done, 2)
                self.assertIn(said, done.stderr.decode())
                self.assertIn("--same-line", done.stderr.decode())
                self.assertEqual(self.assert_succeeds("--ignore-resource-manager", "-n", 1, "echo", "alone", env=env), b"alone\n")
                nested = self.assert_succeeds("--ignore-resource-manager", "-n", 1, DLAUNCH, "-n", 1, "echo", "nested", env=env)
                self.assertEqual(nested, b"nested\n")

    def test_ranks_have_the_index_of_their_own_node(self):
        words = [*self.line(), "-N", "1", *sh("echo $DLAUNCH_RANK $JOB_COMPLETION_INDEX $AWS_BATCH_JOB_NODE_INDEX")]
        for node in (1, 0):
            self.on(node, [*words[:1], "--node-rank", node, *words[1:]],
                    env={"JOB_COMPLETION_INDEX": str(node), "AWS_BATCH_JOB_NODE_INDEX": str(node + 5)})
        first, _ = self.ends()
        self.assertEqual((first[0], sorted(first[1].splitlines())), (0, ["0 0 5", "1 1 6"]), first[2])

    def test_dry_run_does_not_wait_for_nodes(self):
        self.on(0, ["--same-line", "--nodes", "2", "--node-rank", "1", "-N", "2", "--dry-run", "true"])
        (code, plan, said), = self.ends()
        self.assertEqual((code, said), (0, ""))
        self.assertIn("the other nodes have not connected", plan)

    def test_variables_of_torchrun_number_the_nodes(self):
        words = ["--same-line", "--key-file", str(self.key_file), "-N", "1", *sh("echo $RANK_ID")]
        for node in (1, 0):
            self.on(node, words, env={"PET_NNODES": "2", "PET_NODE_RANK": str(node), "PET_MASTER_ADDR": "node1", "PET_MASTER_PORT": "29500"})
        first, second = self.ends()
        self.assertEqual((first[0], sorted(first[1].split()), second[0]), (0, ["0", "1"], 0), first[2])

    def test_variables_of_aws_batch_number_the_nodes(self):
        """The index of the main node may differ from 0, and only the other nodes know its address."""
        words = ["--same-line", "--key-file", str(self.key_file), "-N", "1", *sh("echo $RANK_ID $(hostname) $AWS_BATCH_JOB_NODE_INDEX")]
        batch = {"AWS_BATCH_JOB_NUM_NODES": "2", "AWS_BATCH_JOB_MAIN_NODE_INDEX": "1"}
        address = {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": self.bed.addresses()["node1"]}
        for node, own in ((1, {"AWS_BATCH_JOB_NODE_INDEX": "0"} | address), (0, {"AWS_BATCH_JOB_NODE_INDEX": "1"})):
            self.on(node, words, env=batch | own)
        first, second = self.ends()
        self.assertEqual((first[0], sorted(first[1].splitlines()), second[0]), (0, ["0 node1 1", "1 node2 0"], 0), first[2])


class InsideSrun(HostsCase):
    def test_torchrun_line_in_tasks_of_srun_is_one_job(self):
        """Batch scripts start one torchrun per node. The variables of srun number the nodes."""
        link, key, program = self.dir / "torchrun", self.dir / "key", self.dir / "t.py"
        link.symlink_to(DLAUNCH)
        key.touch(0o600)
        key.write_text(KEY)
        program.write_text("import os\nprint(os.environ['RANK'], os.environ['WORLD_SIZE'], os.uname().nodename)\n")
        torchrun = [link, "--key-file", key, "--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=node1:{PORT}", program]
        done = self.run_dlaunch("--env-for", "slurm", "--host", "node1,node2", "-N", 1, *torchrun)
        self.assert_exit(done, 0)
        self.assertEqual(sorted(lines(done.stdout)), ["0 4 node1", "1 4 node1", "2 4 node2", "3 4 node2"])


if __name__ == "__main__":
    main(side_by_side=3)
