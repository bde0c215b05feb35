"""Shared by the end-to-end tests of several hosts: each test has its own testbed and runs dlaunch on the head host."""
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import testbed  # noqa: E402
from promises import SSH  # noqa: E402
from support import TIMEOUT, Case, wait_until  # noqa: E402

WHY_NOT = testbed.why_not()
AGENTS = "/root/.cache/dlaunch"
PATIENCE = 120  # seconds for the actions of a batch system on a slow machine: a limit, not a measurement


def lines(data):
    return data.decode(errors="replace").splitlines()


def own_lines(stderr):
    """The lines that dlaunch printed itself, without notes."""
    return [line for line in lines(stderr) if line.startswith("dlaunch: ") and not line.startswith("dlaunch: note: ")]


class HostsCase(Case):
    place = SSH
    count = 2
    shells = {}
    clean_within = 10  # seconds until all processes of a job must be gone from its hosts

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
        """Starts dlaunch on the head host of the testbed. The pid of the job is the pid of the launcher."""
        then = options.pop("preexec_fn", None)
        enter = self.bed.head.enter(options.get("cwd", self.dir))

        def there():
            enter()
            if then:
                then()

        return super().start(*args, preexec_fn=there, **options)

    def assert_hosts_clean(self, within=None):
        clean = wait_until(lambda: not self.bed.left(), within or self.clean_within, every=0.1)
        # Daemons of a host start processes at any time
        self.assertTrue(clean, f"processes are left on hosts: {self.bed.left()}")

    def files_of_others(self, secret, since):
        """Files on any host, readable by others than the owner, newer than `since`, that contain `secret`."""
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

    def sleepers(self, hosts, *options, ranks=1):
        """A running job of sleeping ranks. Returns after all ranks have printed "up"."""
        names = ",".join(f"{name}:{ranks}" for name in hosts)
        job = self.start("-H", names, *options, "sh", "-c", "echo up; exec sleep 1000", stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(ranks * len(hosts)):
            if job.stdout.readline() != b"up\n":
                job.kill()
                self.fail(job.communicate()[1].decode())
        return job

    def finish(self, job, timeout=TIMEOUT):
        """Waits for the job. Returns a subprocess.CompletedProcess and the seconds that it took."""
        start = time.monotonic()
        out, err = job.communicate(timeout=timeout)
        return subprocess.CompletedProcess(job.args, job.returncode, out, err), time.monotonic() - start

    def assert_told(self, result, code, *parts):
        """The job ended with `code`, and one line of stderr contains all of `parts`."""
        self.assert_exit(result, code)
        said = lines(result.stderr)
        self.assertTrue(any(all(part in line for part in parts) for line in said), f"no {parts} in {said}")

    def assert_tried_again(self, job, why):
        """Waits until a job with -v reports a new attempt."""
        self.assertIn(why, next((line for line in job.stderr if b"next attempt in" in line), b"").decode())

    def connects(self):
        """Whether a connection from the head is unanswered (in state SYN_SENT)."""
        return " 02 " in self.bed.head.sh("cat /proc/net/tcp")

    def agents(self, number):
        """The files in dlaunch's cache on a host, without the markers of complete agents."""
        return self.host(number).sh(f"[ ! -d {AGENTS} ] || find {AGENTS} -type f ! -name checked").split()


def interrupt(job):
    job.send_signal(signal.SIGINT)
