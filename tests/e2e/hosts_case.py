"""What the end-to-end tests of several hosts share: each has a testbed of its own and runs dlaunch on its head."""
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import testbed  # noqa: E402
from support import TIMEOUT, Case, wait_until  # noqa: E402

WHY_NOT = testbed.why_not()
AGENTS = "/root/.cache/dlaunch"
PATIENCE = 120  # seconds for what a resource manager does in its own time, on a slow machine: a limit, and no measure


def lines(data):
    return data.decode(errors="replace").splitlines()


def own_lines(stderr):
    """What dlaunch said that is no note."""
    return [line for line in lines(stderr) if line.startswith("dlaunch: ") and not line.startswith("dlaunch: note: ")]


class HostsCase(Case):
    count = 2
    shells = {}
    clean_within = 10  # seconds that all of a job may take to be gone from its hosts

    def setUp(self):
        if WHY_NOT:
            self.skipTest(WHY_NOT)
        super().setUp()
        self.bed = testbed.Testbed(self.count, self.shells)
        self.addCleanup(self.bed.close)
        self.bed.__enter__()
        self.env["HOME"] = "/root"

    def tearDown(self):
        self.assert_hosts_clean()
        super().tearDown()

    def host(self, number):
        return self.bed[f"node{number}"]

    def start(self, *args, **options):
        """On the testbed's head. Its pid is the launcher's."""
        then = options.pop("preexec_fn", None)
        enter = self.bed.head.enter(options.get("cwd", self.dir))

        def there():
            enter()
            if then:
                then()

        return super().start(*args, preexec_fn=there, **options)

    def assert_hosts_clean(self, within=None):
        clean = wait_until(lambda: not self.bed.left(), within or self.clean_within, every=0.1)
        self.assertTrue(clean, f"processes are left on hosts: {self.bed.left()}")  # daemons of a host start more at any time

    def files_of_others(self, secret, since):
        """Files of any host that others than their owner may read, written since that file was, with these bytes in them."""
        words, control = self.dir / "secret", self.dir / "readable-control"
        words.touch(0o600)
        words.write_bytes(secret)
        control.write_bytes(b"x" + secret)
        control.chmod(0o644)
        places = f"/root /run /dev/shm /var/tmp /tmp '{self.dir}' '{self.bed.dir}'"
        look = f"find {places} -type f -perm /077 -size -16M -newer '{since}' -exec grep -alF -f '{words}' {{}} + 2>/dev/null || true"
        found = {path for host in (self.bed.head, *self.bed.hosts.values()) for path in host.sh(look).splitlines()}
        self.assertIn(str(control), found, "a file that has it is not found")
        control.unlink()
        return sorted(path for path in found if not path.endswith("/readable-control"))

    def sleepers(self, hosts, ranks=1):
        """A running job of ranks that sleep, once all have told that they run."""
        names = ",".join(f"{name}:{ranks}" for name in hosts)
        job = self.start("-H", names, "sh", "-c", "echo up; exec sleep 1000", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(ranks * len(hosts)):
            if job.stdout.readline() != b"up\n":
                job.kill()
                self.fail(job.communicate()[1].decode())
        return job

    def finish(self, job, timeout=TIMEOUT):
        """A subprocess.CompletedProcess and the seconds that it took from now."""
        start = time.monotonic()
        out, err = job.communicate(timeout=timeout)
        return subprocess.CompletedProcess(job.args, job.returncode, out, err), time.monotonic() - start

    def assert_told(self, result, code, *parts):
        """It ended with `code`, and one line that dlaunch said has each of `parts`."""
        self.assert_exit(result, code)
        said = lines(result.stderr)
        self.assertTrue(any(all(part in line for part in parts) for line in said), f"no {parts} in {said}")

    def assert_tried_again(self, job, why):
        """Once a job with -v says that it does."""
        self.assertIn(why, next((line for line in job.stderr if b"trying again" in line), b"").decode())

    def connects(self):
        """Whether a connection from the head has not been answered yet: one in SYN_SENT."""
        return " 02 " in self.bed.head.sh("cat /proc/net/tcp")

    def agents(self, number):
        """The files of dlaunch's cache there, less what says that an agent is whole."""
        return self.host(number).sh(f"[ ! -d {AGENTS} ] || find {AGENTS} -type f ! -name checked").split()


def interrupt(job):
    job.send_signal(signal.SIGINT)
