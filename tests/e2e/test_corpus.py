"""Tests public command lines of other launchers. Each line is planned through a link with the launcher's name, and the
plan or error is compared with tests/corpus/outcomes.tsv. A refused line also has a reason: its launcher rejects the
line too, or dlaunch does not support the line. tests/corpus/README.md describes the files and the update after a
change. With CORPUS=FILE the lines of FILE are planned and counted, without a comparison."""
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
# Lines in spellings that the parsers of their launchers allow, with the outcomes.
SPELLINGS = ROOT / "tests/corpus/spellings.tsv"
PAGE = ROOT / "tests/corpus/README.md"
UPDATE = bool(os.environ.get("DLAUNCH_UPDATE_GOLDEN"))
NAMES = ("torchrun", "deepspeed", "horovodrun", "msrun", "srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "accelerate",
         "accelerate-launch")
FAMILIES = (("torchrun", "torch.distributed.run", "torch.distributed.launch"), ("accelerate",), ("msrun", "deepspeed", "horovodrun"),
            ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"), ("srun",))
# A link cannot replace a Python module.
MODULE = re.compile(r"\bpython[\d.]*(?: -u)? -m (torch\.distributed\.(?:run|launch))\b")
PLAN = {"DLAUNCH_DRY_RUN": "1", "DLAUNCH_FORMAT": "json", "DLAUNCH_OVERSUBSCRIBE": "1"}
# Lines that their own launcher rejects.
NOTHING = (
    (r"deepspeed --num_nodes", "missing hostfile"),
    (r"deepspeed --include=\$", "the variable's value is not a host"),
    (r"deepspeed -f 0\.deepspeed", "unknown option -f: the line belongs to docker build"),
    (r"horovodrun -np 64 --hostfile hosts", "missing hostfile"),
    (r"horovodrun --mpi-args=\"-gpu\"", "horovodrun requires -np"),
    (r"srun --runtime=none", "unknown option --runtime"),
    (r"srun --overlap --jobid flux", "the line is prose: --jobid requires a number"),
    (r"srun --cpu-bind=\$mask|srun --mpi=pmix --cpu-bind=mask_cpu:\$PIN", "the variable's value is not a mask"),
    (r"mpirun -mpiext|mpirun -n 2 -ppn 1 --genv test|mpiexec -a -f", "the launcher does not have the option in this form"),
    (r"mpirun -n 128 -npernode 4", "4 ranks on each of the two hosts are fewer than 128"),
    (r"mpiexec -ckpointlib", "MPICH removed the option"),
    (r"mpiexec --dvm system|prterun --rtos donotlaunch --display map$", "missing program"),
    (r"prterun --rtos donotlaunch .*node0:N", "letters in the line stand for numbers"),
    (r"accelerate launch --mixed_precison", "misspelt option"),
)
# Lines that their own launcher starts and dlaunch does not support.
CANNOT = (
    (r"deepspeed --autotuning", "DeepSpeed's tuner starts many jobs"),
    (r"horovodrun .*--min-np", "hosts would join and leave a running job"),
    (r"srun .*--container-image", "a plugin of Slurm starts the container"),
    (r"srun --jobid=2180718", "a step of another Slurm job"),
    (r"srun .*--gpus-per-task=2 --gpu-bind=closest", "several devices near the cores of each rank"),
    (r"mpirun --np 4 .*--rank-by span", "round robin over the sockets of several hosts"),
    (r"mpiexec -stdout-proc", "file names with %/1000r"),
)
SLURM = {"SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2",
         "SLURM_TASKS_PER_NODE": "4(x2)", "SLURM_NTASKS": "8"}
RANDOM = re.compile(r"(?<=_)[0-9a-f]{8}(?=/)")


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def folded(numbers):
    """Returns "0-3,8" for 0, 1, 2, 3 and 8."""
    text, rest = [], list(numbers)
    while rest:
        last = next(i for i, number in enumerate(rest) if i + 1 == len(rest) or rest[i + 1] != number + 1)
        text.append(str(rest[0]) if last == 0 else f"{rest[0]}-{rest[last]}")
        rest = rest[last + 1:]
    return ",".join(text)


class Needs:
    """The requirements of a line: variables, files, devices, a batch job."""

    def __init__(self, text, directory, line):
        self.env = {}
        self.moved = {}  # absolute names in the line, and the paths of the test's files
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
            elif word == "started-on-every-node" and "rdzv" not in line:
                self.env["PET_NODE_RANK"] = "0"  # the operator sets this value on the first node
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
        """The outcome of a line as text."""
        directory = self.dir / str(number)
        directory.mkdir()
        needs = Needs(row["needs"] or "", directory, row["line"])
        line = MODULE.sub(r"dlaunch --as \1", row["line"])
        for name, place in needs.moved.items():
            line = line.replace(name, place)
        # PATH contains only the links: other programs of a line are not found.
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
        text = RANDOM.sub("XXXXXXXX", text).replace("\n", "\\n")
        return re.sub(rf"(?<![\w-]){re.escape(os.uname().nodename)}(?=:)", "here", text)

    @staticmethod
    def reason(line, outcome):
        """The kind of a rejected line, and the reason."""
        for text, reasons in (("rejected by its launcher", NOTHING), ("not supported", CANNOT)):
            for pattern, why in reasons:
                if outcome.startswith("refused") and re.match(pattern, line):
                    return text, why
        return None, None

    @staticmethod
    def summary(plan, env):
        """Hosts and ranks, devices, then the variables that the line adds and the programs, or the equivalent dlaunch
        line."""
        ranks = plan["ranks"]
        hosts = []
        for index, host in enumerate(plan["hosts"]):
            devices = sorted({rank["device"] for rank in ranks if rank["host"] == index and "device" in rank})
            hosts.append(f"{host['name']}:{len(host['ranks'])}" + (f" devices {folded(devices)}" if devices else ""))
        text = f"{plan['size']} on {' '.join(hosts)}"
        for note in plan.get("notes", []):
            if note.startswith("this command line is the same as: ") and not note.startswith("this command line is the same as: dlaunch --as "):
                return f"{text} | {note.removeprefix('this command line is the same as: ')}"
        for app in plan["apps"]:
            of_place = ("PMI", "OMPI_", "MPI_", "PWD", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "DLAUNCH_ATTEMPT")
            added = [name for name in app["variables"] if name not in env and not name.startswith(of_place)]
            text += f" | {app['ranks']} of {shlex.join(app['argv'])}" + (f" with {' '.join(added)}" if added else "")
        return text

    def test_each_line_has_its_recorded_outcome(self):
        lines = rows(LINES)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.planned, range(len(lines)), lines))
        counts = {}
        for i, (row, outcome) in enumerate(zip(lines, outcomes)):
            count = counts.setdefault(row["launcher"], collections.Counter())
            count["lines"] += 1
            kind, why = self.reason(row["line"], outcome)
            count[kind or ("refused" if outcome.startswith("refused") else "accepted")] += 1
            if kind and "CORPUS" not in os.environ:
                outcomes[i] = f"{kind}, {why}: {outcome}"
        if "CORPUS" in os.environ:
            for launcher, count in counts.items():
                print(launcher, dict(count))
            for row, outcome in zip(lines, outcomes):
                if outcome.startswith("refused"):
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
        self.assertEqual([row["line"] for row, outcome in zip(lines, outcomes) if outcome.startswith("refused")], [], "rejected lines without a reason")
        for family in (*FAMILIES, [name for names in FAMILIES for name in names]):
            of_it = sum((counts[name] for name in family), collections.Counter())
            least = 0.95 if family != ("srun",) else 0.84  # a plugin starts containers in a ninth of the lines of srun
            self.assertGreaterEqual(of_it["accepted"], least * (of_it["lines"] - of_it["rejected by its launcher"]), family)

    def test_each_spelling_has_its_recorded_outcome(self):
        lines = rows(SPELLINGS)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(self.planned, range(len(lines)), lines))
        text = "line\tneeds\toutcome\n" + "".join(f"{row['line']}\t{row['needs']}\t{outcome}\n" for row, outcome in zip(lines, outcomes))
        if UPDATE:
            SPELLINGS.write_text(text)
        self.maxDiff = None
        self.assertEqual(SPELLINGS.read_text().splitlines(), text.splitlines())

    @staticmethod
    def table(counts):
        kinds = ("lines", "accepted", "rejected by its launcher", "not supported")
        text = ["| launcher | lines | accepted | rejected by their own launcher | not supported |", "|---|---|---|---|---|"]
        for launcher, count in sorted(counts.items()):
            text.append(f"| `{launcher}` | " + " | ".join(str(count[kind]) for kind in kinds) + " |")
        return "\n".join(text)


if __name__ == "__main__":
    support.main()
