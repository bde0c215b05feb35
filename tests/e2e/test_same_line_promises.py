"""Tests the five promises (docs/how-it-works.md) with --same-line: each failure on each node, in any order of start."""
import hashlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess

from hosts_case import lines
from manager_case import ROWS, ManagerCase
from mpi_case import hellos
from promises import (BAD_DISK, DEADLINE, ENDS, FAILURE, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD,
                      ORPHANS, READER, RUN, SAME_LINE, SIGNAL, SILENCE, STDIN, promise)
from support import DLAUNCH, TIMEOUT, main, oldest_first, program, sh, wait_until
from test_same_line import KEY, PORT, SameLineCase
from test_torch import DDP, PYTHON, NO_TORCH


class NodesCase(SameLineCase):
    def in_shell(self, script, *words, **options):
        """Starts node 0 by a shell script, in which "$@" is the command line of dlaunch."""
        return self.node(0, *words, before=["sh", "-c", script, "sh", DLAUNCH], **options)

    def assert_codes(self, code):
        """All nodes exit with `code`, and only the first node prints a reason. Returns the end of the first node."""
        ends = self.ends()
        self.assertEqual([end[0] for end in ends], [code] * self.count, ends)
        self.assertEqual([end[1:] for end in ends[1:]], [("", "")] * (self.count - 1))
        self.assert_hosts_clean(5)
        return ends[0]


class Promises(ManagerCase, NodesCase):
    row = ROWS[SAME_LINE]

    def start_there(self, *words, stdin=subprocess.DEVNULL):
        for node in range(self.count - 1, 0, -1):
            self.node(node, "-N", 1, *words)
        return self.node(0, "-N", 1, *words, stdin=stdin)

    def run_there(self, *words, input=None):
        job = self.start_there(*words, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE)
        out, err = job.communicate(input, timeout=self.patience)
        self.assert_same_end(job.returncode)
        return subprocess.CompletedProcess(job.args, job.returncode, out, err)

    def end_there(self, job, code=None):
        done = super().end_there(job, code)
        self.assert_same_end(done.returncode)
        return done

    def others(self):
        """(exit code, stdout, stderr) of the nodes after the first."""
        for node in range(1, self.count):
            out, err = self.jobs[node].communicate(timeout=self.patience)
            yield self.jobs[node].returncode, out, err

    def assert_same_end(self, code):
        """All nodes exit with the same code, and only the first node prints a reason."""
        self.assertEqual(list(self.others()), [(code, b"", b"")] * (self.count - 1))

    def assert_others_end(self, job):
        super().assert_others_end(job)
        for code, out, err in self.others():
            self.assertEqual((code, out), (125, b""), err)
            self.assertIn(b"lost the connection to node 0", err)

    def launchers_of(self, job):
        return self.launchers(0)

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(KILL, ORPHANS))
    def test_host_of_a_killed_agent_is_named(self):
        for node in range(self.count):
            for which in ("guardian", "worker"):
                with self.subTest(node=node, which=which):
                    self.start_all("-N", 1, *sh("setsid sleep 1000 & exec sleep 1000"))
                    self.await_sleepers()
                    guardian, worker = oldest_first(self.host(node + 1).find("dlaunch-agent"))
                    os.kill(guardian if which == "guardian" else worker, signal.SIGKILL)
                    _, _, said = self.assert_codes(125)
                    ended = ("no process with the job's environment or control group is left on node1" if node == 0 else
                             f"dlaunch on node{node + 1} ends the remaining processes there")
                    self.assertIn(ended, said)
                    self.assertIn(f"node{node + 1}: lost the connection to the agent", said)


class Failures(NodesCase):
    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=(FAILURE, ORPHANS))
    def test_failed_rank_on_each_node_is_named(self):
        for node in range(self.count):
            with self.subTest(node=node):
                self.start_all("-N", 1, *sh(f"[ $RANK_ID != {node} ] || {{ echo last words >&2; kill -SEGV $$; }}; setsid sleep 1000 & wait"),
                               order=[(node + i) % self.count for i in range(self.count)])
                _, out, said = self.assert_codes(139)
                self.assertIn("| last words", said)
                self.assertIn(f"rank {node} (host node{node + 1}", said)

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_interrupt_on_each_node_ends_the_job(self):
        for node, number in ((0, signal.SIGINT), (1, signal.SIGINT), (2, signal.SIGINT), (1, signal.SIGHUP)):
            with self.subTest(node=node, signal=number.name):
                self.start_all("-N", 1, "sleep", "1000")
                self.await_sleepers()
                self.kill(node, number)
                _, _, said = self.assert_codes(128 + number)
                self.assertIn("stopped 3 ranks", said)
                self.assertIn(f"interrupted by {number.name}", said)
                if node != 0:
                    self.assertIn(f"node{node + 1} received a termination signal", said)

    @promise(ENDS, LEAVES_NOTHING, mode=DEADLINE)
    def test_timeout_names_running_ranks(self):
        self.start_all("-N", 1, "--timeout", 1, "sleep", "1000")
        self.assertIn("ranks 0-2 were still running", self.assert_codes(124)[2])


class StoppedNodes(NodesCase):
    """Stopped nodes that are not continued: only three missed heartbeats (15 s) reveal them."""

    count = 4

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=SILENCE)
    def test_stopped_nodes_are_named_and_end_once_continued(self):
        """On one node dlaunch is stopped, on another node dlaunch and its agent, at the same time."""
        self.start_all("-N", 1, *sh("setsid sleep 1000 & exec sleep 1000"))
        self.await_sleepers()
        stopped = self.launchers(1) + self.launchers(2) + self.host(3).find("dlaunch-agent")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        (_, said), (_, others) = (self.jobs[node].communicate(timeout=TIMEOUT + 20) for node in (0, 3))
        self.assertEqual([self.jobs[node].poll() for node in range(4)], [125, None, None, 125], said)
        self.assertEqual(others, b"")
        self.assertRegex(said.decode(), r"node(2|3|\[2-3\]): the agent stopped sending heartbeats")
        for name in ("node2", "node3"):
            self.assertRegex(said.decode(), rf"processes may be left: {name}")
        self.assertTrue(wait_until(lambda: not self.host(1).strangers() and not self.host(4).strangers(), TIMEOUT), self.bed.left())
        # A running agent ends its ranks after the same time without messages.
        self.assertTrue(wait_until(lambda: not self.sleepers(1) and not self.host(2).find("dlaunch-agent"), TIMEOUT), self.bed.left())
        self.assertEqual(len(self.sleepers(2)), 2, "what is stopped ends nothing")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        for node in (1, 2):
            self.jobs[node].send_signal(signal.SIGCONT)  # a stopped child stops nsenter, too
            self.assertEqual((self.jobs[node].wait(TIMEOUT), self.jobs[node].stdout.read(), self.jobs[node].stderr.read()), (125, b"", b""))
        self.assert_hosts_clean()


class Streams(NodesCase):
    @promise(LOSES_NOTHING, mode=RUN)
    def test_64_mib_from_one_node_are_complete(self):
        self.start_all("-N", 1, *sh("[ $RANK_ID != 1 ] || yes 0123456789abcdef | head -c 67108864"), order=(1, 2, 0))
        out, err = self.jobs[0].communicate(timeout=120)
        self.assertEqual(len(out), 64 << 20, err)
        expected = hashlib.sha256((b"0123456789abcdef\n" * (1 + (64 << 20) // 17))[:64 << 20])
        self.assertEqual(hashlib.sha256(out).digest(), expected.digest())

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_stdin_reaches_ranks_on_all_nodes(self):
        words = ["-N", 1, "--stdin", "all", *sh("sha256sum")]
        self.in_shell('"$@"', *words, stdin=subprocess.PIPE)
        for node in (2, 1):
            self.node(node, *words)
        data = os.urandom(1 << 20)
        out, err = self.jobs[0].communicate(data, timeout=30)
        self.assertEqual(lines(out), [f"{hashlib.sha256(data).hexdigest()}  -"] * 3, err)

    @promise(ENDS, mode=READER)
    def test_closed_reader_ends_the_job(self):
        self.in_shell('{ "$@"; echo code $? >&2; } | head -2', "-N", 1, "yes")
        for node in (1, 2):
            self.node(node, "-N", 1, "yes")
        first, *others = self.ends()
        self.assertEqual(first, (0, "y\ny\n", "code 141\n"))
        self.assertEqual([end[0] for end in others], [141, 141])

    @promise(ENDS, LEAVES_NOTHING, LOSES_NOTHING, mode=BAD_DISK)
    def test_full_disk_ends_the_job(self):
        self.in_shell('"$@" >/dev/full', "-N", 1, "yes")
        for node in (1, 2):
            self.node(node, "-N", 1, "yes")
        self.assertIn("cannot write stdout: No space left on device", self.assert_codes(1)[2])


class Environments(NodesCase):
    def test_ipv6_addresses_work(self):
        for number in (1, 2, 3):
            self.host(number).sh(f"ip addr add fd00:77::{number}/64 dev eth0 nodad")
        for order, at in (((0, 1, 2), f"[fd00:77::1]:{PORT}"), ((2, 1, 0), "fd00:77::1")):
            with self.subTest(order=order):
                for node in order:
                    self.node(node, "--rendezvous", at, "-N", 1, "--env-for", "torch", *sh("echo $RANK $MASTER_ADDR"))
                _, out, said = self.assert_codes(0)
                self.assertEqual((sorted(out.splitlines()), said), ([f"{rank} fd00:77::1" for rank in range(3)], ""))

    @promise(LEAVES_NOTHING, ONLY_SSHD, mode=(RUN, ORPHANS))
    def test_ordinary_user_without_home(self):
        """The ranks leave a process in another session."""
        nobody = pwd.getpwnam("nobody")
        os.chown(self.key_file, nobody.pw_uid, nobody.pw_gid)
        self.dir.chmod(0o755)
        words = ["-N", 1, *sh("echo $RANK_ID $(id -un); setsid sleep 1000 & exec sleep 0.2")]
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", f"HOME={self.dir}/none"]
        for node in (2, 1, 0):
            self.node(node, *words, before=[*user, DLAUNCH])
        self.assertEqual(sorted(self.assert_codes(0)[1].splitlines()), [f"{rank} nobody" for rank in range(3)])


class Programs(NodesCase):
    def test_mpi_programs_are_one_world(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                if not shutil.which(f"mpicc.{library}"):
                    self.skipTest(f"no mpicc.{library}: scripts/install-packages mpi")
                for _ in range(4):  # MPICH over UCX sometimes hangs in MPI_Finalize, under any launcher (docs/mpi.md)
                    self.start_all("-N", 2, "--timeout", 15, "-x", "UCX_TCP_PUT_ENABLE=n", program(f"{library}/mpi_hello"))
                    code, out, said = self.ends()[0]
                    if code != 124:
                        break
                self.assertEqual(code, 0, said)
                self.assertEqual({rank: found[:2] for rank, found in hellos(out.encode()).items()},
                                 {rank: (6, f"node{rank // 2 + 1}") for rank in range(6)})

    def test_training_runs_through_a_link_named_torchrun(self):
        if NO_TORCH:
            self.skipTest(f"{PYTHON}: {NO_TORCH.splitlines()[-1]}: scripts/install-packages torch")
        link = pathlib.Path(self.dir, "torchrun")
        link.symlink_to(DLAUNCH)
        for node in (1, 0):
            words = ["--nnodes=2", "--nproc-per-node=1", "--master-addr=node1", f"--node-rank={node}", DDP, "--steps", "10"]
            self.on(node, words, env={"DLAUNCH_KEY": KEY, "PYTHON_EXEC": PYTHON}, before=[link])
        first, second = self.ends(120)
        self.assertEqual((first[0], second[:2]), (0, (0, "")), first)
        self.assertIn("loss", first[1])


if __name__ == "__main__":
    main(side_by_side=3)
