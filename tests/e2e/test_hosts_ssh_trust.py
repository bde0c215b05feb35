"""Tests that dlaunch is not weaker than OpenSSH in its checks of files, keys, hosts and algorithms. Each test runs
`ssh` with the same files, too: both must reject or both must accept."""
import subprocess

import support
from hosts_case import HostsCase, interrupt, lines
from promises import ENDS, LEAVES_NOTHING, SIGNAL, START, promise
from support import wait_until

CONFIG = "/root/.ssh/config"
KNOWN = "/root/.ssh/known_hosts"
KEY = "/root/.ssh/id_ed25519"
OTHERS = 12345  # the uid of another user


class Trust(HostsCase):
    count = 1

    def setUp(self):
        super().setUp()
        self.env.pop("SSH_AUTH_SOCK", None)

    def on_head(self, script):
        return self.bed.head.sh(script)

    def configure(self, text):
        """Writes `text` before the testbed's configuration."""
        old = self.on_head(f"cat {CONFIG}")
        self.on_head(f"cat >{CONFIG} <<'END'\n{text}\n{old}\nEND")

    def by_ssh(self, *options, host="node1"):
        """Whether OpenSSH's client connects."""
        done = self.bed.head.run(["timeout", "20", "ssh", "-T", "-o", "BatchMode=yes", *options, host, "uname", "-n"],
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
    def test_config_writable_by_others_is_rejected(self):
        self.both_accept()
        self.on_head(f"chmod 602 {CONFIG}")
        self.both_refuse(CONFIG, "bad owner or permissions", "chmod go-w")
        self.on_head(f"chmod 620 {CONFIG}; chgrp {OTHERS} {CONFIG}")
        self.both_refuse(f"Bad owner or permissions on {CONFIG}")  # ssh's own message
        self.on_head(f"chmod 644 {CONFIG}")
        self.both_accept()
        self.on_head(f"chown {OTHERS} {CONFIG}")
        self.both_refuse("bad owner or permissions")

    def test_included_file_writable_by_others_is_rejected(self):
        self.on_head(f"echo '# nothing' >/root/.ssh/more; chmod 600 /root/.ssh/more; sed -i '1i Include more' {CONFIG}")
        self.both_accept()
        self.on_head("chmod 666 /root/.ssh/more")
        self.both_refuse("/root/.ssh/more", "bad owner or permissions")

    def test_key_readable_by_others_is_rejected(self):
        self.on_head(f"chmod 640 {KEY}")
        self.both_refuse("Permission denied", f"{KEY} (readable by other users; run chmod 600)")
        self.on_head(f"chown {OTHERS} {KEY}")  # ssh does not check the key of another user
        self.both_accept()

    def test_key_of_the_hostfile_readable_by_others_is_rejected(self):
        self.on_head(f"cp {KEY} /root/other; chmod 644 /root/other; rm {KEY}")
        (self.dir / "hosts").write_text("node1 slots=1 identity=/root/other\n")
        self.assertFalse(self.by_ssh("-i", "/root/other"))
        self.refused("/root/other (readable by other users", where=("--hostfile", "hosts"))

    def test_known_hosts_writable_by_others_is_accepted(self):
        """ssh does not check its permissions, either."""
        self.on_head(f"chmod 666 {KNOWN}")
        self.both_accept()


class AskedOfSsh(Trust):
    """Configuration that only OpenSSH's client can evaluate."""

    def name(self, *names):
        """Adds known names of the host."""
        with (self.bed.dir / "hosts").open("a") as file:
            file.write(f"{self.host(1).address} {' '.join(names)}\n")
        self.on_head("".join(f"sed -n 's/^node1 /{name} /p' {KNOWN} >/root/line; cat /root/line >>{KNOWN}; " for name in names))

    def times_asked(self):
        return len(self.on_head("cat /root/asked; rm /root/asked").splitlines())

    def test_match_exec_is_evaluated(self):
        for match, flag in (("exec", True), ("!exec", False)):
            with self.subTest(match):
                self.on_head("rm -f /root/flag" if flag else "touch /root/flag")
                self.configure(f'Match {match} "test -e /root/flag"\n Port 2222\nHost *')
                self.both_accept()
                self.on_head("touch /root/flag" if flag else "rm /root/flag")
                self.both_refuse("cannot connect to port 2222")
                self.on_head(f"sed -i 1,3d {CONFIG}")

    def test_hosts_with_the_same_answer_share_one_query(self):
        names = [f"alias{number}" for number in range(6)]
        self.name(*names)
        for what, times in (("x", 1), ("%h", len(names))):
            self.configure(f'Match exec "echo {what} >>/root/asked"\nHost *')
            result = self.run_dlaunch("-H", ",".join(names), "uname", "-n")
            self.assert_exit(result, 0)
            self.assertEqual(lines(result.stdout), ["node1"] * len(names))
            self.assertEqual(self.times_asked(), times)
            self.on_head(f"sed -i 1,2d {CONFIG}")
        self.configure("Match host nowhere exec \"echo >>/root/asked\"\nHost *")
        self.assert_exit(self.run_dlaunch("-H", names[0], "true"), 0)
        self.assertEqual(self.bed.head.run(["test", "-e", "/root/asked"]).returncode, 1)

    @promise(ENDS, LEAVES_NOTHING, mode=START)
    def test_match_exec_command_without_end_times_out(self):
        self.configure('ConnectTimeout 2\nMatch exec "sleep 1000"\nHost *')
        self.refused("ssh -G node1", "timed out after 2 s")
        self.assertTrue(wait_until(lambda: not self.bed.head.find("sleep 1000"), 10))

    @promise(ENDS, LEAVES_NOTHING, mode=(START, SIGNAL))
    def test_interrupt_ends_the_match_exec_command(self):
        self.configure('Match exec "sleep 1000"\nHost *')
        job = self.start("-H", "node1", "true", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.bed.head.find("sleep 1000")))
        interrupt(job)
        result, took = self.finish(job)
        self.assertLess(took, 8)
        self.assert_exit(result, 130)
        self.assertTrue(wait_until(lambda: not self.bed.head.find("sleep 1000")))

    def test_canonical_host_name_is_used(self):
        self.name("short.example.org", "short.example.org.")  # ssh looks up the name with the final dot
        self.configure("CanonicalizeHostname yes\nCanonicalDomains example.org")
        self.assertTrue(self.by_ssh(host="short"))
        result = self.run_dlaunch("-H", "short", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertEqual(lines(result.stdout), ["node1"])

    def test_keyword_that_ssh_rejects_is_rejected(self):
        self.configure("StrictHostKeyCheking yes")
        self.both_refuse("ssh -G node1", "terminating, 1 bad configuration options")
        self.configure("IgnoreUnknown Strict*")
        self.both_accept()

    def test_config_writable_by_its_group_follows_ssh(self):
        """Debian's ssh accepts a file of the owner's own group; other builds of ssh do not."""
        self.on_head(f"chmod 660 {CONFIG}")
        result = self.run_dlaunch("-H", "node1", "uname", "-n")
        self.assertEqual(result.returncode == 0, self.by_ssh(), result.stderr.decode())

    def test_missing_ssh_client_ignores_match_exec(self):
        self.env["PATH"] = "/root/none"
        where = ("-H", "node1")
        self.configure('Match !exec "false"\n Port 2222\nHost *')
        result = self.run_dlaunch(*where, "/usr/bin/uname", "-n")
        self.assert_exit(result, 0)
        self.assertIn(f"{CONFIG}:1: match exec is ignored: only OpenSSH's client can evaluate", result.stderr.decode())
        self.on_head(f"chmod 660 {CONFIG}")
        self.refused("bad owner or permissions")


class HostKeys(Trust):
    def test_known_host_with_a_key_of_another_type_is_rejected(self):
        """A host with a known key is not a new host if it has a key of another type."""
        self.on_head(f"ssh-keygen -q -t rsa -b 2048 -N '' -f /root/rsa; echo \"node1 $(cut -d' ' -f1,2 /root/rsa.pub)\" >{KNOWN}; "
                     f"sed -i s/StrictHostKeyChecking.*/'StrictHostKeyChecking accept-new'/ {CONFIG}")
        self.both_refuse("host key verification failed", f"differs from {KNOWN}:1")


class Revoked(Trust):
    """RevokedHostKeys applies whatever known_hosts and StrictHostKeyChecking contain."""

    def revoke(self, make):
        self.on_head(f"cd /root; cut -d' ' -f2- {KNOWN} | head -1 >host.pub; ssh-keygen -q -t ed25519 -N '' -f other; {make}; "
                     f"sed -i '1i RevokedHostKeys /root/revoked' {CONFIG}")

    def test_key_in_a_list_of_revoked_keys_is_rejected(self):
        self.revoke("{ echo '# some'; cat other.pub host.pub; } >revoked")
        self.both_refuse("host key verification failed", "is revoked by /root/revoked", "SHA256:")
        self.refused("is revoked by /root/revoked", where=("--host-key", "off", "-H", "node1"))

    def test_key_in_a_revocation_list_file_is_rejected(self):
        self.revoke("ssh-keygen -q -k -f revoked host.pub")
        self.both_refuse("is revoked by /root/revoked")
        for kind in ("sha1", "sha256", "hash"):
            with self.subTest(kind):
                of = "$(ssh-keygen -lf host.pub | cut -d' ' -f2)" if kind == "hash" else "$(cat host.pub)"
                self.on_head(f"cd /root; echo \"{kind}: {of}\" >spec; rm revoked; ssh-keygen -q -k -f revoked spec")
                self.both_refuse("is revoked by /root/revoked")

    def test_revocation_of_other_keys_has_no_effect(self):
        self.revoke("cp other.pub revoked")
        self.both_accept()
        self.on_head("cd /root; ssh-keygen -q -k -f revoked other.pub")
        self.both_accept()

    def test_unreadable_revocation_file_rejects_the_host(self):
        self.revoke("ssh-keygen -q -k -f whole other.pub; head -c 60 whole >revoked")
        for make in ("true", "echo no key >revoked", "rm revoked"):
            self.on_head(f"cd /root; {make}")
            self.both_refuse("the host's key may be revoked: /root/revoked: ")

    def test_key_revoked_in_known_hosts_is_rejected(self):
        self.on_head(f"sed -n 's/^node1/@revoked node1/p' {KNOWN} >>{KNOWN}")
        self.both_refuse("is revoked by", KNOWN)


class Logins(Trust):
    """Authentication methods that the host requires."""

    BY_HAND = "run ssh by hand with ControlMaster"

    def agent(self, *keys):
        self.env["SSH_AUTH_SOCK"] = "/root/agent"
        self.on_head(f"ssh-agent -a /root/agent >/dev/null; SSH_AUTH_SOCK=/root/agent ssh-add -q {' '.join(keys)}")

    def test_host_that_requires_more_than_a_key_is_reported(self):
        self.sshd("AuthenticationMethods publickey,keyboard-interactive", "KbdInteractiveAuthentication yes")
        said = self.both_refuse(f"cannot log in as root: {KEY} was accepted; the host also requires keyboard-interactive", self.BY_HAND)
        self.assertNotIn("Permission denied", said)
        self.agent(KEY)
        self.refused("a key of the ssh agent was accepted; the host also requires keyboard-interactive")

    def test_host_that_requires_two_keys(self):
        self.sshd("AuthenticationMethods publickey,publickey")
        self.both_refuse(f"{KEY} was accepted; the host also requires publickey")
        self.on_head(f"ssh-keygen -q -t ed25519 -N '' -f /root/second; cat /root/second.pub >>{self.bed.dir}/authorized_keys; "
                     f"sed -i '1i IdentityFile /root/second' {CONFIG}")
        self.both_accept()
        self.agent("/root/second", KEY)
        self.both_accept()

    def test_host_without_public_keys_is_reported(self):
        self.sshd("PubkeyAuthentication no", "PasswordAuthentication yes", "KbdInteractiveAuthentication yes")
        self.both_refuse("the host does not accept public keys, only password", self.BY_HAND)


class Certificates(Trust):
    """The host trusts a certificate authority, and no key."""

    def setUp(self):
        super().setUp()
        self.on_head(f"cd /root; ssh-keygen -q -t ed25519 -N '' -f authority; ssh-keygen -y -f {KEY} >.ssh/id_ed25519.pub; "
                     f"cp authority.pub {self.bed.dir}/authority.pub")
        self.sshd(f"TrustedUserCAKeys {self.bed.dir}/authority.pub", "AuthorizedKeysFile none")
        self.both_refuse("Permission denied")

    def certify(self, key=f"{KEY}.pub"):
        self.on_head(f"ssh-keygen -q -s /root/authority -I me -n root {key}")

    def test_certificate_next_to_the_key_is_used(self):
        self.certify()
        self.both_accept()

    def test_certificates_of_rsa_and_ecdsa_keys_are_used(self):
        for kind in ("rsa -b 2048", "ecdsa"):
            with self.subTest(kind):
                self.on_head(f"cd /root/.ssh; rm id_ed25519*; ssh-keygen -q -t {kind} -N '' -f id_ed25519")
                self.certify()
                self.both_accept()

    def test_certificate_file_of_the_config_is_used(self):
        self.certify()
        self.on_head(f"mv {KEY}-cert.pub /root/mine; sed -i '1i CertificateFile /root/mine' {CONFIG}")
        self.both_accept()

    def test_missing_certificate_file_is_reported(self):
        self.on_head(f"sed -i '1i CertificateFile /root/mine' {CONFIG}")
        self.both_refuse("Permission denied", "/root/mine (not found)")

    def test_certificate_that_the_host_rejects_is_named(self):
        self.on_head(f"ssh-keygen -q -s /root/authority -I me -n nobody {KEY}.pub")
        self.both_refuse("Permission denied", f"tried: {KEY}-cert.pub, {KEY}")

    def test_certificate_of_the_ssh_agent_is_used(self):
        self.certify()
        Logins.agent(self, KEY)  # the agent loads the certificate, too
        self.on_head(f"rm {KEY} {KEY}-cert.pub; sed -i /Identit/d {CONFIG}")
        self.both_accept_with_agent()

    def test_certificate_of_an_agent_key_is_used(self):
        Logins.agent(self, KEY)
        self.certify()
        self.on_head(f"rm {KEY}")
        self.both_accept_with_agent()

    def both_accept_with_agent(self):
        self.assertTrue(self.by_ssh("-o", "IdentityAgent=/root/agent"), "ssh refuses")
        result = self.run_dlaunch("-H", "node1", "uname", "-n")
        self.assert_exit(result, 0)
        self.assertEqual(lines(result.stdout), ["node1"])


class Algorithms(Trust):
    def test_algorithms_of_the_user_config_are_applied(self):
        self.sshd("Ciphers aes128-ctr", "MACs hmac-sha2-256", "KexAlgorithms ecdh-sha2-nistp256")
        self.both_accept()
        for line in ("Ciphers aes256-ctr", "Ciphers -aes128*", "MACs -hmac-sha2-256,umac*", "KexAlgorithms -ecdh*",
                     "HostKeyAlgorithms rsa-sha2-512"):
            with self.subTest(line):
                self.on_head(f"sed -i '1i {line}' {CONFIG}")
                self.both_refuse("ssh handshake failed", "--exec 'ssh")
                self.on_head(f"sed -i 1d {CONFIG}")

    def test_key_restrictions_of_the_user_config_are_applied(self):
        self.on_head(f"ssh-keygen -q -t rsa -b 2048 -N '' -f /root/rsa; cat /root/rsa.pub >>{self.bed.dir}/authorized_keys; "
                     f"sed -i 's|id_ed25519|/root/rsa|; s|~/.ssh//|/|' {CONFIG}")
        self.both_accept()
        for line in ("RequiredRSASize 3072", "PubkeyAcceptedAlgorithms ssh-ed25519", "PubkeyAuthentication no"):
            with self.subTest(line):
                self.on_head(f"sed -i '1i {line}' {CONFIG}")
                # libssh before 0.10 has no limit for RSA keys
                self.assertRegex(self.both_refuse("node1: "), "cannot log in|Unknown ssh option")
                self.on_head(f"sed -i 1d {CONFIG}")

    def test_algorithms_of_the_system_config_are_applied(self):
        """As on Red Hat: in a separate file, under Match final."""
        self.on_head("mkdir /run/policy; mount --bind /run/policy /etc/ssh; "
                     "printf 'Match final all\\n Include /etc/ssh/policy.config\\n' >/etc/ssh/ssh_config; "
                     "echo 'Ciphers aes256-ctr' >/etc/ssh/policy.config")
        self.sshd("Ciphers aes128-ctr")
        self.both_refuse("ssh handshake failed", "--exec 'ssh")
        self.configure("Ciphers aes128-ctr")
        self.both_accept()

    def test_algorithm_missing_in_libssh_is_reported(self):
        if "sntrup761x25519-sha512@openssh.com" not in self.on_head("ssh -Q kex"):
            self.skipTest("this OpenSSH does not have the algorithm")
        self.configure("KexAlgorithms sntrup761x25519-sha512@openssh.com")
        self.assertTrue(self.by_ssh())
        self.refused(f"{CONFIG}:1", "kexalgorithms", "--exec 'ssh -T {host}'")


if __name__ == "__main__":
    support.main(side_by_side=2)
