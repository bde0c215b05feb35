"""Shared by the tests that kill both processes of an agent at once."""
import contextlib
import pathlib
import re
import subprocess

from hosts_case import HostsCase
from support import kill_together, wait_until

# A child in its own session, and a daemon that ignores SIGTERM. Both survive the rank.
DAEMONS = '(trap "" HUP TERM INT; setsid sleep 1000 &); setsid sleep 1000 & echo up; '
LIVES = ["sh", "-c", DAEMONS + "sleep 1000"]
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def environment(pid):
    with contextlib.suppress(OSError):
        return dict(entry.split(b"=", 1) for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if b"=" in entry)
    return {}


class LeftCase(HostsCase):
    def job(self, *args, ranks=2):
        job = self.start("--grace", 1, *args, **PIPES)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        for _ in range(ranks):
            if job.stdout.readline() != b"up\n":
                job.kill()
                self.fail(job.communicate()[1].decode())
        return job

    def kill_agents(self, number, but=()):
        agents = set(self.host(number).find("dlaunch-agent")) - set(but)
        kill_together(*sorted(agents))

    def of_job(self, number, job_id):
        return [pid for pid in self.host(number).strangers() if environment(pid).get(b"DLAUNCH_JOB_ID") == job_id]

    def job_ids(self, number):
        return {environment(pid).get(b"DLAUNCH_JOB_ID") for pid in self.host(number).find("sleep")} - {None}

    def assert_swept(self, job, name):
        result, took = self.finish(job, 30)
        self.assert_told(result, 125, f"no process with the job's environment or control group is left on {name}")
        self.assertNotIn(b"may still run", result.stderr)
        self.assertLess(took, 15)

    def assert_ended_by_the_command(self, result, number):
        """After the link is up again, the command in the last line of stderr ends all processes that the job left on
        the host."""
        said = result.stderr.decode().splitlines()
        command = re.fullmatch(rf"dlaunch: +(echo .* \| ssh node{number} sh)", said[-1])
        self.assertTrue(command, said)
        self.assertNotEqual(self.host(number).find("sleep"), [])
        self.host(number).link_up()
        done = self.bed.head.run(["sh", "-c", command[1]])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(wait_until(lambda: not self.host(number).find("sleep"), 5))
        for host in self.bed.hosts.values():  # the cut connections still wait for TCP to time out
            host.kill_sshd()
