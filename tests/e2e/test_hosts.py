"""One job on several hosts, each with a real sshd and an empty home: ranks, output, the agent's upload, failures."""
import os
import shutil
import signal
import subprocess
import time

import support
from hosts_case import AGENTS, HostsCase, interrupt, lines
from support import wait_until


class Ranks(HostsCase):
    count = 4

    def test_numbers_and_names(self):
        result = self.run_dlaunch("-H", "node1:2,node2:1,node3:2", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n) $DLAUNCH_HOST '
                                  '$DLAUNCH_NODE_RANK $DLAUNCH_LOCAL_RANK $DLAUNCH_LOCAL_SIZE $DLAUNCH_SIZE $PWD"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [
            f"{rank} {host} {host} {node} {local} {size} 5 {self.dir}"
            for rank, host, node, local, size in ((0, "node1", 0, 0, 2), (1, "node1", 0, 1, 2), (2, "node2", 1, 0, 1),
                                                  (3, "node3", 2, 0, 2), (4, "node3", 2, 1, 2))])

    def test_hostfile(self):
        (self.dir / "hosts").write_text("# mine\nnode2 slots=2\nnode[3-4] slots=1\n")
        result = self.run_dlaunch("--hostfile", "hosts", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n)"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["0 node2", "1 node2", "2 node3", "3 node4"])

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

    def test_output_files(self):
        result = self.run_dlaunch("-H", "node1:2,node2:2", "--output-filename", "logs", "--merge-stderr-to-stdout",
                                  "sh", "-c", 'echo "out $DLAUNCH_RANK"; echo "err $DLAUNCH_RANK" >&2')
        self.assert_exit(result, 0)
        texts = sorted(path.read_text() for path in (self.dir / "logs").rglob("*") if path.is_file())
        self.assertEqual(texts, [f"out {rank}\nerr {rank}\n" for rank in range(4)])

    def test_stdin_goes_to_rank_0(self):
        data = os.urandom(300_000).hex().encode()
        result = self.run_dlaunch("-H", "node1,node2", "sh", "-c", '[ "$DLAUNCH_RANK" != 0 ] || cat', input=data)
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, data)

    def test_first_failing_rank_ends_all(self):
        result = self.run_dlaunch("-H", "node1:2,node2:2", "sh", "-c", '[ "$DLAUNCH_RANK" != 3 ] || exit 7; exec sleep 1000')
        self.assert_told(result, 7, "rank 3 (host node2")


class Agent(HostsCase):
    def test_arrives_once(self):
        self.assert_succeeds("-H", "node1,node2", "true")
        for number in (1, 2):
            [agent] = self.agents(number)
            self.assertRegex(agent, rf"^{AGENTS}/[0-9a-f]{{64}}/dlaunch-agent$")
            self.assertEqual(self.host(number).sh(f"stat -c %a {agent} {os.path.dirname(agent)}").split(), ["700", "700"])
        before = self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'")
        self.assert_succeeds("-H", "node1,node2", "true")
        self.assertEqual(self.host(1).sh(f"find {AGENTS} -printf '%p %i %T@\n'"), before)

    def test_many_jobs_at_once_with_an_empty_home(self):
        jobs = [self.start("-H", "node1", "echo", str(number), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           stdin=subprocess.DEVNULL) for number in range(8)]
        for number, job in enumerate(jobs):
            result, _ = self.finish(job, 60)
            self.assert_exit(result, 0)
            self.assertEqual(result.stdout, f"{number}\n".encode())
        self.assertEqual(len(self.agents(1)), 1)

    def test_noise_of_rc_files(self):
        noise = "head -c 100000 /dev/zero | tr '\\0' 'x'; echo; echo dlaunch: hello"
        self.host(1).sh(f"printf '%s\n' \"{noise}\" \"{noise} >&2\" >/root/.bashrc")
        self.assertEqual(self.assert_succeeds("-H", "node1", "echo", "hi"), b"hi\n")

    def test_home_is_read_only(self):
        self.host(2).sh("mount -o remount,ro /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "read-only", AGENTS)

    def test_home_is_full(self):
        self.host(2).sh("mount -o remount,size=64k /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "full", AGENTS)
        self.assertEqual(self.agents(2), [])

    def test_home_is_noexec(self):
        self.host(2).sh("mount -o remount,noexec /root")
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000")
        self.assert_told(result, 125, "node2", "noexec", AGENTS)


class Exec(HostsCase):
    """Any command that gives a stream to a shell on the host."""

    def test_ssh_by_the_user(self):
        out = self.assert_succeeds("--exec", "ssh -o BatchMode=yes {host}", "-H", "node1,node2", "uname", "-n")
        self.assertEqual(sorted(lines(out)), ["node1", "node2"])

    def test_without_any_network(self):
        first = " ".join(self.host(1).command([])).replace(str(self.host(1).pid), "$(cat {host}.pid)", 1)
        for host in self.bed.hosts.values():
            (self.dir / f"{host.name}.pid").write_text(f"{host.pid}\n")
            host.kill_sshd()
        result = self.run_dlaunch("--exec", first, "-H", "node1:2,node2", "sh", "-c", 'echo "$DLAUNCH_RANK $(uname -n)"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), ["0 node1", "1 node1", "2 node2"])

    def test_command_is_missing(self):
        result = self.run_dlaunch("--exec", "no-such-command {host}", "-H", "node1,node2", "true")
        self.assert_told(result, 125, "node", "no-such-command", "not found")


class Shells(HostsCase):
    shells = {f"node{number}": shell for number, shell in enumerate(
        filter(None, map(shutil.which, ("dash", "zsh", "fish", "tcsh"))), start=1)}
    count = len(shells)

    def test_any_login_shell(self):
        print("login shells:", *self.shells.values(), end=" ", flush=True)
        result = self.run_dlaunch("-H", ",".join(self.shells), "sh", "-c", 'echo "it is $DLAUNCH_RANK"')
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [f"it is {rank}" for rank in range(self.count)])


class Unreachable(HostsCase):
    count = 3

    def refused(self, *parts, hosts="node1,node2,node3", code=125, within=15):
        start = time.monotonic()
        result = self.run_dlaunch("-H", hosts, "sleep", "1000")
        self.assertLess(time.monotonic() - start, within)
        self.assert_told(result, code, *parts)

    def test_unknown_name(self):
        self.refused("nowhere", "resolve", hosts="node1,nowhere,node3")

    def test_port_closed(self):
        self.host(2).kill_sshd()
        self.refused("node2", "refused")

    def test_key_refused(self):
        config = self.bed.dir / "none"
        config.write_text("")
        self.host(2).sh(f"mount --bind {config} {self.bed.dir}/authorized_keys")
        self.refused("node2", "Permission denied")

    def test_host_key_changed(self):
        self.bed.head.sh("cd /root/.ssh && ssh-keygen -q -t ed25519 -N '' -f other && sed -i '/^node2 /d' known_hosts && "
                         "echo \"node2 $(cut -d' ' -f1,2 other.pub)\" >>known_hosts")
        self.refused("node2", "ost key verification failed")

    def test_host_key_unknown(self):
        self.bed.head.sh("sed -i '/^node2 /d' /root/.ssh/known_hosts")
        self.refused("node2", "ost key verification failed")

    def test_host_key_unknown_and_accepted(self):
        self.bed.head.sh("sed -i '/^node2 /d' /root/.ssh/known_hosts")
        for _ in range(2):
            result = self.run_dlaunch("--host-key", "accept-new", "-H", "node1,node2", "true")
            self.assert_exit(result, 0)
        self.assertEqual(self.bed.head.run(["ssh-keygen", "-F", "node2"]).returncode, 0)

    def test_interrupted_while_it_connects_to_a_silent_port(self):
        self.bed.head.drop_outgoing(self.host(2))
        job = self.start("-H", "node1,node2,node3", "sleep", "1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: " 02 " in self.bed.head.sh("cat /proc/net/tcp")))  # SYN_SENT
        time.sleep(0.5)
        interrupt(job)
        result, took = self.finish(job)
        self.assertLess(took, 2)
        self.assert_exit(result, 130)
        self.assertEqual(self.bed.head.find("ssh "), [])

    def test_silent_port_and_silent_sshd(self):
        """Two jobs at once, since each takes the 10 s of a connection."""
        self.bed.head.drop_outgoing(self.host(2))
        self.host(3).kill_sshd()
        listener = subprocess.Popen(self.host(3).command(
            ["/usr/bin/python3", "-c", "import socket as s; l=s.create_server(('0.0.0.0', 22)); c=l.accept(); l.accept()"]))
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        self.assertTrue(wait_until(lambda: ":0016 " in self.host(3).sh("cat /proc/net/tcp")))
        jobs = {name: self.start("-H", f"node1,{name}", "sleep", "1000", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) for name in ("node2", "node3")}
        for name, job in jobs.items():
            result, _ = self.finish(job, 16)
            self.assert_told(result, 125, name, "timed out")
        for pid in self.host(3).find("create_server"):
            os.kill(pid, signal.SIGKILL)

    def test_powered_off(self):
        self.host(2).link_down()
        self.refused("node2", "No route to host")


class NotStarted(HostsCase):
    def test_directory_is_missing_on_one_host(self):
        empty = self.bed.dir / "empty"
        empty.mkdir()
        self.host(2).sh(f"mount --bind {empty} {self.dir}")
        here = self.dir / "here"
        here.mkdir()
        result = self.run_dlaunch("-H", "node1,node2", "sleep", "1000", cwd=here)
        self.assert_told(result, 127, "node2", str(here))

    def test_program_is_missing_on_one_host(self):
        program = self.bed.dir / "program"
        program.write_text("#!/bin/sh\nexec sleep 1000\n")
        program.chmod(0o755)
        self.host(1).sh(f"cp {program} /root/program")
        result = self.run_dlaunch("-H", "node1,node2", "/root/program")
        self.assert_told(result, 127, "node2", "/root/program")


class Lost(HostsCase):
    def test_sshd_is_killed(self):
        job = self.sleepers(["node1", "node2"])
        self.host(2).kill_sshd()
        result, took = self.finish(job)
        self.assertLess(took, 8)
        self.assert_told(result, 125, "node2")

    def test_agent_is_killed(self):
        """Either process of it, and both."""
        for killed in (slice(0, 1), slice(1, 2), slice(0, 2)):
            with self.subTest(killed=killed):
                job = self.sleepers(["node1", "node2"], ranks=2)
                for pid in sorted(self.host(2).find("dlaunch-agent"))[killed]:
                    os.kill(pid, signal.SIGKILL)
                result, took = self.finish(job)
                self.assertLess(took, 8)
                self.assert_told(result, 125, "node2")
                self.assert_hosts_clean(within=5)

    def test_launcher_is_killed(self):
        job = self.sleepers(["node1", "node2"], ranks=2)
        job.kill()
        self.finish(job)
        self.assert_hosts_clean(within=10)
        self.assertEqual(self.bed.head.strangers(), {})

    def test_ranks_that_ignore_signals_do_not_outlive_a_killed_launcher(self):
        job = self.start("-H", "node1,node2", "sh", "-c", "trap '' TERM INT HUP PIPE; echo up; while :; do sleep 1; done",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual([job.stdout.readline() for _ in range(2)], [b"up\n"] * 2)
        job.kill()
        self.finish(job)
        self.assert_hosts_clean(within=10)

    def test_interrupted(self):
        job = self.sleepers(["node1", "node2"], ranks=2)
        interrupt(job)
        result, took = self.finish(job)
        self.assert_exit(result, 130)
        self.assertLess(took, 3)
        self.assertEqual(self.bed.head.find("ssh "), [])


if __name__ == "__main__":
    support.main()
