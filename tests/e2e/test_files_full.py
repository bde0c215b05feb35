"""Tests that no byte for a rank's file is lost without a message if the disk is full, also if the rank writes the file
itself (:nocopy, --stdout-file) and ignores the error: for ranks of this machine, of a host that shares its disk, and of
a host with its own disk."""
import os
import subprocess
import sys

import support
from promises import BAD_DISK, COMMAND, FILES, LOSES_NOTHING, promise
from support import Case, sh

NO_SPACE = b"No space left on device"
# Each leaves out the exit code of the program whose write fails.
LOSSES = {
    "many small writes": "yes | head -c 1000000; exit 0",
    "one large write": f"{sys.executable} -c 'import os; os.write(1, b\"x\" * 1000000)'; exit 0",
    "the first bytes": "head -c 1000000 /dev/zero > disk/filler; echo lost; exit 0",
    "the last bytes": "head -c 100000 /dev/zero; "
                      "head -c 1000000 /dev/zero > disk/filler; head -c 9999 /dev/zero; exit 0",
}


class FullDisk:
    """The tests of each place of the ranks."""

    def setUp(self):
        super().setUp()
        self.disk = self.mount_small_disk()

    def options_for_hosts(self):
        """The options that choose the host of both ranks."""
        raise NotImplementedError

    def run_in(self, script, *options):
        """Rank 1 runs the script. Rank 0 writes nothing, and must not be reported."""
        return self.run_dlaunch(*self.options_for_hosts(), *options,
                                *sh(f"[ $RANK_ID = 1 ] || exit 0; exec 2>/dev/null; {script}"))

    def empty_disk(self):
        subprocess.run(f"rm -rf {self.disk}/*", shell=True, check=True)

    @promise(LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_lost_bytes_are_reported(self):
        for options, path in ((["--output-filename", "disk/logs:nocopy"], b"disk/logs/1/rank.1/stdout"),
                              (["--stdout-file", "disk/{rank}.out"], b"disk/1.out")):
            for name, script in LOSSES.items():
                with self.subTest(name, options=options):
                    self.empty_disk()
                    result = self.run_in(script, *options)
                    self.assert_exit(result, 1)
                    self.assertEqual(result.stderr.count(NO_SPACE), 1, result.stderr)
                    self.assertIn(b"cannot write " + os.fsencode(self.dir) + b"/" + path + b": ", result.stderr)

    @promise(LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_loss_on_a_disk_that_was_full_for_some_time_is_reported(self):
        script = ("printf '%4500d\\n' 1; head -c 1000000 /dev/zero > disk/filler; "
                  "for i in $(seq 30); do printf '%4500d\\n' $i; sleep 0.1; done; rm disk/filler; echo end; exit 0")
        for options in ([], ["--on-output-error", "continue"]):
            with self.subTest(options=options):
                self.empty_disk()
                result = self.run_in(script, *options, "--output-filename", "disk/logs:nocopy")
                self.assert_exit(result, 1)
                self.assertEqual(result.stderr.count(NO_SPACE), 1, result.stderr)
                self.assertIn(b"disk/logs/1/rank.1/stdout: ", result.stderr)
                text = (self.disk / "logs/1/rank.1/stdout").read_bytes()
                # dlaunch continues without a file that dlaunch writes.
                continues = bool(options) and isinstance(self, ThisMachine)
                self.assertEqual(text.endswith(b"end\n"), continues, "the default is to stop the ranks")

    @promise(LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_complete_files_on_a_full_disk_are_not_reported(self):
        """The rank wrote before another program filled the disk, or not at all."""
        for script in ("echo early; sleep 2; head -c 1000000 /dev/zero > disk/filler; sleep 2; exit 0",
                       "head -c 1000000 /dev/zero > disk/filler; sleep 2; exit 0"):
            for options in ([], ["--merge-stderr-to-stdout"]):
                with self.subTest(script, options=options):
                    self.empty_disk()
                    result = self.run_in(script, "--output-filename", "disk/logs:nocopy", *options)
                    self.assert_exit(result, 0)
                    self.assertEqual(support.without_notes(result.stderr), b"")


class ThisMachine(FullDisk, Case):
    def options_for_hosts(self):
        return ["-n", 2, "--oversubscribe"]

    def test_rank_that_stops_at_the_error_sets_the_exit_code(self):
        result = self.run_in("while echo xxxxxxxx; do :; done; exit 9", "--output-filename", "disk/logs:nocopy")
        self.assert_exit(result, 9)

    @promise(LOSES_NOTHING, mode=(BAD_DISK, FILES))
    def test_size_limit_is_reported(self):
        job = self.start("-n", 1, "--stdout-file", "big.out", *sh("trap '' XFSZ; yes | head -c 1000000; exit 0"),
                         before=["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with job:
            err = job.communicate(timeout=support.TIMEOUT)[1]
        self.assertEqual(job.returncode, 1, err)
        self.assertIn(b"big.out: File too large", err)


class SharedDisk(FullDisk, Case):
    place = COMMAND

    def options_for_hosts(self):
        return ["-H", "other:2", "--exec", "env HOST={host}"]


class OwnDisk(FullDisk, Case):
    """Only the launcher's machine has the small disk."""

    place = COMMAND

    def options_for_hosts(self):
        shell = self.dir / "shell"
        shell.write_text(f"exec unshare -m sh -c 'umount \"$0\" && mkdir -p \"$0\" && exec sh' {self.disk}\n")
        return ["-H", "other:2", "--exec", f"sh {shell}"]

    def run_in(self, script, *options):
        """The disk of the launcher is filled from here."""
        return super().run_in(script.replace("disk/filler", f"/proc/{os.getpid()}/root{self.disk}/filler"), *options)


if __name__ == "__main__":
    support.main(side_by_side=3)
