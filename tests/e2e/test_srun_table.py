"""Compares command lines of srun, in shells of salloc and in scripts of sbatch, by the real srun and by dlaunch: the exit
code, the lines on stdout, and the class of the error. If the result differs, dlaunch must print the words of the row.
The variable SRUN_TABLE is a path for the results as a table.
"""
import collections
import os
import pathlib
import re
import shlex
import shutil

from hosts_case import PATIENCE
from promises import FAILURE, NAMES_FIRST, promise
from support import main, wait_until
from test_srun import PLACE, BesideSrun

SHELL = ["salloc", "-Q", "-w", "node[1-3]", "--ntasks-per-node=2"]
WHOLE = ["salloc", "-Q", "-w", "node[1-3]", "--exclusive"]
GPUS = ["salloc", "-Q", "-w", "node[1-2]", "--ntasks-per-node=2", "--gpus-per-node=2"]
BATCH = ["sbatch", "-w", "node[1-2]", "--ntasks-per-node=2"]
CPUS = ["sbatch", "-w", "node[1-2]", "--ntasks-per-node=1", "-c2"]
ARRAY = ["sbatch", "-w", "node[1-2]", "--ntasks-per-node=1", "--array=3"]
EMPTY = ["sbatch", "-w", "node[1-2]", "--ntasks-per-node=1", "--export=NONE"]


class Row(collections.namedtuple("Row", "job line free loud since error", defaults=(False, None, (0, 0), "none"))):
    """job: the words before the script. free: Slurm may choose other nodes. loud: the result differs, and dlaunch prints
    these words, a regular expression. since: the oldest version of Slurm with this behaviour of srun. error: the class
    of srun's error."""


def show(words):
    return "sh -c " + shlex.quote(words)


PLACES = show(PLACE)
ROWS = [
    Row(SHELL, "srun hostname"),
    Row(SHELL, f"srun {PLACES}"),
    Row(SHELL, "srun -n6 -l echo x"),
    Row(SHELL, "SLURM_LABELIO=1 srun -n2 echo x"),
    Row(SHELL, "SLURM_NTASKS=3 srun -N3 echo x", since=(23, 2)),
    Row(SHELL, f"srun -N2 -n4 {PLACES}", free=True),
    Row(SHELL, f"srun -w node2 -N1 -n2 {PLACES}"),
    Row(SHELL, f"srun -x node2 -N2 -n4 {PLACES}"),
    Row(SHELL, f"srun -r1 -N2 -n2 {PLACES}"),
    Row(SHELL, f"srun -m cyclic {PLACES}"),
    Row(SHELL, f"srun -m plane=2 -n5 {PLACES}"),
    Row(SHELL, f"SLURM_HOSTFILE=order srun -m arbitrary -n3 {PLACES}", loud="not supported: arbitrary distribution"),
    Row(SHELL, f"srun -N3 --ntasks-per-node=1 {PLACES}", since=(23, 2)),
    Row(SHELL, "srun -n3 " + show("exit $((SLURM_PROCID + 1))"), error="failed"),
    Row(SHELL, "srun -n3 -K " + show("[ $SLURM_PROCID != 1 ] || exit 5; exec sleep 60"), loud="rank 1 .* exited with code 5", error="killed"),
    Row(SHELL, "srun -n2 " + show("kill -KILL $$"), error="killed"),
    Row(SHELL, "srun -n2 " + show("kill -TERM $$"), error="killed"),
    Row(SHELL, "srun -n2 " + show("ulimit -c 0; kill -SEGV $$"), error="killed"),
    Row(SHELL, "srun -n1 no-such-program", loud="program \"no-such-program\": not found", error="missing program"),
    Row(SHELL, "srun -n1 /etc/passwd", loud="cannot run program \"/etc/passwd\" .*: Permission denied", error="program without permission"),
    Row(SHELL, "srun -n2 -W1 " + show("[ $SLURM_PROCID = 0 ] || exec sleep 60"), loud="timed out after .* s: rank 1 was still running", error="killed"),
    Row(SHELL, "srun -n1 --quit-on-interrupt -Q true"),
    Row(SHELL, "echo in | srun -n2 cat"),
    Row(SHELL, "echo in | srun -n2 -i none cat"),
    Row(SHELL, "echo in | srun -n2 -i 1 " + show("cat | sed s/^/$SLURM_PROCID:/")),
    Row(SHELL, "echo in | srun -n1 --pty cat"),
    Row(SHELL, "srun -n2 -o out.%t -e err.%t " + show("echo o; echo e >&2") + "; grep . out.* err.*"),
    Row(SHELL, "srun -N2 -n2 -o each.%j.%N echo x; cat each.*"),
    Row(SHELL, "srun -n2 -o none echo x"),
    Row(SHELL, "srun -n2 -D /usr pwd"),
    Row(SHELL, "srun -n1 -D /no/such pwd", loud="cannot enter the working directory /no/such", error="other"),
    Row(SHELL, "FOO=1 BAR=2 srun -n1 --export=FOO,X=3 /bin/sh -c 'echo $FOO $BAR $X'"),
    Row(SHELL, "BAR=2 srun -n1 --export=NONE /bin/sh -c 'echo $BAR-$SLURM_PROCID'"),
    Row(SHELL, "srun -n1 -J name " + show("echo $SLURM_JOB_NAME")),
    Row(SHELL, "srun --multi-prog programs", error="failed"),
    Row(SHELL, "srun -n20 true", error="refused"),
    Row(SHELL, "srun -N4 -n4 true", error="refused"),
    Row(SHELL, "srun -w node9 -n1 true", error="refused"),
    Row(SHELL, "srun --no-such-option true", error="refused"),
    Row(SHELL, "srun -n zero true", error="refused"),
    Row(SHELL, "srun -n2", error="refused"),
    Row(SHELL, "srun --jobid=99999 -n1 true", error="refused"),
    Row(SHELL, "srun -n1 true : -n1 true", loud=r"not supported: several programs with ':'"),
    Row(SHELL, "srun -n1 --mpi-combine=no true", error="refused"),  # only srun --usage has this option
    Row(SHELL, "srun -n1 --mem=50 --exact --mem-bind=none true"),
    Row(WHOLE, f"srun -n3 -c4 {show(PLACE + ' $SLURM_CPUS_PER_TASK')}"),
    Row(WHOLE, "srun -O -n30 hostname"),
    Row(GPUS, "srun --gpus-per-task=1 " + show("echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES")),
    Row(GPUS, "srun -n1 -N1 --gpus=1 " + show("echo $CUDA_VISIBLE_DEVICES"), loud="changes nothing here: ranks see all devices", since=(23, 11)),
    Row(BATCH, f"srun {PLACES}"),
    Row(BATCH, "set -e; srun -n2 false; echo not reached", error="failed"),
    Row(BATCH, "export MASTER_ADDR=$(scontrol show hostnames | head -n 1) MASTER_PORT=29400\n"
               "srun " + show("echo $SLURM_PROCID $MASTER_ADDR:$MASTER_PORT")),
    Row(BATCH, "srun -N1 -n1 -w node1 --exact echo a & srun -N1 -n1 -w node2 --exact echo b & wait"),
    Row(BATCH, "srun -N1 -n1 -w node2 " + show("real srun --overlap -N1 -n1 -w node1 hostname")),
    Row(BATCH, "srun -n2 -o out.%j.%s.%t " + show("echo $SLURM_JOB_ID") + "; sed s/$SLURM_JOB_ID/job/ out.*.[01]"),
    Row(CPUS, f"srun {show(PLACE + ' $SLURM_CPUS_PER_TASK')}"),
    Row(ARRAY, "srun -n2 -o out.%A_%a.%t " + show("echo $SLURM_ARRAY_TASK_ID") + "; sed s/^/$(ls | grep -c out.${SLURM_ARRAY_JOB_ID}_3.)/ out.*"),
    Row(EMPTY, "FOO=1 srun /bin/sh -c 'echo $SLURM_PROCID $FOO'"),
]
# The class of an error: the first row that matches stderr.
CLASSES = [(name, re.compile(pattern, re.MULTILINE)) for name, pattern in (
    ("out of memory", r"Out Of Memory|counted an oom_kill"),
    ("missing program", r"No such file or directory\)?$|: not found"),
    ("program without permission", r"Permission denied"),
    ("killed", r"srun: error: .*: (Killed|Terminated|Segmentation fault)|killed by signal"),
    ("failed", r"Exited with exit code|exited with code"),
    ("time limit", r"task .*timeout|timed out|ended .* after the first"),
    ("refused", r"srun: (error|fatal): |srun: .*(unrecognized|invalid) option|Try \"srun --help\"|dlaunch: (?!note:|warning:)"))]
NOISE = re.compile(r"dlaunch: note: |srun: [Ww]arning: |srun: cluster configuration|srun: Step created|srun: Job .* step creation temporarily disabled|srun: error: .*pseudo-terminal|srun: error: ioctl")
Result = collections.namedtuple("Result", "code out error stderr")


def result(code, out, err, free):
    names = {}
    out = "\n".join(sorted(out.splitlines()))
    if free:
        out = re.sub(r"node\d", lambda name: names.setdefault(name[0], f"node{len(names) + 1}"), out)
    wrong = "\n".join(line for line in err.splitlines() if not NOISE.match(line))
    error = next((name for name, pattern in CLASSES if pattern.search(wrong)), "other: " + wrong.splitlines()[0] if wrong else "none")
    if error == "refused" and code != 0:
        code = "not 0"  # srun: 1 or 255, dlaunch: 2
    return Result(code, out.splitlines(), error, err)


def as_table(results):
    rows = ["| # | job | line | srun: code, lines, error | dlaunch: code, lines, error | result |", "|---|---|---|---|---|---|"]
    for number, (row, srun, dlaunch) in enumerate(results, 1):
        same = "same" if dlaunch[:3] == srun[:3] else "differs: " + re.search(row.loud or "$", dlaunch.stderr)[0]
        each = [f"{one.code}, {len(one.out)}, {one.error}" for one in (srun, dlaunch)]
        cells = [number, " ".join(row.job), "`" + row.line.replace("\n", "; ") + "`", *each, same]
        rows.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*rows, ""])


class Table(BesideSrun):
    count = 3
    scheduler = "backfill"  # sbatch starts jobs at once
    more = ("SchedulerParameters=batch_sched_delay=0,sched_interval=1",)

    def run_rows(self, job, numbers, by):
        """{number: Result} of these rows in one job."""
        place = self.dir / f"by{by}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path = f"{self.links()}:{self.env['PATH']}" if by else self.env["PATH"]
        (place / "bin").mkdir()
        (place / "bin" / "real").write_text(f'#!/bin/sh\nPATH={self.env["PATH"]}; exec "$@"\n')
        (place / "bin" / "real").chmod(0o755)
        text = ["#!/bin/bash", f"cd {place}; export PATH={path}:{place}/bin"]
        for number in numbers:
            folder = place / str(number)
            folder.mkdir()
            (folder / "programs").write_text("0 echo zero %t %o\n1-2 echo more %t %o\n3-5 false\n")
            (folder / "order").write_text("node2\nnode1\nnode2\n")
            (folder / "line").write_text(ROWS[number].line + "\n")
            text.append(f"(cd {folder} && bash ./line >stdout 2>stderr </dev/null; echo $? >code)")
        script = place / "script"
        script.write_text("\n".join([*text, f"touch {place}/done", ""]))
        script.chmod(0o755)
        words = [*job, *(["-o", "/dev/null"] if job[0] == "sbatch" else [])]
        started = self.bed.head.run([*words, script], env=self.env)
        self.assertTrue(wait_until((place / "done").exists, PATIENCE), f"{started.stdout}{started.stderr}{self.slurm.told()}")
        self.assertTrue(wait_until(lambda: not self.slurm.jobs(), PATIENCE))
        read = lambda number, name: (place / str(number) / name).read_text(errors="replace")  # noqa: E731
        return {number: result(int(read(number, "code")), read(number, "stdout"), read(number, "stderr"), ROWS[number].free) for number in numbers}

    def results(self):
        """[(Row, Result of srun, Result of dlaunch)], without rows for a newer Slurm."""
        version = self.slurm.version()
        jobs = {}
        for number, row in enumerate(ROWS):
            if row.since <= version:
                jobs.setdefault(tuple(row.job), []).append(number)
        both = {}
        for job, numbers in jobs.items():
            srun, dlaunch = (self.run_rows(job, numbers, by) for by in (0, 1))
            both.update({number: (ROWS[number], srun[number], dlaunch[number]) for number in numbers})
        return [both[number] for number in sorted(both)]

    @promise(NAMES_FIRST, mode=FAILURE)
    def test_srun_and_dlaunch_have_the_same_results(self):
        results = self.results()
        self.assertGreater(len(results), 40)
        if path := os.environ.get("SRUN_TABLE"):
            pathlib.Path(path).write_text(as_table(results))
        for row, srun, dlaunch in results:
            with self.subTest(row.line):
                said = f"srun: {srun.stderr}\ndlaunch: {dlaunch.stderr}"
                self.assertEqual(srun.error.split(":")[0], row.error, f"srun did not do what the row is about\n{said}")
                if row.loud:
                    self.assertNotEqual(dlaunch[:3], srun[:3], f"remove `loud`\n{said}")
                    self.assertRegex(dlaunch.stderr, row.loud)
                else:
                    self.assertEqual(dlaunch[:3], srun[:3], said)


if __name__ == "__main__":
    main(side_by_side=1)
