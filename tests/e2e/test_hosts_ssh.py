"""Tests connections over ssh: names, addresses, keys, ssh agents, jump hosts, and the messages for failed connections.
"""
import os
import signal
import subprocess
import time

import support
from hosts_case import HostsCase, interrupt, lines, own_lines
from promises import ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, SIGNAL, SILENCE, START, STDIN, promise
from support import wait_until

CONFIG = "/root/.ssh/config"
KNOWN = "/root/.ssh/known_hosts"
LISTENING = " 00000000:0016 00000000:0000 0A "
LISTENER = "import socket as s; l=s.create_server(('0.0.0.0', 22), backlog={backlog}); {then}"


class Ssh(HostsCase):
    count = 3

    def setUp(self):
        super().setUp()
        self.env.pop("SSH_AUTH_SOCK", None)
        self.listeners = []

    def on_head(self, script):
        return self.bed.head.sh(script)

    def configure(self, text):
        """Writes `text` before the testbed's configuration."""
        old = self.on_head(f"cat {CONFIG}")
        self.on_head(f"cat >{CONFIG} <<'END'\n{text}\n{old}\nEND")

    def hostfile(self, *entries):
        (self.dir / "hosts").write_text("\n".join(entries) + "\n")
        return "--hostfile", "hosts"

    def name(self, address, *names):
        with (self.bed.dir / "hosts").open("a") as file:
            file.write(f"{address} {' '.join(names)}\n")

    def host_key(self):
        return self.on_head(f"head -1 {KNOWN}").split(" ", 1)[1].strip()

    def know(self, *names):
        self.on_head(f"echo '{','.join(names)} {self.host_key()}' >>{KNOWN}")

    def names_of(self, *args):
        return sorted(lines(self.assert_succeeds(*args, "uname", "-n")))

    def refused(self, *parts, where=("-H", "node1,node2,node3"), within=9):
        start = time.monotonic()
        result = self.run_dlaunch(*where, "sleep", "1000")
        self.assertLess(time.monotonic() - start, within * (3 if support.SANITIZED else 1))
        self.assert_told(result, 125, *parts)
        return result

    def listen(self, number, then, backlog=5):
        """Replaces the sshd of a host by a listener."""
        host = self.host(number)
        host.kill_sshd()
        self.assertTrue(wait_until(lambda: LISTENING not in host.sh("cat /proc/net/tcp")))
        self.listeners.append(host)
        listener = subprocess.Popen(host.command(["/usr/bin/python3", "-c", LISTENER.format(then=then, backlog=backlog)]))
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        self.assertTrue(wait_until(lambda: LISTENING in host.sh("cat /proc/net/tcp")))

    def tearDown(self):
        for host in self.listeners:
            for pid in host.find("create_server"):
                os.kill(pid, signal.SIGKILL)
        super().tearDown()

    def sshd(self, number, *options):
        """Starts a second sshd on port 2200."""
        host = self.host(number)
        host.sh(f"/usr/sbin/sshd -f {self.bed.dir}/sshd_config -E {host.log} -p 2200 {' '.join(options)}")
        host.wait_for_port(2200)


class Bytes(Ssh):
    @promise(LOSES_NOTHING, mode=STDIN)
    def test_input_and_output_of_2_mb_are_fast(self):
        """A wait must not end only because of a heartbeat."""
        data = os.urandom(1_000_000).hex().encode()
        for _ in range(4):
            start = time.monotonic()
            result = self.run_dlaunch("-H", "node1,node2", "--heartbeat", 60, "sh", "-c", '[ "$DLAUNCH_RANK" != 0 ] || cat', input=data)
            self.assert_exit(result, 0)
            self.assertEqual(result.stdout, data)
            if not support.SANITIZED:
                self.assertLess(time.monotonic() - start, 20)


class Names(Ssh):
    def test_host_name_with_underscores(self):
        self.name(self.host(1).address, "gpu_node_1", "ci-")
        self.know("gpu_node_1")
        self.assertEqual(self.names_of("-H", "gpu_node_1"), ["node1"])

    def test_numeric_address(self):
        address = self.host(2).address
        self.know(address)
        self.assertEqual(self.names_of("-H", address), ["node2"])

    def test_ipv6_address_and_port(self):
        self.on_head("ip addr add fd77::1/64 dev tb-bridge nodad")
        self.host(2).sh("ip addr add fd77::2/64 dev eth0 nodad")
        self.sshd(2, "-o ListenAddress=::")
        self.know("[fd77::2]:2200")
        self.assertEqual(self.names_of(*self.hostfile("[fd77::2] port=2200 slots=1", "node1 slots=1")), ["node1", "node2"])

    @promise(ENDS, mode=START)
    def test_dead_address_is_skipped(self):
        self.name("10.77.9.9", "two")
        self.name(self.host(3).address, "two")
        self.know("two")
        start = time.monotonic()
        self.assertEqual(self.names_of("-H", "two"), ["node3"])
        # The timeout of a connection is 10 s.
        self.assertLess(time.monotonic() - start, 6 * (3 if support.SANITIZED else 1))

    def test_ssh_config_sets_host_names(self):
        self.configure(f"Host first\n HostName node1\nHost odd*\n HostName {self.host(2).address}\n HostKeyAlias node2\n"
                       "Match originalhost third user root\n HostName node3")
        self.assertEqual(self.names_of("-H", "first,oddball,third"), ["node1", "node2", "node3"])

    def test_invalid_ssh_config_is_reported(self):
        self.configure("Port none")
        self.refused("/root/.ssh/config:1", "port")

    def test_unsupported_keyword_is_reported_once(self):
        self.configure("KnownHostsCommand /bin/true")
        result = self.run_dlaunch("-H", "node1,node2", "true")
        self.assert_exit(result, 0)
        said = [line for line in lines(result.stderr) if "knownhostscommand" in line]
        self.assertEqual(said, [f"dlaunch: note: {CONFIG}:1: not supported: knownhostscommand"])


class JumpHosts(Ssh):
    """Hosts that are reached through another host."""

    def came_from(self, number):
        return [line.split(" from ")[1].split()[0] for line in self.host(number).log.read_text().splitlines()
                if "Accepted publickey" in line]

    def test_hostfile_jump_is_used(self):
        self.assertEqual(self.names_of(*self.hostfile("node2 slots=1 jump=node1", "node3 slots=1")), ["node2", "node3"])
        self.assertEqual(self.came_from(2), [self.host(1).address])
        self.assertEqual(self.came_from(3), [self.bed.head.address])

    def test_two_jumps_of_the_ssh_config_are_used(self):
        self.configure("Host node3\n ProxyJump root@node1:22,node2")
        self.assertEqual(self.names_of("-H", "node3"), ["node3"])
        self.assertEqual(self.came_from(3), [self.host(2).address])

    def test_proxy_command_is_used(self):
        self.configure("Host node3\n ProxyCommand ssh -W %h:%p node1")
        out = self.assert_succeeds("-H", "node3:2", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo")
        self.assertEqual(sorted(map(len, lines(out))), [300000, 300000])
        self.assertEqual(self.came_from(3), [self.host(1).address])

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_closed_jump_host_is_reported(self):
        self.host(1).kill_sshd()
        self.refused("node2", "cannot connect through the jump host", "connect to host node1 port 22: Connection refused",
                     where=self.hostfile("node2 slots=1 jump=node1", "node3 slots=1"))

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_closed_host_after_the_jump_is_reported(self):
        self.host(2).kill_sshd()
        self.refused("node2", "cannot connect through the jump host", "Connection refused", where=self.hostfile("node2 slots=1 jump=node1"))

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_failed_proxy_command_is_reported(self):
        self.configure("Host node2\n ProxyCommand echo it went wrong >&2; exit 1")
        self.refused("node2", "it went wrong")

    @promise(ENDS, LEAVES_NOTHING, NAMES_FIRST, mode=START)
    def test_hanging_proxy_command_is_killed(self):
        self.configure("Host node2\n ConnectTimeout 2\n ProxyCommand sh -c 'trap \"\" TERM; sleep 1000'")
        self.refused("node2", "timed out")
        self.assertEqual(self.bed.head.find("sleep"), [])


class Keys(Ssh):
    def agent(self, wrong=0):
        """Starts an ssh-agent with `wrong` other keys before the user's key, and removes the key file."""
        self.env["SSH_AUTH_SOCK"] = "/root/agent"
        self.on_head("ssh-agent -a /root/agent >/dev/null; cd /root/.ssh; mv id_ed25519 right; "
                     f"for n in $(seq {wrong}); do ssh-keygen -q -t ed25519 -N '' -f wrong$n; done; "
                     "export SSH_AUTH_SOCK=/root/agent; ssh-keygen -y -f right >right.pub; "
                     "ssh-add -q $(ls wrong? 2>/dev/null) right; mv right /root/right")

    def test_key_of_the_ssh_agent_is_used(self):
        self.agent()
        self.on_head(f"sed -i /Identit/d {CONFIG}")
        self.assertEqual(self.names_of("-H", "node1,node2,node3"), ["node1", "node2", "node3"])

    def test_agent_with_many_keys_offers_the_configured_key(self):
        self.agent(wrong=8)
        self.configure("Host *\n IdentityFile ~/.ssh/right\n IdentitiesOnly yes")  # only right.pub exists
        self.assertEqual(self.names_of("-H", "node1,node2,node3"), ["node1", "node2", "node3"])

    def test_agent_with_too_many_keys_is_reported(self):
        self.agent(wrong=8)
        self.on_head(f"sed -i /Identit/d {CONFIG}")
        self.refused("node", "log in", "Too many authentication failures")

    @promise(ENDS, mode=(START, SILENCE))
    def test_silent_agent_does_not_block_the_login(self):
        self.env["SSH_AUTH_SOCK"] = "/root/agent"
        self.on_head(f"sed -i /IdentitiesOnly/d {CONFIG}")
        mute = subprocess.Popen(self.bed.head.command(
            ["/usr/bin/python3", "-c", "import socket as s, time; l=s.socket(s.AF_UNIX); l.bind('/root/agent'); l.listen(); "
             "time.sleep(1000)"]))
        self.addCleanup(mute.wait)
        self.addCleanup(mute.kill)
        self.assertTrue(wait_until(lambda: self.bed.head.run(["test", "-S", "/root/agent"]).returncode == 0))
        start = time.monotonic()
        self.assertEqual(self.names_of("-H", "node1,node2,node3"), ["node1", "node2", "node3"])
        self.assertLess(time.monotonic() - start, 14 * (3 if support.SANITIZED else 1))

    def test_key_of_the_hostfile_is_used(self):
        self.on_head("mv /root/.ssh/id_ed25519 /root/elsewhere")
        self.assertEqual(self.names_of(*self.hostfile("node1 slots=1 identity=~/elsewhere")), ["node1"])

    def test_key_with_passphrase_is_reported(self):
        self.on_head("ssh-keygen -q -p -N secret -f /root/.ssh/id_ed25519")
        result = self.refused("node", "cannot log in as root: Permission denied")
        self.assertIn(b"/root/.ssh/id_ed25519 (has a passphrase", result.stderr)

    def test_missing_key_is_reported(self):
        self.on_head("rm /root/.ssh/id_ed25519")
        result = self.refused("node", "Permission denied")
        self.assertIn(b"/root/.ssh/id_ed25519 (not found)", result.stderr)


class HostKeys(Ssh):
    def test_changed_host_key_is_rejected(self):
        self.on_head("cd /root/.ssh && ssh-keygen -q -t ed25519 -N '' -f other && sed -i '/^node2 /d' known_hosts && "
                     "echo \"node2 $(cut -d' ' -f1,2 other.pub)\" >>known_hosts")
        result = self.refused("node2", "host key verification failed", "SHA256:", f"{KNOWN}:3")
        self.assertIn(b"ssh-keygen -f /root/.ssh/known_hosts -R node2", result.stderr)

    def test_revoked_host_key_is_rejected(self):
        self.on_head(f"echo '@revoked * {self.host_key()}' >>{KNOWN}")
        for how in ("strict", "off"):
            self.refused("node", "host key verification failed", "revoked", f"{KNOWN}:4", where=("--host-key", how, "-H", "node2"))

    def test_hashed_host_key_is_found(self):
        self.on_head(f"ssh-keygen -q -H -f {KNOWN} 2>/dev/null")
        self.assertEqual(self.names_of("-H", "node1,node2"), ["node1", "node2"])

    def test_accept_new_writes_all_keys_in_parallel(self):
        key = self.host_key()
        self.on_head(f"rm {KNOWN}*")
        self.assertEqual(self.names_of("--host-key", "accept-new", "-H", "node1,node2,node3"), ["node1", "node2", "node3"])
        self.assertEqual(sorted(self.on_head(f"cat {KNOWN}").splitlines()), [f"node{n} {key}" for n in (1, 2, 3)])
        self.assertEqual(self.on_head(f"stat -c %a {KNOWN}").strip(), "600")

    def test_accept_new_completes_an_unterminated_line(self):
        key = self.host_key()
        self.on_head(f"printf 'node1 {key}' >{KNOWN}")
        self.assertEqual(self.names_of("--host-key", "accept-new", "-H", "node1,node2"), ["node1", "node2"])
        self.assertEqual(self.on_head(f"cat {KNOWN}"), f"node1 {key}\nnode2 {key}\n")

    def test_accept_new_hashes_names(self):
        self.on_head(f"rm {KNOWN}; sed -i '1i HashKnownHosts yes' {CONFIG}")
        self.assertEqual(self.names_of("--host-key", "accept-new", "-H", "node1,node2"), ["node1", "node2"])
        self.assertNotIn("node", self.on_head(f"cat {KNOWN}"))
        self.assertEqual(self.names_of("-H", "node1,node2"), ["node1", "node2"])

    def test_option_host_key_overrides_the_ssh_config(self):
        self.on_head(f"rm {KNOWN}; sed -i s/StrictHostKeyChecking.*/'StrictHostKeyChecking no'/ {CONFIG}")
        self.assertEqual(self.names_of("-H", "node1"), ["node1"])
        self.assertEqual(self.bed.head.run(["test", "-e", KNOWN]).returncode, 1)
        self.refused("node1", "not in known_hosts", where=("--host-key", "strict", "-H", "node1"))

    def test_user_known_hosts_file_and_key_type(self):
        self.host(1).sh("ssh-keygen -q -t rsa -b 2048 -N '' -f /root/rsa")
        self.sshd(1, "-o HostKey=/root/rsa")
        rsa = " ".join(self.host(1).sh("cat /root/rsa.pub").split()[:2])
        self.on_head(f"rm {KNOWN}; echo '[node1]:2200 {rsa}' >/root/mine")
        self.configure("Host *\n UserKnownHostsFile /root/none /root/mine")
        self.assertEqual(self.names_of(*self.hostfile("node1 port=2200 slots=1")), ["node1"])


class Phases(Ssh):
    """The message of each connection phase, and its duration."""

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_closed_port_is_reported(self):
        self.host(2).kill_sshd()
        result = self.refused("node2", "cannot connect to port 22: Connection refused")
        self.assertTrue(own_lines(result.stderr))

    @promise(ENDS, NAMES_FIRST, mode=(START, SILENCE))
    def test_silent_hosts_time_out(self):
        """A silent port, a silent sshd, and a listener with a full queue: in parallel, because each takes its timeout.
        """
        self.configure("Host *\n ConnectTimeout 2")
        self.bed.head.drop_outgoing(self.host(1))
        self.listen(2, "c=l.accept(); l.accept()")
        self.listen(3, "import time; time.sleep(1000)", backlog=0)
        jobs = {name: self.start("-H", name, "sleep", "1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for name in ("node1", "node2", "node3")}
        what = {"node1": "cannot connect to port 22", "node2": "ssh handshake failed on port 22", "node3": "port 22"}
        for name, job in jobs.items():
            result, took = self.finish(job, 15)
            self.assertLess(took, 8)
            self.assert_told(result, 125, name, what[name], "timed out")

    def test_sshd_that_closes_the_connection_is_tried_again(self):
        """-v reports the new attempt."""
        self.listen(2, "\nwhile 1: l.accept()[0].close()")
        job = self.start("-v", "-H", "node2", "sleep", "1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        said = next(line for line in job.stderr if b"next attempt in" in line)
        self.assertIn(b"node2: ssh handshake failed on port 22: sshd closed the connection", said)
        interrupt(job)
        self.assert_exit(self.finish(job)[0], 130)

    def test_sshd_that_drops_most_connections_is_tried_again(self):
        self.sshd(2, "-o MaxStartups=2:90:4")
        names = [f"alias{number}" for number in range(16)]
        self.name(self.host(2).address, *names)
        self.know(*names)
        result = self.run_dlaunch(*self.hostfile(*(f"{name} port=2200 slots=1" for name in names)), "uname", "-n")
        self.assert_exit(result, 0)
        self.assertEqual(lines(result.stdout), ["node2"] * len(names))

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_server_that_is_not_sshd_times_out(self):
        self.listen(2, "c=l.accept()[0]; c.sendall(b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n' * 100); l.accept()")
        self.configure("Host *\n ConnectTimeout 2")
        self.refused("node2", "ssh handshake failed on port 22: timed out", where=("-H", "node2"))

    @promise(ENDS, NAMES_FIRST, mode=START)
    def test_sshd_without_sessions_is_reported(self):
        self.sshd(2, "-o MaxSessions=0")
        self.refused("node2", "cannot start a shell on the host", where=self.hostfile("node2 port=2200 slots=1"))

    @promise(ENDS, mode=(START, SIGNAL))
    def test_interrupt_ends_pending_connections(self):
        """During a name lookup, a connection attempt, and a handshake."""
        self.configure("Host *\n ConnectTimeout 60")  # two hosts are still pending when the third is connected
        self.listen(2, "c=l.accept(); l.accept()")
        self.bed.head.drop_outgoing(self.host(3))
        job = self.start("-H", "node1,node2,node3", "sleep", "1000", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.assertTrue(wait_until(self.connects))
        self.assertTrue(wait_until(lambda: self.host(1).find("dlaunch-agent")))
        interrupt(job)
        result, took = self.finish(job)
        self.assertLess(took, 6)
        self.assert_exit(result, 130)


if __name__ == "__main__":
    support.main()
