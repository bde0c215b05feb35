"""Tests that a rank's output files are on the launcher's machine, for every option that writes files, and for ranks of
this machine, of a host that shares its disk, and of a host with its own disk."""
import json
import re
import subprocess

import support
from promises import COMMAND, FAILURE, FILES, LOSES_NOTHING, NAMES_FIRST, promise
from support import Case, sh

LINES = 400
TAGGED = re.compile(rb"^\[1,(\d)\]<std(out|err)>:")


class Options:
    """Options on the command line, and the file of each stream; None: the console only."""

    def __init__(self, options, out=None, err=None, shown=True, merged=False, tagged=False):
        self.options = options
        self.files = {"out": out, "err": out if merged else err}
        self.shown = shown  # also shown on the console
        self.merged = merged
        self.tagged = tagged


OPEN_MPI = ("logs/1/rank.{}/stdout", "logs/1/rank.{}/stderr")
ALL_OPTIONS = {
    "copied": Options(["--output-filename", "logs"], *OPEN_MPI),
    "nocopy": Options(["--output-filename", "logs:nocopy"], *OPEN_MPI, shown=False),
    "nocopy,nojobid": Options(["--output-filename", "logs:nocopy,nojobid"], "logs/rank.{}/stdout", "logs/rank.{}/stderr", shown=False),
    "stdout-file": Options(["--stdout-file", "logs/{rank}.out"], "logs/{}.out", shown=False),
    "stderr-file": Options(["--stderr-file", "logs/{rank}.err"], None, "logs/{}.err", shown=False),
    "both": Options(["--stdout-file", "logs/{rank}.out", "--stderr-file", "logs/{rank}.err"], "logs/{}.out", "logs/{}.err", shown=False),
    "one rank shown": Options(["--ranks", "0", "--output-filename", "logs"], *OPEN_MPI),
    "template": Options(["--output-filename", "logs/{rank}.{stream}:nocopy"], "logs/{}.stdout", "logs/{}.stderr", shown=False),
    "shared": Options(["--output-filename", "logs/{rank}.log:nocopy"], "logs/{}.log", "logs/{}.log", shown=False),
    "merged": Options(["--merge-stderr-to-stdout", "--output-filename", "logs:nocopy"], OPEN_MPI[0], merged=True, shown=False),
    "tagged": Options(["--tag-output", "--output-filename", "logs:nocopy"], *OPEN_MPI, shown=False, tagged=True),
    "jsonl": Options(["--format", "jsonl", "--stderr-file", "logs/{rank}.err"], None, "logs/{}.err"),
    "in the ranks' directories": Options(["--rank-dir", "logs/d{rank}", "--output-filename", "logs/d{rank}/{stream}:nocopy"],
                                     "logs/d{}/stdout", "logs/d{}/stderr", shown=False),
}
NUMBERED = "seq -f \"$RANK_ID out %g\" {0}; seq -f \"$RANK_ID err %g\" {0} >&2".format(LINES)
FAILS = NUMBERED + "; [ $RANK_ID = 0 ] && exec sleep 100; echo my last words >&2; exit 5"


def numbered(rank, stream):
    return [b"%d %s %d" % (rank, stream.encode(), n) for n in range(1, LINES + 1)]


class ThisMachine(Case):
    def options_for_hosts(self):
        """The options that choose the host of both ranks."""
        return ["-n", 2, "--oversubscribe"]

    @promise(LOSES_NOTHING, mode=FILES)
    def test_files_are_complete_after_success(self):
        for name, way in ALL_OPTIONS.items():
            with self.subTest(name):
                result = self.run_way(way, NUMBERED)
                self.assert_exit(result, 0)
                for rank in (0, 1):
                    self.check_files(way, rank)
                self.check_console(way, result)

    @promise(LOSES_NOTHING, NAMES_FIRST, mode=(FILES, FAILURE))
    def test_files_are_complete_after_a_failure(self):
        for name, way in ALL_OPTIONS.items():
            with self.subTest(name):
                result = self.run_way(way, FAILS)
                self.assert_exit(result, 5)
                self.check_files(way, 1, [b"my last words"])
                self.assertIn(b"rank 1", result.stderr)
                self.assertIn(b"| my last words", result.stderr)
                path = way.files["err"] or way.files["out"]
                if way.files["err"]:
                    self.assertIn(path.format(1).encode(), result.stderr)

    def run_way(self, way, script):
        subprocess.run(["rm", "-rf", self.dir / "logs"], check=True)
        (self.dir / "logs").mkdir()
        return self.run_dlaunch(*self.options_for_hosts(), *way.options, *sh(script))

    def check_files(self, way, rank, last_words=()):
        """Each line that the rank wrote is in its file, in the order of its stream."""
        for stream, template in way.files.items():
            if template is None:
                continue
            wanted = numbered(rank, stream) + (list(last_words) if stream == "err" else [])
            told = (self.dir / template.format(rank)).read_bytes()
            self.assertTrue(told.endswith(b"\n"), told[-100:])
            found = told.splitlines()
            if way.tagged:
                self.assertTrue(all(TAGGED.match(line).groups() == (b"%d" % rank, stream.encode()) for line in found))
                found = [TAGGED.sub(b"", line) for line in found]
            if way.files["out"] == way.files["err"]:
                other = {"out": b" err ", "err": b" out "}[stream]
                found = [line for line in found if other not in line and (stream == "err" or line not in last_words)]
            self.assertEqual(found, wanted, f"rank {rank}, {stream}")

    def check_console(self, way, result):
        """The console shows streams without a file, and streams that are copied."""
        shown = {"out": result.stdout, "err": support.without_notes(result.stderr)}
        if "jsonl" in way.options:
            shown["out"] = b"".join(json.loads(line)["text"].encode() + b"\n" for line in result.stdout.splitlines())
        for stream, text in shown.items():
            ranks = [0] if "--ranks" in way.options else [0, 1]
            all_shown = way.shown if way.files[stream] else True
            if "jsonl" in way.options:
                all_shown = stream == "out"
            wanted = sorted(line for rank in ranks for line in numbered(rank, stream)) if all_shown else []
            self.assertEqual(sorted(text.splitlines()), wanted, stream)


class SharedDisk(ThisMachine):
    place = COMMAND

    def options_for_hosts(self):
        return ["-H", "other:2", "--exec", "env HOST={host}"]


class OwnDisk(ThisMachine):
    """The host has another file system in place of the log folder."""

    place = COMMAND

    def setUp(self):
        super().setUp()
        (self.dir / "logs").mkdir()
        self.shell = self.dir / "shell"
        self.shell.write_text(f"exec unshare -m sh -c 'mount -t tmpfs dlaunch-e2e \"$0\" && exec sh' {self.dir}/logs\n")
        tried = subprocess.run(["sh", self.shell], input=b":", capture_output=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"no mount namespace can be made here: {tried.stderr.decode().strip()}")

    def options_for_hosts(self):
        return ["-H", "other:2", "--exec", f"sh {self.shell}"]


if __name__ == "__main__":
    support.main()
