"""Tests one job on several hosts, each with a real sshd and an empty home: ranks, output, failures."""
import os
import pathlib
import re
import signal
import subprocess
import time

import support
from hosts_case import AGENTS, HostsCase, interrupt, lines
import processes  # of the testbed, by hosts_case's path
from promises import (COMMAND, ENDS, FAILURE, FILES, KILL, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, RUN,
                      SIGNAL, SILENCE, START, STDIN, promise)
from support import kill_together, oldest_first, program, wait_until

TRAIN = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train.py"


class Ranks(HostsCase):
    count = 4

    def test_ranks_have_numbers_and_host_names(self):
        result = self.run_dlaunch("-H", "node1:2,node2:1,node3:2", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n) $DLAUNCH_HOST '
                                  '$DLAUNCH_NODE_RANK $DLAUNCH_LOCAL_RANK $DLAUNCH_LOCAL_SIZE $DLAUNCH_SIZE $PWD"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [
            f"{rank} {host} {host} {node} {local} {size} 5 {self.dir}"
            for rank, host, node, local, size in ((0, "node1", 0, 0, 2), (1, "node1", 0, 1, 2), (2, "node2", 1, 0, 1),
                                                  (3, "node3", 2, 0, 2), (4, "node3", 2, 1, 2))])

    def test_hostfile_names_the_hosts(self):
        (self.dir / "hosts").write_text("# mine\nnode2 slots=2\nnode[3-4] slots=1\n")
        result = self.run_dlaunch("--hostfile", "hosts", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n)"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["0 node2", "1 node2", "2 node3", "3 node4"])

    def test_programs_have_their_own_hosts(self):
        say = ["sh", "-c", 'echo "$0 $DLAUNCH_RANK $(uname -n)"']
        result = self.run_dlaunch("-H", "node1,node2", *say, "a", ":", "-H", "node3,node1", *say, "b")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["a 0 node1", "a 1 node2", "b 2 node3", "b 3 node1"])

    def test_rankfile_binds_on_each_host(self):
        cpu = min(os.sched_getaffinity(0))
        (self.dir / "ranks").write_text(f"rank 0=node3 slot=p{cpu}\nrank 1=node1 slot=*\nrank 2=+n2 slot=0:0\n")
        result = self.run_dlaunch("-H", "node1,node2,node3:2", "--rankfile", "ranks", "--report-bindings", "--label",
                                  program("affinity"))
        self.assert_exit(result, 0)
        printed = dict(re.findall(r"^\[(\d)\] ([\d,-]+)$", result.stdout.decode(), re.M))
        said = re.findall(r"^dlaunch: rank (\d) on (node\d), .*: CPUs ([\d,-]+)$", result.stderr.decode(), re.M)
        self.assertEqual([host for _, host, _ in said], ["node3", "node1", "node3"])
        self.assertEqual({rank: cpus for rank, _, cpus in said}, printed)
        self.assertEqual(printed["0"], str(cpu))
        (self.dir / "ranks").write_text("rank 0=node1 slot=*\nrank 1=node2 slot=9999\n")
        result = self.run_dlaunch("-H", "node1,node2", "--rankfile", "ranks", "sleep", "1000")
        self.assert_told(result, 126, "rank 1 (host node2", "slot=9999", 'unknown core "9999"')

    @promise(LOSES_NOTHING, mode=RUN)
    def test_output_is_complete_and_labelled(self):
        script = 'i=0; while [ $i -lt 20000 ]; do echo "line $i of $DLAUNCH_RANK"; i=$((i + 1)); done; printf "no end $DLAUNCH_RANK"'
        result = self.run_dlaunch("--label", "-H", "node1:2,node2:2", "sh", "-c", script)
        self.assert_exit(result, 0)
        seen = {}
        for line in lines(result.stdout):
            label, text = line.split(":", 1) if ":" in line else line.split("]", 1)
            seen.setdefault(label, []).append(text.strip())
        self.assertEqual(len(seen), 4, list(seen)[:8])
        for label, texts in seen.items():
            rank = texts[0].rsplit(" ", 1)[1]
            self.assertIn(rank, label)
            self.assertEqual(texts, [f"line {i} of {rank}" for i in range(20000)] + [f"no end {rank}"])

    @promise(LOSES_NOTHING, mode=FILES)
    def test_output_files_are_local(self):
        result = self.run_dlaunch("-H", "node1:2,node2:2", "--output-filename", "logs", "--merge-stderr-to-stdout",
                                  "sh", "-c", 'echo "out $DLAUNCH_RANK"; echo "err $DLAUNCH_RANK" >&2')
        self.assert_exit(result, 0)
        texts = sorted(path.read_text() for path in (self.dir / "logs").rglob("*") if path.is_file())
        self.assertEqual(texts, [f"out {rank}\nerr {rank}\n" for rank in range(4)])

    @promise(LOSES_NOTHING, mode=STDIN)
    def test_stdin_is_sent_to_rank_0(self):
        data = os.urandom(300_000).hex().encode()
        result = self.run_dlaunch("-H", "node1,node2", "sh", "-c", '[ "$DLAUNCH_RANK" != 0 ] || cat', input=data)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, data)

    @promise(ENDS, NAMES_FIRST, mode=FAILURE)
    def test_first_failed_rank_ends_the_job(self):
        result = self.run_dlaunch("-H", "node1:2,node2:2", "sh", "-c", '[ "$DLAUNCH_RANK" != 3 ] || exit 7; exec sleep 1000')
        self.assert_told(result, 7, "rank 3 (host node2")


class Training(HostsCase):
    count = 4

    def agents_seen(self):
        return [self.host(number).sh(f"find {AGENTS} -type f -printf '%p %i %T@\n'") for number in range(1, 5)]

    @promise(ONLY_SSHD, mode=RUN)
    def test_training_runs_on_hosts_with_empty_homes(self):
        (self.dir / "hosts").write_text("node[1-4] slots=4\n")
        (self.dir / "train.py").write_bytes(TRAIN.read_bytes())
        command = ("-n", 16, "--hostfile", "hosts", "--output-filename", "logs", "--merge-stderr-to-stdout",
                   "/usr/bin/python3", "train.py", "--epochs", "1")
        self.assertEqual(self.agents(1), [])
        self.assert_exit(self.run_dlaunch(*command), 0)
        uploaded = self.agents_seen()
        logs = sorted((self.dir / "logs").rglob("stdout"))
        self.assertEqual(len(logs), 16)
        for log in logs:
            self.assertIn("done: ", log.read_text())
        self.assert_exit(self.run_dlaunch(*command), 0)
        self.assertEqual(self.agents_seen(), uploaded, "the second run uploaded again")


class Exec(HostsCase):
    """--exec accepts any command that connects a stream to a shell on the host."""

    def test_exec_runs_the_users_ssh(self):
        out = self.assert_succeeds("--exec", "ssh -o BatchMode=yes {host}", "-H", "node1,node2", "uname", "-n")
        self.assertEqual(sorted(lines(out)), ["node1", "node2"])

    @promise(ONLY_SSHD, mode=RUN, place=COMMAND)
    def test_exec_works_without_network(self):
        first = " ".join(self.host(1).command([])).replace(str(self.host(1).pid), "$(cat {host}.pid)", 1)
        for host in self.bed.hosts.values():
            (self.dir / f"{host.name}.pid").write_text(f"{host.pid}\n")
            host.kill_sshd()
        result = self.run_dlaunch("--exec", first, "-H", "node1:2,node2", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n)"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["0 node1", "1 node1", "2 node2"])

    @promise(NAMES_FIRST, mode=START, place=COMMAND)
    def test_missing_exec_command_is_reported(self):
        result = self.run_dlaunch("--exec", "no-such-command {host}", "-H", "node1,node2", "true")
        self.assert_told(result, 125, "node", "no-such-command", "not found")


class Unreachable(HostsCase):
    count = 4

    def refused(self, *parts, hosts="node1,node2,node3", code=125, within=15):
        start = time.monotonic()
        result = self.run_dlaunch("-H", hosts, "sleep", "1000")
        self.assertLess(time.monotonic() - start, within)
        self.assert_told(result, code, *parts)

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_unknown_host_name_is_reported(self):
        self.refused("nowhere", "resolve", hosts="node1,nowhere,node3")

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_closed_port_is_reported(self):
        self.host(2).kill_sshd()
        self.refused("node2", "refused")

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_rejected_key_is_reported(self):
        config = self.bed.dir / "none"
        config.write_text("")
        self.host(2).sh(f"mount --bind {config} {self.bed.dir}/authorized_keys")
        self.refused("node2", "Permission denied")

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_changed_host_key_is_reported(self):
        self.bed.head.sh("cd /root/.ssh && ssh-keygen -q -t ed25519 -N '' -f other && sed -i '/^node2 /d' known_hosts && "
                         "echo \"node2 $(cut -d' ' -f1,2 other.pub)\" >>known_hosts")
        self.refused("node2", "ost key verification failed")

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_unknown_host_key_is_reported(self):
        self.bed.head.sh("sed -i '/^node2 /d' /root/.ssh/known_hosts")
        self.refused("node2", "ost key verification failed")

    def test_unknown_host_key_is_accepted_with_accept_new(self):
        self.bed.head.sh("sed -i '/^node2 /d' /root/.ssh/known_hosts")
        for _ in range(2):
            result = self.run_dlaunch("--host-key", "accept-new", "-H", "node1,node2", "true")
            self.assert_exit(result, 0)
        self.assertEqual(self.bed.head.run(["ssh-keygen", "-F", "node2"]).returncode, 0)

    @promise(ENDS, LEAVES_NOTHING, mode=(START, SIGNAL))
    def test_interrupt_ends_a_pending_connection(self):
        # The connection is still pending when the other hosts are connected.
        self.bed.head.sh("echo ' ConnectTimeout 60' >>/root/.ssh/config")
        self.bed.head.drop_outgoing(self.host(2))
        job = self.start("-H", "node1,node2,node3", "sleep", "1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.assertTrue(wait_until(self.connects))
        self.assertTrue(wait_until(lambda: self.host(1).find("dlaunch-agent") and self.host(3).find("dlaunch-agent")))
        interrupt(job)
        result, took = self.finish(job)
        self.assertLess(took, 6)
        self.assert_exit(result, 130)
        self.assertEqual(self.bed.head.find("ssh "), [])

    @promise(ENDS, NAMES_FIRST, mode=(START, SILENCE))
    def test_silent_and_powered_off_hosts_are_reported(self):
        """In parallel, because each takes the 10 s of a connection, or the kernel's 3 s."""
        self.bed.head.drop_outgoing(self.host(2))
        self.host(4).link_down()
        self.host(3).kill_sshd()
        listener = subprocess.Popen(self.host(3).command(
            ["/usr/bin/python3", "-c", "import socket as s; l=s.create_server(('0.0.0.0', 22)); c=l.accept(); l.accept()"]))
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        self.assertTrue(wait_until(lambda: ":0016 " in self.host(3).sh("cat /proc/net/tcp")))
        jobs = {name: self.start("-H", f"node1,{name}", "sleep", "1000", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for name in ("node2", "node3", "node4")}
        for name, job in jobs.items():
            result, _ = self.finish(job)
            self.assert_told(result, 125, name, "No route to host" if name == "node4" else "timed out")
        for pid in self.host(3).find("create_server"):
            os.kill(pid, signal.SIGKILL)


class NotStarted(HostsCase):
    count = 4
    hosts = "node1:2,node2:2,node3:2,node4:2"

    @promise(NAMES_FIRST, mode=START)
    def test_missing_directory_on_one_host_is_reported(self):
        empty = self.bed.dir / "empty"
        empty.mkdir()
        self.host(3).sh(f"mount --bind {empty} {self.dir}")
        here = self.dir / "here"
        here.mkdir()
        result = self.run_dlaunch("-H", self.hosts, "sleep", "1000", cwd=here)
        self.assert_told(result, 127, "node3", str(here))

    @promise(NAMES_FIRST, mode=START)
    def test_missing_program_on_one_host_is_reported(self):
        program = self.bed.dir / "program"
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
        for number in (1, 2, 4):
            self.host(number).sh(f"cp {program} /root/program")
        result = self.run_dlaunch("-H", self.hosts, "/root/program")
        self.assert_told(result, 127, "node3", "/root/program")


class Lost(HostsCase):
    @promise(ENDS, NAMES_FIRST, mode=KILL)
    def test_killed_sshd_ends_the_job(self):
        job = self.sleepers(["node1", "node2"])
        self.host(2).kill_sshd()
        result, _ = self.finish(job)
        self.assert_told(result, 125, "node2", "the ssh connection was lost")  # it was not lost for its silence

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=KILL)
    def test_killed_agent_ends_the_job(self):
        """Kills either process of the agent, and both."""
        for killed in (slice(0, 1), slice(1, 2), slice(0, 2)):
            with self.subTest(killed=killed):
                job = self.sleepers(["node1", "node2"], ranks=2)
                kill_together(*oldest_first(self.host(2).find("dlaunch-agent"))[killed])
                result, took = self.finish(job)
                self.assertLess(took, 12)  # a silent host is lost after 15 s
                self.assert_told(result, 125, "node2")
                self.assert_hosts_clean(within=5)

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_killed_launcher_leaves_no_process(self):
        job = self.sleepers(["node1", "node2"], ranks=2)
        job.kill()
        self.finish(job)
        self.assert_hosts_clean(within=10)
        self.assertEqual(self.bed.head.strangers(), {})

    @promise(LEAVES_NOTHING, mode=KILL)
    def test_ranks_that_ignore_signals_end_with_a_killed_launcher(self):
        job = self.start("-H", "node1,node2", "sh", "-c", "trap '' TERM INT HUP PIPE; echo up; while :; do sleep 1; done",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual([job.stdout.readline() for _ in range(2)], [b"up\n"] * 2)
        job.kill()
        self.finish(job)
        self.assert_hosts_clean(within=10)

    @promise(ENDS, LEAVES_NOTHING, mode=SIGNAL)
    def test_interrupt_ends_the_job(self):
        job = self.sleepers(["node1", "node2"], ranks=2)
        interrupt(job)
        result, took = self.finish(job)
        self.assert_exit(result, 130)
        self.assertLess(took, 3)
        self.assertEqual(self.bed.head.find("ssh "), [])


class Suspended(HostsCase):
    count = 4

    def states(self):
        """The state of each rank, as ps prints it."""
        ranks = [pid for number in range(1, self.count + 1) for pid in self.host(number).find("sleep 1000")]
        return [processes.state_of(pid) for pid in ranks]

    def test_suspended_job_stops_and_continues_on_all_hosts(self):
        """The launcher sends the request to the hosts before it stops its own threads."""
        job = self.sleepers([f"node{number}" for number in range(1, self.count + 1)])
        for _ in range(5):
            job.send_signal(signal.SIGTSTP)
            self.assertTrue(wait_until(lambda: processes.state_of(job.pid) == "T"))
            self.assertTrue(wait_until(lambda: self.states() == ["T"] * self.count, 3), self.states())
            job.send_signal(signal.SIGCONT)
            self.assertTrue(wait_until(lambda: self.states() == ["S"] * self.count, 3), self.states())
        interrupt(job)
        self.assert_exit(self.finish(job)[0], 130)


if __name__ == "__main__":
    support.main(side_by_side=2)
