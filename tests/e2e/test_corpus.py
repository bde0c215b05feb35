"""Public command lines of other launchers: each is planned as it stands, by a link of its launcher's name, and what becomes
of it is held in tests/corpus/outcomes.tsv. After a wanted change:
    DLAUNCH_UPDATE_GOLDEN=1 DLAUNCH=build/dev/bin/dlaunch PROGRAMS=build/dev/tests/programs python3 -B tests/e2e/test_corpus.py
writes it anew, with the table of docs/launchers.md; read the diff before committing it. CORPUS names another file of lines:
then the counts are printed, and nothing is compared."""
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import shlex
import subprocess
import unittest

import support

ROOT = pathlib.Path(__file__).parents[2]
LINES = pathlib.Path(os.environ.get("CORPUS", ROOT / "tests/corpus/lines.tsv"))
OUTCOMES = ROOT / "tests/corpus/outcomes.tsv"
PAGE = ROOT / "docs/launchers.md"
UPDATE = bool(os.environ.get("DLAUNCH_UPDATE_GOLDEN"))
NAMES = ("torchrun", "deepspeed", "horovodrun", "msrun", "srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "accelerate")
BUILT = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "msrun", "deepspeed", "horovodrun", "srun")
# A link cannot stand for a Python module.
MODULE = re.compile(r"\bpython[\d.]*(?: -u)? -m (torch\.distributed\.(?:run|launch))\b")
PLAN = {"DLAUNCH_DRY_RUN": "1", "DLAUNCH_FORMAT": "json", "DLAUNCH_OVERSUBSCRIBE": "1"}
# Lines that their launcher refuses, too, where they are planned here: it finds no hostfile or host, or misses an option.
REFUSED_THERE = re.compile(r"deepspeed --num_nodes|deepspeed --include=\$|horovodrun -np 64 --hostfile hosts|horovodrun --mpi-args=\"-gpu\"")
SLURM = {"SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2",
         "SLURM_TASKS_PER_NODE": "4(x2)", "SLURM_NTASKS": "8"}
RANDOM = re.compile(r"(?<=_)[0-9a-f]{8}(?=/)")


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def folded(numbers):
    """0-3,8 for 0, 1, 2, 3 and 8."""
    text, rest = [], list(numbers)
    while rest:
        last = next(i for i, number in enumerate(rest) if i + 1 == len(rest) or rest[i + 1] != number + 1)
        text.append(str(rest[0]) if last == 0 else f"{rest[0]}-{rest[last]}")
        rest = rest[last + 1:]
    return ",".join(text)


class Needs:
    """What a line wants to find: variables, files, devices, a resource manager's job."""

    def __init__(self, text, directory):
        self.env = {}
        self.moved = {}  # absolute names of the line, and where those files are
        self.refused_there = "real-parser-refuses" in text
        for name, lines in re.findall(r"file:(\S+?)\(([^)]*)\)", text):
            path = directory / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines.split(", ")) + "\n")
            if name.startswith("/"):
                self.moved[name] = str(path)
        words = re.sub(r"file:\S+?\([^)]*\)", "", text).split()
        for word in words:
            name, equals, value = word.partition("=")
            if word == "slurm-allocation" or word.startswith("hosts-of-allocation"):
                self.env.update(SLURM)
            elif word == "started-on-every-node":
                self.env["PET_NODE_RANK"] = "0"  # as it is on the first of them
            elif word.startswith("devices:"):
                self.env["DLAUNCH_FAKE_DEVICES"] = word.partition(":")[2]
            elif equals and re.fullmatch(r"\w+", name):
                self.env[name] = value


class Corpus(support.Case):
    def setUp(self):
        super().setUp()
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        for name in (*NAMES, "dlaunch"):
            (self.bin / name).symlink_to(support.DLAUNCH)

    def planned(self, number, row):
        """What becomes of a line, as text."""
        directory = self.dir / str(number)
        directory.mkdir()
        needs = Needs(row["needs"] or "", directory)
        line = MODULE.sub(r"dlaunch --as \1", row["line"])
        for name, place in needs.moved.items():
            line = line.replace(name, place)
        # PATH has nothing else: whatever a line would run beside its launcher is not there.
        env = {"PATH": str(self.bin), "HOME": str(self.dir), support.MARKER: self.marker} | PLAN | needs.env
        if support.SANITIZED:
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0"  # for lines that set LD_PRELOAD
        one_cpu = lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        result = subprocess.run(["/bin/sh", "-c", line], cwd=directory, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=support.TIMEOUT, check=False, preexec_fn=one_cpu)
        if result.returncode == 0 and result.stdout.startswith("{"):
            text = self.summary(json.loads(result.stdout), env)
        elif result.returncode == 0:
            text = "prints " + result.stdout.partition("\n")[0]
        else:
            told = [said.removeprefix("dlaunch: ").strip() for said in result.stderr.splitlines() if "note: " not in said]
            text = f"refused ({result.returncode}): " + "; ".join(told[:2])
        text = text.replace(str(directory), "DIR").replace(str(self.dir), "HOME")
        text = RANDOM.sub("XXXXXXXX", text)
        return re.sub(rf"(?<![\w-]){re.escape(os.uname().nodename)}(?=:)", "here", text)

    @staticmethod
    def summary(plan, env):
        """Hosts and ranks, devices, then the variables that the line adds and the programs, or the line of dlaunch's."""
        ranks = plan["ranks"]
        hosts = []
        for index, host in enumerate(plan["hosts"]):
            devices = sorted({rank["device"] for rank in ranks if rank["host"] == index and "device" in rank})
            hosts.append(f"{host['name']}:{len(host['ranks'])}" + (f" devices {folded(devices)}" if devices else ""))
        text = f"{plan['size']} on {' '.join(hosts)}"
        for note in plan.get("notes", []):
            if note.startswith("is the same as: "):
                return f"{text} | {note.removeprefix('is the same as: ')}"
        for app in plan["apps"]:
            of_place = ("PMI", "OMPI_", "MPI_", "PWD", "PYTHONUNBUFFERED", "DLAUNCH_ATTEMPT")
            added = [name for name in app["variables"] if name not in env and not name.startswith(of_place)]
            text += f" | {app['ranks']} of {shlex.join(app['argv'])}" + (f" with {' '.join(added)}" if added else "")
        return text

    def test_each_line_becomes_what_is_held(self):
        lines = rows(LINES)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.planned, range(len(lines)), lines))
        counts = {}
        for row, outcome in zip(lines, outcomes):
            counts.setdefault(row["launcher"], collections.Counter())["refused" if outcome.startswith("refused") else "accepted"] += 1
            if "real-parser-refuses" in (row["needs"] or "") or REFUSED_THERE.match(row["line"]):
                counts[row["launcher"]]["refused there"] += 1
        if "CORPUS" in os.environ:
            for launcher, count in counts.items():
                print(launcher, dict(count))
            for row, outcome in zip(lines, outcomes):
                if outcome.startswith("refused") and row["launcher"] in BUILT:
                    print(row["line"][:110], "->", outcome)
            return
        text = "launcher\tline\toutcome\n" + "".join(f"{row['launcher']}\t{row['line']}\t{outcome}\n" for row, outcome in zip(lines, outcomes))
        table = self.table(counts)
        if UPDATE:
            OUTCOMES.write_text(text)
            page = PAGE.read_text()
            begin = page.index("| launcher | lines |")
            end = page.index("\n\n", begin)
            PAGE.write_text(page[:begin] + table + page[end:])
        self.maxDiff = None
        self.assertEqual(OUTCOMES.read_text().splitlines(), text.splitlines())
        self.assertIn(table + "\n\n", PAGE.read_text())
        for family in (BUILT[:3], ("msrun", "deepspeed", "horovodrun")):
            lines = sum((counts[name] for name in family), collections.Counter())
            self.assertGreaterEqual(lines["accepted"], 0.95 * (lines["accepted"] + lines["refused"] - lines["refused there"]), family)

    @staticmethod
    def table(counts):
        text = ["| launcher | lines | accepted |", "|---|---|---|"]
        for launcher, count in sorted(counts.items(), key=lambda each: (each[0] not in BUILT, each[0])):
            accepted = str(count["accepted"]) if launcher in BUILT else "0: its grammar is not built"
            text.append(f"| `{launcher}` | {count['accepted'] + count['refused']} | {accepted} |")
        return "\n".join(text)


if __name__ == "__main__":
    support.main()
