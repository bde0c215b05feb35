"""The keys of a testbed, made for each run: the user's key, and one host key for all hosts."""
import pathlib
import subprocess

# The configuration of sshd is the same on each host; only the log differs.
SSHD_CONFIG = """\
ListenAddress 0.0.0.0
HostKey {dir}/host_key
AuthorizedKeysFile {dir}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
PrintMotd no
PrintLastLog no
UseDNS no
MaxStartups 1000
MaxSessions 1000
"""

CLIENT_CONFIG = """\
Host *
  IdentityFile ~/.ssh/id_ed25519
  IdentitiesOnly yes
  StrictHostKeyChecking yes
  HashKnownHosts no
  UpdateHostKeys no
"""


def _generate(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f", str(path)], check=True)
    return pathlib.Path(f"{path}.pub").read_text()


def make(directory, names):
    """Makes everything in `directory` that Host and Head bind or copy."""
    host_key = " ".join(_generate(directory / "host_key").split()[:2])
    (directory / "authorized_keys").write_text(_generate(directory / "user_key"))
    (directory / "known_hosts").write_text("".join(f"{name} {host_key}\n" for name in names))
    (directory / "sshd_config").write_text(SSHD_CONFIG.format(dir=directory))
    (directory / "ssh_config").write_text(CLIENT_CONFIG)
