"""Tests programs that not even SIGKILL ends, because their disk does not answer: no process waits for them."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))
import namespaces  # noqa: E402
import support  # noqa: E402
from promises import BAD_DISK, COMMAND, DEADLINE, ENDS, QUERY, SIGNAL, SSH, STAGING, START, promise  # noqa: E402
from support import Case, wait_until  # noqa: E402

SIZE = "16M"


class Stuck(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.dir / "disk"
        self.freeze_a_disk()
        self.stuck = f"echo x >{self.disk}/file"

    def freeze_a_disk(self):
        if os.geteuid() != 0:
            self.skipTest("a disk that does not answer needs root")
        if not all(map(shutil.which, ("mkfs.ext4", "mount", "fsfreeze"))):
            self.skipTest("a disk that does not answer needs mount, fsfreeze and mkfs.ext4")
        self.disk.mkdir()
        image = self.dir / "image"
        for command in (["truncate", "-s", SIZE, image], ["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, self.disk]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                self.skipTest(f"no disk can be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=False)
        subprocess.run(["fsfreeze", "-f", self.disk], check=True)
        self.addCleanup(self.thaw)

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.disk], capture_output=True, check=False)
        self.assert_nothing_left()

    def tearDown(self):
        self.thaw()
        self.assert_no_reports()

    def timed(self, *args, **options):
        start = time.monotonic()
        return self.run_dlaunch(*args, **options), time.monotonic() - start

    @promise(ENDS, mode=(BAD_DISK, SIGNAL), place=COMMAND)
    def test_command_of_exec_does_not_block_the_end(self):
        """The host is never reached. The signal ends the job, although the command does not end."""
        job = self.start("--exec", f"sh -c '{self.stuck}' {{host}}", "-H", "node1", "true", stderr=subprocess.PIPE)
        with job:
            # Not dlaunch itself, whose command line contains this text with a quote, and which may wait for a disk at
            # its start.
            self.assertTrue(wait_until(lambda: self.states(f"sh -c {self.stuck}").count("D") == 1))
            start = time.monotonic()
            job.send_signal(signal.SIGTERM)
            said = job.communicate(timeout=10)[1]
            self.assertLess(time.monotonic() - start, 5)
            self.assertEqual(job.returncode, 143, said)
            self.assertRegex(said, rb"node1: the transport's command, pid \d+, did not end after SIGKILL")

    @promise(ENDS, mode=(BAD_DISK, START), place=SSH)
    def test_proxy_command_does_not_block_the_end(self):
        home = self.dir / "home"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "config").write_text(f"Host *\n  ProxyCommand {self.stuck}\n  ConnectTimeout 2\n")

        def at_home():
            namespaces.unshare(namespaces.NEWNS)
            namespaces.keep_mounts_private()
            namespaces.bind(home, os.path.expanduser("~root"))

        result, took = self.timed("-v", "-H", "node1", "true", preexec_fn=at_home)
        self.assert_exit(result, 125)
        self.assertLess(took, 8)
        self.assertRegex(result.stderr, rb"the proxy command, pid \d+, did not end after SIGKILL")

    @promise(ENDS, mode=(BAD_DISK, QUERY))
    def test_hanging_tool_does_not_block_ranktable(self):
        tools = self.dir / "bin"
        tools.mkdir()
        (tools / "hccn_tool").write_text(f"#!/bin/sh\n{self.stuck}\n")
        (tools / "hccn_tool").chmod(0o755)
        result, took = self.timed("ranktable", "make", "--device_num", "0-3", "-o", "table.json",
                                  env={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"hccn_tool: timed out", result.stderr)
        self.assertLess(took, 20)

    @promise(ENDS, mode=(BAD_DISK, DEADLINE))
    def test_hanging_rank_does_not_block_the_end(self):
        """The rank is given up and named. The agent ends when the disk answers."""
        result, took = self.timed("-n", 2, "--grace", 1, "--timeout", 1, *support.sh(self.stuck))
        self.assert_exit(result, 124)
        self.assertLess(took, 25)
        self.assertIn(b"did not end after SIGKILL", result.stderr)

    @promise(ENDS, mode=(BAD_DISK, STAGING, DEADLINE))
    def test_new_rank_directories_do_not_block_the_end(self):
        self.assert_rank_directories_named()

    @promise(ENDS, mode=(BAD_DISK, STAGING, DEADLINE))
    def test_emptied_rank_directories_do_not_block_the_end(self):
        self.make_rank_directories("touch", "old")
        self.assert_rank_directories_named()

    @promise(ENDS, mode=(BAD_DISK, STAGING, DEADLINE))
    def test_staged_files_do_not_block_the_end(self):
        self.make_rank_directories("true")
        (self.dir / "staged").touch()
        self.assert_rank_directories_named("--stage", "staged")

    def make_rank_directories(self, *command):
        self.thaw()
        self.assert_exit(self.run_dlaunch("-n", 2, "--rank-dir", self.disk / "{rank}", *command), 0)
        subprocess.run(["fsfreeze", "-f", self.disk], check=True)

    def assert_rank_directories_named(self, *options):
        """The process that works on the directories is given up and named, with its host and the path."""
        result, took = self.timed("-n", 2, "--grace", 1, "--timeout", 1, "--rank-dir", self.disk / "{rank}", *options,
                                  "true")
        self.assert_exit(result, 124)
        self.assertRegex(result.stderr.decode(),
                         r"processes may be left: \S+: pid \d+ \(dlaunch-files\), state D: the process stays on this host until "
                         rf"the disk of {self.disk}/0 answers")
        self.assertLess(took, 11)

    def states(self, part):
        """The states of this test's processes whose command line contains `part`, as ps prints them."""
        found = []
        for pid in self.find(part):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                found.append(stat.read().rpartition(")")[2].split()[0])
        return found


if __name__ == "__main__":
    support.main(side_by_side=3)
