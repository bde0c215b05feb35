"""A virtual machine with a Debian kernel for arm64 (qemu-system-aarch64), to run tests that an emulator of user programs
cannot run. Its root is in memory, made of Debian packages; the checkout is visible at its own path, read-only. Only
loopback connects to it: a port of this machine leads to its sshd, and it cannot connect to anything.

The packages and the root stay in build/arm64-vm. apt checks the hashes of the packages."""
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
CACHE = CHECKOUT / "build/arm64-vm"
PACKAGES = """linux-image-arm64 base-files base-passwd bash coreutils dash diffutils findutils gawk grep hostname iproute2 kmod
 libc-bin libnettle8 libhwloc15 libre2-9 libsodium23 libstdc++6 mount openssh-server procps python3 sed tar util-linux""".split()
UNUSED = "perl debconf initramfs-tools udev systemd klibc".split()  # requirements of packages, not of the tests
MODULES = "virtio virtio_ring virtio_pci virtio_pci_modern_dev virtio_pci_legacy_dev virtio_net net_failover failover 9p 9pnet 9pnet_virtio netfs fscache".split()
CPUS = 2
MEMORY = "4G"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def apt(*words):
    """apt-get as on an arm64 machine without packages."""
    for name in ("partial", "lists"):
        (CACHE / "archives" / name).mkdir(parents=True, exist_ok=True)
    options = {"APT::Architecture": "arm64", "APT::Architectures::": "arm64", "Dir::State::status": "/dev/null",
               "Dir::Cache::archives": CACHE / "archives", "Debug::NoLocking": "1"}
    return run("apt-get", "-q=2", "--no-install-recommends", *(f"-o{name}={value}" for name, value in options.items()),
               *words, *PACKAGES, capture_output=True, text=True).stdout


def archives():
    """The files of the packages. Downloads missing files."""
    rows = [row.split() for row in apt("install", "--print-uris").splitlines() if row.startswith("'")]
    if rows:
        print(f"==> downloading {len(rows)} packages of arm64", flush=True)
        apt("install", "--download-only", "--yes")
    return sorted((CACHE / "archives").glob("*.deb"))


def kept(member):
    """Whether the root contains the file of a package."""
    if "/modules/" in member:
        return pathlib.Path(member).name.partition(".")[0] in MODULES or "/modules.builtin" in member or "/modules.order" in member
    return not member.startswith(("./usr/share/", "./boot/System", "./boot/config")) or "/base-passwd/" in member


def make_root(root, files):
    for name in ("bin", "sbin", "lib"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "sys", "tmp", "run/sshd", "root/.ssh"):
        (root / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            if file.name.startswith(tuple(UNUSED)):
                continue
            archive, names = pathlib.Path(scratch, "tar"), pathlib.Path(scratch, "names")
            with archive.open("wb") as out:
                run("dpkg-deb", "--fsys-tarfile", file, stdout=out)
            members = run("tar", "-tf", archive, capture_output=True, text=True).stdout.splitlines()
            names.write_text("".join(f"{member}\n" for member in members if not member.endswith("/") and kept(member)))
            run("tar", "-xf", archive, "-C", root, "--keep-directory-symlink", "--verbatim-files-from", "-T", names)
    for name in ("passwd", "group"):
        text = (root / f"usr/share/base-passwd/{name}.master").read_text()
        (root / "etc" / name).write_text(text + {"passwd": "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n", "group": ""}[name])
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 arm\n")
    (root / "etc/hostname").write_text("arm\n")
    shutil.copy(HERE / "init", root / "init")


def pack(directory, out):
    """Writes the files of the directory as an initramfs."""
    run("sh", "-c", "find . | cpio --quiet -o -H newc -R 0:0", cwd=directory, stdout=out)


def kernel_and_root():
    """The files of the kernel and of the root. Makes them if the packages or these sources differ."""
    files = archives()
    own = b"".join((HERE / name).read_bytes() for name in ("vm.py", "init"))
    state = hashlib.sha256(own + b"".join(file.name.encode() for file in files)).hexdigest()
    kernel, root, made = CACHE / "kernel", CACHE / "root.cpio", CACHE / "made"
    if not made.exists() or made.read_text() != state:
        made.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            tree = pathlib.Path(scratch)
            tree.chmod(0o755)
            make_root(tree, files)
            shutil.copy(next((tree / "boot").glob("vmlinuz-*")), kernel)
            shutil.rmtree(tree / "boot")
            with root.open("wb") as out:
                pack(tree, out)
        made.write_text(state)
    return kernel, root


class Machine:
    """A running machine. The directory has `config`, the ssh configuration with its only host, `arm`."""

    def __init__(self, directory):
        self.config = directory / "config"
        self.log = directory / "console"
        kernel, root = kernel_and_root()
        for name in ("key", "host_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", directory / name)
        files = directory / "files"  # a second part of the root
        for name, source in (("root/.ssh/authorized_keys", "key.pub"), ("etc/ssh/ssh_host_ed25519_key", "host_key")):
            (files / name).parent.mkdir(parents=True)
            shutil.copy(directory / source, files / name)
        both = directory / "initrd"
        with both.open("wb") as out:
            out.write(root.read_bytes())
            out.flush()
            pack(files, out)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        host_key = (directory / "host_key.pub").read_text()
        (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
        self.config.write_text(f"Host arm\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {directory}/key\n"
                               f" IdentitiesOnly yes\n UserKnownHostsFile {directory}/known_hosts\n")
        words = ["setpriv", "--pdeathsig", "KILL", "qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", str(CPUS),
                 "-m", MEMORY, "-nographic", "-no-reboot", "-kernel", kernel, "-initrd", both,
                 "-append", f"console=ttyAMA0 rdinit=/init quiet panic=-1 checkout={CHECKOUT} now={int(time.time())}",
                 "-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22", "-device", "virtio-net-pci,netdev=net,romfile=",
                 "-virtfs", f"local,path={CHECKOUT},mount_tag=checkout,security_model=none,readonly=on"]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def wait_until_ready(self, seconds=120):
        end = time.monotonic() + seconds
        while self.ssh("true", capture_output=True).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the machine does not answer:\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.5)

    def ssh(self, command, **options):
        """Runs a shell command in the machine, in the checkout's directory."""
        return subprocess.run(["ssh", "-F", self.config, "-o", "ConnectTimeout=30", "arm", f"cd {CHECKOUT} || exit; {command}"],
                              stdin=subprocess.DEVNULL, check=False, **options)

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def machine():
    with tempfile.TemporaryDirectory(prefix="dlaunch-arm64-") as directory:
        each = Machine(pathlib.Path(directory))
        try:
            each.wait_until_ready()
            yield each
        finally:
            each.stop()
