"""Tests --rank-dir, --stage and --save-env: one directory per rank, on this machine and on hosts without the files."""
import os
import pathlib
import shutil
import subprocess
import sys

import support
from hosts_case import HostsCase, lines
from promises import ENDS, FILES, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD, SIGNAL, STAGING, START, promise
from support import Case, sh, wait_until

MARKER = ".dlaunch-rank-dir"


class OneHost(Case):
    def run_in_dirs(self, *args, **options):
        return self.run_dlaunch("-n", 2, "--oversubscribe", "--rank-dir", "device{rank}", *args, **options)

    def files(self, name):
        return sorted(file.name for file in (self.dir / name).iterdir())

    def test_ranks_run_in_their_directories(self):
        result = self.run_in_dirs(*sh("echo $RANK_ID $(pwd) $PWD; touch mine"))
        self.assert_exit(result, 0)
        self.assertEqual(sorted(lines(result.stdout)), [f"{n} {self.dir}/device{n} {self.dir}/device{n}" for n in range(2)])
        self.assertEqual(self.files("device1"), [MARKER, "mine"])

    def test_directories_are_emptied_before_each_job(self):
        for name in ("first", "second"):
            self.assert_exit(self.run_in_dirs("touch", name), 0)
        self.assertEqual(self.files("device0"), [MARKER, "second"])

    def test_directory_of_the_user_is_kept(self):
        (self.dir / "device1").mkdir()
        (self.dir / "device1" / "model.ckpt").write_text("precious")
        result = self.run_in_dirs("true")
        self.assert_exit(result, 125)
        self.assertIn(f"{self.dir}/device1 is not empty, and --rank-dir did not create it", result.stderr.decode())
        self.assertIn("remove it, or set another directory", result.stderr.decode())
        self.assertEqual((self.dir / "device1" / "model.ckpt").read_text(), "precious")
        self.assertFalse((self.dir / "device0").exists())

    @promise(LOSES_NOTHING, mode=STAGING)
    def test_no_directory_is_emptied_if_one_cannot_be_emptied(self):
        self.assert_exit(self.run_in_dirs("touch", "old"), 0)
        disk = self.mount_small_disk()
        (disk / "data").touch()
        place = self.dir / "device1" / "in" / "place"

        def mount(of):
            subprocess.run(["mount", "--bind", of, place], check=True)
            return ["umount", "-l", place]

        def protect(flag):
            done = subprocess.run(["chattr", f"+{flag}", place], stderr=subprocess.DEVNULL)
            return ["chattr", f"-{flag}", place] if done.returncode == 0 else None

        cases = {"mounted directory": (place.mkdir, lambda: mount(disk), "Device or resource busy"),
                 "mounted file": (place.touch, lambda: mount(disk / "data"), "Device or resource busy"),
                 "immutable file": (place.touch, lambda: protect("i"), "Operation not permitted"),
                 "directory for new files only": (place.mkdir, lambda: protect("a"), "Operation not permitted")}
        place.parent.mkdir()
        for name, (make, hinder, why) in cases.items():
            with self.subTest(name):
                make()
                undo = hinder()
                if undo is None:
                    continue  # the file system has no such attributes
                try:
                    result = self.run_in_dirs("true")
                finally:
                    subprocess.run(undo, check=True)
                self.assert_exit(result, 125)
                self.assertIn(f"cannot remove {place}: {why}", result.stderr.decode())
                self.assertEqual((self.files("device0"), self.files("device1")), ([MARKER, "old"], [MARKER, "in", "old"]))
                self.assertTrue((disk / "data").exists())
                place.rmdir() if place.is_dir() else place.unlink()
        self.assert_exit(self.run_in_dirs("touch", "new"), 0)
        self.assertEqual((self.files("device0"), self.files("device1")), ([MARKER, "new"], [MARKER, "new"]))

    def test_directory_of_a_running_job_is_kept(self):
        job = self.start("--rank-dir", "device{rank}", "-n", 1, *sh("echo up; touch mine; exec sleep 1000"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), b"up\n")
        self.assertTrue(wait_until((self.dir / "device0" / "mine").exists))
        result = self.run_in_dirs("true")
        self.assert_exit(result, 125)
        self.assertIn("a running job uses this directory", result.stderr.decode())
        self.assertEqual(self.files("device0"), [MARKER, "mine"])
        job.terminate()
        job.communicate(timeout=support.TIMEOUT)

    def test_directory_is_locked_in_later_rounds(self):
        job = self.start("--rank-dir", "device{rank}", "-n", 1, "--restarts", 1,
                         *sh('[ "$DLAUNCH_ROUND" = 1 ] || exit 3; pwd; touch mine; exec sleep 1000'), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE)
        self.assertEqual(job.stdout.readline().decode(), f"{self.dir}/device0\n")
        result = self.run_dlaunch("-n", 1, "--rank-dir", "device{rank}", "true")
        self.assert_exit(result, 125)
        self.assertIn("a running job uses this directory", result.stderr.decode())
        job.terminate()
        job.communicate(timeout=support.TIMEOUT)

    def test_directory_that_a_rank_removed_is_an_error_in_the_next_round(self):
        for option in ((), ("--save-env",)):
            for then, said in (("rm -r $PWD", f"cannot enter the working directory {self.dir}/device0: No such file"),
                               ("rm -f env.log; mkdir env.log",
                                f"cannot write {self.dir}/device0/env.log: Is a directory" if option else "")):
                with self.subTest(then, option=option):
                    result = self.run_dlaunch("--rank-dir", "device{rank}", "-n", 1, "--restarts", 1, *option,
                                              *sh(f'[ "$DLAUNCH_ROUND" = 1 ] || {{ {then}; exit 3; }}'))
                    self.assertEqual(result.returncode != 0, bool(said), result)
                    self.assertIn(said, result.stderr.decode())
                    self.assertNotIn("PATH", result.stderr.decode())

    @promise(LOSES_NOTHING, mode=(STAGING, FILES))
    def test_logs_in_rank_directories(self):
        for word in ("first", "second"):
            result = self.run_in_dirs("--output-filename", "device{rank}/train.log{rank}", "--merge-stderr-to-stdout",
                                      *sh(f"echo {word} $RANK_ID; touch old"))
            self.assert_exit(result, 0)
            self.assertEqual((self.dir / "device1" / "train.log1").read_text(), f"{word} 1\n")
        result = self.run_in_dirs("--output-filename", "device{rank}/logs/{rank}:nocopy", *sh("echo third"))
        self.assert_exit(result, 0)
        self.assertEqual(self.files("device0"), [MARKER, "logs"])
        self.assertEqual((self.dir / "device0" / "logs" / "0").read_text(), "third\n")

    def test_rank_directory_in_the_log_directory_is_kept_with_the_logs(self):
        for logs, directory in (("logs", "logs/work{rank}"), ("both", "./both/.")):
            for job in range(2):
                result = self.run_dlaunch("--keep-logs", 1, "--output-filename", f"{logs}/", "--rank-dir", directory, "-n", 1, *sh(f"echo {job}; echo {job} >file"))
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"%d\n" % job, b""))
            for job, kept in enumerate((f"{logs}.1", logs)):
                for name in ("file" if logs == "both" else "work0/file", "1/rank.0/stdout"):
                    self.assertEqual((self.dir / kept / name).read_text(), f"{job}\n", (kept, name))

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(STAGING, START, FILES))
    def test_refused_job_keeps_the_logs_with_rank_directories(self):
        """Of two hosts, the first answers before the second is lost."""
        (self.dir / "way").write_text('[ "$1" != bad ] || { sleep 1; exit 1; }; shift; exec "$@"')
        options = ("--keep-logs", 1, "--output-filename", "logs/", "--rank-dir", "logs/work{rank}")
        self.assert_exit(self.run_dlaunch(*options, "-n", 1, "echo", "good"), 0)
        for hosts in ("bad:1", "good:1,bad:1"):
            for number in range(2):
                with self.subTest(hosts, number=number):
                    result = self.run_dlaunch("--exec", f"sh {self.dir}/way {{host}}", "-H", hosts, *options, "echo", "bad")
                    self.assert_exit(result, 125)
                    self.assertIn("cannot use a host: bad: ", result.stderr.decode())
                    self.assertNotIn("its agent was not ready", result.stderr.decode())
                    self.assertEqual(sorted(path.name for path in self.dir.glob("logs*")), ["logs"])
                    self.assertEqual((self.dir / "logs/1/rank.0/stdout").read_text(), "good\n")

    def test_logs_that_cannot_be_renamed_are_reported_once(self):
        (self.dir / "file").touch()
        result = self.run_dlaunch("--keep-logs", 1, "--output-filename", "file/logs", "--rank-dir", "work", "-n", 1, "touch", "ran")
        self.assert_exit(result, 2)
        self.assertEqual(result.stderr.count(b"cannot keep"), 1, result.stderr)
        self.assertFalse((self.dir / "work").exists())

    def test_stage_copies_files(self):
        script = self.dir / "go.sh"
        script.write_text("#!/bin/sh\ncat conf/a.yaml link\n")
        script.chmod(0o755)
        conf = self.dir / "conf"
        conf.mkdir()
        (conf / "a.yaml").write_text("a\n")
        (self.dir / "link").symlink_to("conf/a.yaml")
        result = self.run_in_dirs("--stage", "go.sh,con*", "--stage", "link", "./go.sh")
        self.assert_exit(result, 0)
        self.assertEqual(result.stdout, b"a\n" * 4)
        self.assertFalse((self.dir / "device0" / "link").is_symlink())
        for what, said in (("nothere", "nothere: No such file"), ("*.rs", "not found: no file matches the pattern"),
                           ("link,sub/link", "has the same name as"), (f"{os.devnull}", "neither a file nor a directory")):
            (self.dir / "sub").mkdir(exist_ok=True)
            (self.dir / "sub" / "link").write_text("")
            result = self.run_in_dirs("--stage", what, "touch", "started")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())
        with open(self.dir / "large", "wb") as large:
            large.truncate(257 << 20)
        result = self.run_in_dirs("--stage", "large", "true")
        self.assert_exit(result, 2)
        self.assertIn("more than 256 MiB in total", result.stderr.decode())

    def test_files_that_are_not_staged_are_missing(self):
        (self.dir / "go.sh").write_text("#!/bin/sh\n")
        result = self.run_in_dirs("./go.sh")
        self.assert_exit(result, 127)
        self.assertIn("use --stage to copy the program into the rank's directory", result.stderr.decode())

    def test_save_env_writes_the_environment(self):
        result = self.run_in_dirs("--save-env", "-x", "SECRET=hush", "env")
        self.assert_exit(result, 0)
        saved = self.dir / "device1" / "env.log"
        self.assertEqual(saved.stat().st_mode & 0o777, 0o600)
        self.assertIn("SECRET=hush\n", saved.read_text())
        self.assertIn("RANK_ID=1\n", saved.read_text())
        both = (self.dir / "device0" / "env.log").read_text().splitlines() + saved.read_text().splitlines()
        self.assertEqual(sorted(lines(result.stdout)), sorted(both))

    def test_invalid_options_are_rejected(self):
        for args, said in ((("--stage", "x"), "add --rank-dir"), (("--save-env",), "add --rank-dir"),
                           (("--rank-dir", "d"), "add {rank} to the template"), (("--rank-dir", "{rnk}"), "use {rank}, or another field of:"),
                           (("--rank-dir", ""), "missing directory")):
            result = self.run_dlaunch("-n", 2, *args, "true")
            self.assert_exit(result, 2)
            self.assertIn(said, result.stderr.decode())


class OneHostForAnOrdinaryUser(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("requires root to become another user")
        self.dir.chmod(0o755)
        os.chown(self.dir, 65534, 65534)

    def run_one(self, *command):
        nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        return self.run_dlaunch("-n", 1, "--rank-dir", "d{rank}", *command, before=nobody)

    def test_directory_without_permissions_is_emptied(self):
        for modes in ("chmod 500 .", "chmod 300 .", "chmod 0 .", "chmod -R a-w ."):
            with self.subTest(modes):
                self.assert_exit(self.run_one(*sh(f"touch old; {modes}")), 0)
                self.assert_exit(self.run_one("touch", "new"), 0)
                self.assertEqual(sorted(os.listdir(self.dir / "d0")), [MARKER, "new"])

    def test_entry_that_cannot_be_removed_is_named(self):
        self.assert_exit(self.run_one("true"), 0)
        (self.dir / "d0" / "closed").mkdir(mode=0o700)
        (self.dir / "d0" / "closed" / "file").touch()
        result = self.run_one("true")
        self.assert_exit(result, 125)
        self.assertIn(f"cannot remove {self.dir}/d0/closed: Permission denied", result.stderr.decode())
        self.assertIn("set another directory with --rank-dir", result.stderr.decode())


# Exchanges a directory and a link to a private directory as fast as possible, as another user if root runs the test.
EXCHANGE = """
import ctypes, os, sys, time
directory, link, target = (path.encode() for path in sys.argv[1:])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
library = ctypes.CDLL(None)
print("up", flush=True)
while True:
    if library.renameat2(-100, directory, -100, link, 2) == 0:
        continue
    try:
        os.path.lexists(link) or os.symlink(target, link)
        os.path.lexists(directory) or os.mkdir(directory)
        for number in range(100):
            open(directory + b"/%d" % number, "w").close()
    except OSError:
        time.sleep(0.001)
"""


class OtherUser(Case):
    """Another user exchanges directories with links to a private directory of this user."""

    FILES = 100
    JOBS = 30

    def setUp(self):
        super().setUp()
        self.dir.chmod(0o755)

    def private(self, name):
        path = self.dir / name
        path.mkdir(mode=0o700, exist_ok=True)
        for number in range(self.FILES):
            (path / str(number)).write_text("precious")
        return path

    def attack(self, *paths):
        attacker = subprocess.Popen([sys.executable, "-c", EXCHANGE, *map(str, paths)], stdout=subprocess.PIPE)
        self.addCleanup(lambda: (attacker.kill(), attacker.wait(), attacker.stdout.close()))
        self.assertEqual(attacker.stdout.readline(), b"up\n")

    def assert_untouched(self, path):
        self.assertEqual({file.name: file.read_text() for file in path.iterdir() if file.name != MARKER},
                         {str(number): "precious" for number in range(self.FILES)})

    def test_exchanged_directory_in_a_rank_directory(self):
        precious = self.private("private")
        sub = self.dir / "device0" / "sub"
        self.attack(sub / "a", sub / "b", precious)
        codes = set()
        for _ in range(self.JOBS):
            codes.add(self.run_dlaunch("-n", 1, "--rank-dir", "device{rank}", *sh("mkdir sub; chmod 777 sub; sleep 0.05")).returncode)
            self.assert_untouched(precious)
        self.assertIn(0, codes)

    def test_exchanged_rank_directory(self):
        self.assert_exit(self.run_dlaunch("-n", 1, "--rank-dir", "kept{rank}", "true"), 0)
        precious = self.private("kept0")
        shared = self.dir / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        (self.dir / "new").write_text("staged")
        self.assert_exit(self.run_dlaunch("-n", 1, "--rank-dir", "shared/{rank}", "true"), 0)
        self.attack(shared / "0", shared / "link", precious)
        codes = set()
        for _ in range(self.JOBS):
            codes.add(self.run_dlaunch("-n", 1, "--rank-dir", "shared/{rank}", "--stage", "new", "touch", "result").returncode)
            self.assert_untouched(precious)
        self.assertIn(0, codes)

    def test_links_below_a_planted_directory_are_not_followed(self):
        """Another user makes a directory in a directory for all users. dlaunch would write, empty or remove a private file."""
        if os.geteuid() != 0:
            self.skipTest("only root can give a file to another user")
        victim, private = self.dir / "victim", self.dir / "private"
        victim.write_text("secret")
        (private / "device0").mkdir(parents=True)
        (private / "device0" / "checkpoint").write_text("secret")
        shared = self.dir / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        for path, options in (("1/rank.0/stdout", ["--output-filename", "shared/x"]),
                              ("1/rank.0/stdout", ["--output-filename", "shared/x:nocopy"]),
                              ("out", ["--stdout-file", "shared/x/out"]), ("out", ["--stdout-file", "shared/x/out:append"]),
                              ("1/record", ["--report", "shared/x/1/record"]), ("junit", ["--junit", "shared/x/junit"]),
                              ("pid", ["--report-pid", "shared/x/pid"]), ("0.json", ["--error-file", "shared/x/{rank}.json"]),
                              ("device0", ["--rank-dir", "shared/x/device{rank}"]), ("1", ["--output-filename", "shared/x"])):
            with self.subTest(path, options=options):
                link = shared / "x" / path
                link.parent.mkdir(parents=True)
                link.symlink_to(private / "device0" if path in ("1", "device0") else victim)
                subprocess.run(["chown", "-hR", "65534:65534", shared / "x"], check=True)
                result = self.run_dlaunch("-n", 1, *options, *sh("echo hello; exit 3"))
                self.assertEqual(victim.read_text(), "secret")
                self.assertEqual([path.name for path in private.rglob("*")], ["device0", "checkpoint"])
                self.assertIn(b"another user may have made", result.stderr)
                shutil.rmtree(shared / "x")


class SeveralHosts(HostsCase):
    """Each host has its own /root."""

    @promise(ONLY_SSHD, mode=STAGING)
    def test_staged_files_reach_other_hosts(self):
        (self.dir / "go.sh").write_text('#!/bin/sh\necho "$RANK_ID $(uname -n) $(pwd) $(wc -c < data)"; echo kept > result\n')
        (self.dir / "go.sh").chmod(0o755)
        (self.dir / "data").write_bytes(os.urandom(5 << 20))
        for _ in range(2):
            result = self.run_dlaunch("-H", "node1:2,node2:1", "-wdir", "/root", "--rank-dir", "run/{rank}", "--stage", "go.sh,data",
                                      "--save-env", "./go.sh")
            self.assert_exit(result, 0)
            self.assertEqual(sorted(lines(result.stdout)), [f"{rank} {host} /root/run/{rank} {5 << 20}"
                                                            for rank, host in ((0, "node1"), (1, "node1"), (2, "node2"))])
        data = (self.dir / "data").read_bytes()
        self.assertEqual(self.host(1).sh("ls /root/run; ls -A /root/run/1").split(), ["0", "1", MARKER, "data", "env.log", "go.sh", "result"])
        self.assertEqual(self.host(2).sh("md5sum < /root/run/2/data"), self.host(1).sh("md5sum < /root/run/0/data"))
        self.assertEqual(int(self.host(2).sh("stat -c %s /root/run/2/data")), len(data))
        self.assertFalse(pathlib.Path("/root/run").exists())

    def test_check_ignores_programs_in_rank_directories(self):
        result = self.run_dlaunch("check", "-H", "node1", "--rank-dir", "{rank}", "./go.sh")
        self.assert_exit(result, 0)
        result = self.run_dlaunch("check", "-H", "node1", "--rank-dir", "{rank}", "nosuchprogram")
        self.assert_exit(result, 1)

    @promise(NAMES_FIRST, mode=(STAGING, START))
    def test_host_without_a_usable_directory_is_reported(self):
        self.host(2).sh("mkdir -p /root/run/1; touch /root/run/1/theirs")
        result = self.run_dlaunch("-H", "node1,node2", "-wdir", "/root", "--rank-dir", "run/{rank}", "touch", "/root/started")
        self.assert_told(result, 125, "node2: /root/run/1 is not empty, and --rank-dir did not create it")
        self.assertEqual(self.host(1).sh("ls /root"), "")
        result = self.run_dlaunch("-H", "node1,node2", "-wdir", "/root/nowhere", "--rank-dir", "{rank}", "true")
        self.assert_told(result, 127, "directory /root/nowhere: No such file or directory")

    @promise(ENDS, mode=(STAGING, SIGNAL))
    def test_sigterm_ends_the_transfer_of_files(self):
        with open(self.dir / "large", "wb") as large:
            large.truncate(200 << 20)
        job = self.start("-H", "node1,node2", "-wdir", "/root", "--rank-dir", "{rank}", "--stage", "large", "true",
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(wait_until(lambda: self.host(2).sh("ls /root").split() == ["1"]))
        job.terminate()
        result, seconds = self.finish(job)
        self.assert_exit(result, 143)
        self.assertLess(seconds, 5)


if __name__ == "__main__":
    support.main()
