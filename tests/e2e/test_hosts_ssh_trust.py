"""What must not be weaker than OpenSSH: whose files are believed, which keys, hosts and algorithms are taken. Each is asked
of `ssh` itself, too, with the same files: both refuse, or both accept."""
import subprocess

import support
from hosts_case import HostsCase, lines

CONFIG = "/root/.ssh/config"
KNOWN = "/root/.ssh/known_hosts"
KEY = "/root/.ssh/id_ed25519"
OTHERS = 12345  # somebody else's uid


class Trust(HostsCase):
    count = 1

    def setUp(self):
        super().setUp()
        self.env.pop("SSH_AUTH_SOCK", None)

    def on_head(self, script):
        return self.bed.head.sh(script)

    def configure(self, text):
        """In front of what the testbed has there."""
        old = self.on_head(f"cat {CONFIG}")
        self.on_head(f"cat >{CONFIG} <<'END'\n{text}\n{old}\nEND")

    def by_ssh(self, *options):
        """Whether OpenSSH's client gets there."""
        done = self.bed.head.run(["timeout", "20", "ssh", "-T", "-o", "BatchMode=yes", *options, "node1", "uname", "-n"],
                                 stdin=subprocess.DEVNULL)
        return done.returncode == 0 and done.stdout == "node1\n"

    def both_accept(self, *options):
        self.assertTrue(self.by_ssh(), "ssh refuses")
        result = self.run_dlaunch(*options, "-H", "node1", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertEqual(lines(result.stdout), ["node1"])
        return result

    def both_refuse(self, *parts):
        self.assertFalse(self.by_ssh(), "ssh accepts")
        return self.refused(*parts)

    def refused(self, *parts, where=("-H", "node1")):
        result = self.run_dlaunch(*where, "uname", "-n")
        self.assertEqual(lines(result.stdout), [])
        self.assert_exit(result, 125)
        said = result.stderr.decode(errors="replace")
        for part in parts:
            self.assertIn(part, said)
        return said

    def sshd(self, *lines_of_it):
        host = self.host(1)
        host.kill_sshd()
        host.start_sshd(*lines_of_it)


class Files(Trust):
    def test_configuration_that_others_may_write(self):
        self.both_accept()
        for wrong in ("chmod 602", f"chmod 620 {CONFIG}; chgrp 12345"):
            self.on_head(f"{wrong} {CONFIG}")
            self.both_refuse(CONFIG, "bad owner or permissions", "chmod go-w")
        self.on_head(f"chmod 644 {CONFIG}")
        self.both_accept()
        self.on_head(f"chown {OTHERS} {CONFIG}")
        self.both_refuse("bad owner or permissions")

    def test_included_file_that_others_may_write(self):
        self.on_head(f"echo '# nothing' >/root/.ssh/more; chmod 600 /root/.ssh/more; sed -i '1i Include more' {CONFIG}")
        self.both_accept()
        self.on_head("chmod 666 /root/.ssh/more")
        self.both_refuse("/root/.ssh/more", "bad owner or permissions")

    def test_key_that_others_may_read(self):
        self.on_head(f"chmod 640 {KEY}")
        self.both_refuse("Permission denied", f"{KEY} (others may read it; chmod 600 makes it usable)")
        self.on_head(f"chown {OTHERS} {KEY}")  # then it is not ssh's to judge
        self.both_accept()

    def test_key_of_the_host_list_that_others_may_read(self):
        self.on_head(f"cp {KEY} /root/other; chmod 644 /root/other; rm {KEY}")
        (self.dir / "hosts").write_text("node1 slots=1 identity=/root/other\n")
        self.assertFalse(self.by_ssh("-i", "/root/other"))
        self.refused("/root/other (others may read it", where=("--hostfile", "hosts"))

    def test_known_hosts_that_others_may_write(self):
        """As ssh has it, who looks at neither."""
        self.on_head(f"chmod 666 {KNOWN}")
        self.both_accept()


class HostKeys(Trust):
    def test_key_of_another_type(self):
        """A host of which one key is known is not a new one with a key of another type."""
        self.on_head(f"ssh-keygen -q -t rsa -b 2048 -N '' -f /root/rsa; echo \"node1 $(cut -d' ' -f1,2 /root/rsa.pub)\" >{KNOWN}; "
                     f"sed -i s/StrictHostKeyChecking.*/'StrictHostKeyChecking accept-new'/ {CONFIG}")
        self.both_refuse("host key verification failed", f"is not the one at {KNOWN}:1")


class Algorithms(Trust):
    def test_of_the_user(self):
        self.sshd("Ciphers aes128-ctr", "MACs hmac-sha2-256", "KexAlgorithms ecdh-sha2-nistp256")
        self.both_accept()
        for line in ("Ciphers aes256-ctr", "Ciphers -aes128*", "MACs -hmac-sha2-256,umac*", "KexAlgorithms -ecdh*",
                     "HostKeyAlgorithms rsa-sha2-512"):
            with self.subTest(line):
                self.on_head(f"sed -i '1i {line}' {CONFIG}")
                self.both_refuse("no ssh handshake", "--exec 'ssh")
                self.on_head(f"sed -i 1d {CONFIG}")

    def test_of_keys(self):
        self.on_head(f"ssh-keygen -q -t rsa -b 2048 -N '' -f /root/rsa; cat /root/rsa.pub >>{self.bed.dir}/authorized_keys; "
                     f"sed -i 's|id_ed25519|/root/rsa|; s|~/.ssh//|/|' {CONFIG}")
        self.both_accept()
        for line in ("RequiredRSASize 3072", "PubkeyAcceptedAlgorithms ssh-ed25519", "PubkeyAuthentication no"):
            with self.subTest(line):
                self.on_head(f"sed -i '1i {line}' {CONFIG}")
                self.both_refuse("cannot log in")
                self.on_head(f"sed -i 1d {CONFIG}")

    def test_of_the_system(self):
        """As Red Hat's: in a file of its own, under Match final."""
        self.on_head("mkdir /run/policy; mount --bind /run/policy /etc/ssh; "
                     "printf 'Match final all\\n Include /etc/ssh/policy.config\\n' >/etc/ssh/ssh_config; "
                     "echo 'Ciphers aes256-ctr' >/etc/ssh/policy.config")
        self.sshd("Ciphers aes128-ctr")
        self.both_refuse("no ssh handshake", "--exec 'ssh")
        self.configure("Ciphers aes128-ctr")
        self.both_accept()

    def test_that_libssh_does_not_have(self):
        self.configure("KexAlgorithms sntrup761x25519-sha512@openssh.com")
        self.assertTrue(self.by_ssh())
        self.refused(f"{CONFIG}:1", "kexalgorithms", "--exec 'ssh -T {host}'")


if __name__ == "__main__":
    support.main()
