#!/usr/bin/env python3
"""Measures dlaunch, the floors and other launchers in alternating order, and prints a Markdown table.

Every figure is the median of a row's rounds. A ratio compares two runs of one round; the table shows the median
ratio. scripts/bench installs the packages, builds the programs and calls this script.
"""
import argparse
import contextlib
import os
import shutil
import sys
import tempfile

import measure
import mpi_rows
import recovery_rows
import report
import rows
import slurm_rows
import ssh_rows

PROGRAMS = ("floor_spawn", "floor_stream", "floor_ssh", "spew", "slow_reader")
MPI_PROGRAMS = ("mpi_start_mpich", "mpi_start_openmpi")  # only with the compilers of the MPI libraries
RECOVERY = "recovery"  # these rows have their own table
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=f"{ROOT}/build/release", help="the build with the floors and dlaunch")
    parser.add_argument("--dlaunch", default=os.environ.get("DLAUNCH"), help="the binary; default: from --build")
    parser.add_argument("--before", metavar="BINARY", help="compare dlaunch only with another build of dlaunch")
    parser.add_argument("--only", action="append", default=[], metavar="KEY",
                        help="measure only rows with a key that begins with KEY")
    parser.add_argument("--rounds", type=int, help="number of rounds; default: set per row")
    parser.add_argument("--quick", action="store_true", help="one round per row, one run to count hangs")
    parser.add_argument("--hang-limit", type=float, default=20, metavar="S",
                        help="count a run of another launcher as hung after S seconds")
    parser.add_argument("--hang-tries", type=int, default=4, metavar="N", help="runs of mpirun with default options, to count hangs")
    parser.add_argument("--soak", type=int, default=0, metavar="N", help="also run `dlaunch -n 64 true` N times")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    chosen = parser.parse_args()
    if chosen.write and (chosen.only not in ([], [RECOVERY]) or chosen.quick or chosen.before):
        parser.error(f"--write requires a complete run: remove --quick, --before and --only (except --only {RECOVERY})")
    if chosen.quick:
        chosen.rounds, chosen.hang_tries = 1, min(1, chosen.hang_tries)
    return chosen


def progress(text):
    print(text, file=sys.stderr, flush=True)


def once(runner, row, contestant):
    """One timed run. A run with wrong output has failed."""
    if contestant.before:
        contestant.before()
    sample = runner.run(contestant.argv, row.limit, row.reader, row.watch)
    wrong = contestant.after() if contestant.after else ""
    if row.told and sample.status == "ok":
        with open(row.told, encoding="utf-8") as file:
            sample.wall = float(file.read())
    if row.exact and sample.status == "ok" and sample.read["bytes"] != row.moved:
        wrong = f"{sample.read['bytes']} of {row.moved} bytes reached the reader"
    if wrong and sample.status == "ok":
        sample.status, sample.why = "failed", wrong
    if sample.status != "ok":
        progress(f"  {row.key}: {contestant.argv[0]}: {sample.status}: {sample.why}")
    return sample


def until_it_does_not_hang(runner, row, contestant, result, column):
    """Repeats a hung run, up to row.tries runs. Returns the first run that did not hang, else the last run."""
    sample = once(runner, row, contestant)
    for _ in range(row.tries - 1):
        if sample.status != "hung":
            break
        result.again[column] = result.again.get(column, 0) + 1
        sample = once(runner, row, contestant)
    return sample


def measure_row(runner, row, chosen):
    result = report.Result(row)
    for column, contestant in row.contestants.items():
        if contestant.verify:
            result.verified[column] = runner.run(contestant.verify, row.limit, row.checked)
        elif not row.watch:
            once(runner, row, contestant)  # warm-up: loads the programs' pages, not measured
    columns = list(row.contestants)
    for number in range(chosen.rounds or row.rounds):
        for at in range(len(columns)):  # rotate the order in each round
            column = columns[(at + number) % len(columns)]
            sample = until_it_does_not_hang(runner, row, row.contestants[column], result, column)
            result.samples.setdefault(column, []).append(sample)
    for column, contestant in row.hangs.items() if chosen.hang_tries else ():
        tries = [runner.run(contestant.argv, chosen.hang_limit) for _ in range(chosen.hang_tries)]
        result.hangs[column] = (sum(sample.status == "hung" for sample in tries), len(tries))
    return result


def soak(runner, launchers, count):
    argv = launchers.plain(64, ["true"])["dlaunch"]
    samples = [runner.run(argv, 20) for _ in range(count)]
    bad = [sample.why for sample in samples if sample.status != "ok"]
    return f"`dlaunch -n 64 true` {count} times: {len(bad)} hung or failed" + "".join(f"; {why}" for why in bad[:3]) + "."


def open_testbed(stack, chosen, notes):
    """The hosts of the ssh rows, or None; appends the reason to `notes`."""
    if not ssh_rows.wanted(chosen.only):
        return None
    if reason := ssh_rows.why_not():
        notes.append(f"Skipped the rows of other hosts: {reason}.")
        progress(notes[-1])
        return None
    return stack.enter_context(ssh_rows.testbed.Testbed(ssh_rows.COUNTS[-1]))


def open_slurm(stack, scratch, chosen, notes):
    """The result of slurm_rows.allocation(), or None; appends the reason to `notes`."""
    if not slurm_rows.wanted(chosen.only):
        return None
    if reason := ssh_rows.why_not() or slurm_rows.why_not():
        notes.append(f"Skipped the rows of a Slurm job: {reason}.")
        progress(notes[-1])
        return None
    return stack.enter_context(slurm_rows.allocation(scratch))


def can_torchrun(notes):
    """Whether torchrun can be measured; if not, appends the reason to `notes`."""
    if reason := recovery_rows.why_no_torchrun():
        notes.append(f"Skipped torchrun: {reason}.")
        progress(notes[-1])
    return not reason


def mpi_libraries(launchers, programs, chosen, notes):
    keys = [*(f"{key}-" for key in ("mpich", "openmpi")), *(f"ssh-{key}-" for key in ("mpich", "openmpi"))]
    if chosen.only and not any(key.startswith(only) or only.startswith(key) for key in keys for only in chosen.only):
        return []
    said = len(notes)
    found = list(mpi_rows.libraries(launchers, programs, notes))
    for note in notes[said:]:
        progress(note)
    return found


def measure_all(launchers, programs, scratch, files, chosen):
    """The result of each row, and the table."""
    results, facts, notes = [], report.facts(launchers), []
    with contextlib.ExitStack() as stack:
        bed = open_testbed(stack, chosen, notes)
        hosts = [host.pid for host in (bed.head, *bed.hosts.values())] if bed else []
        nodes, variables, daemons = open_slurm(stack, scratch, chosen, notes) or (None, [], [])
        hosts += [*(host.pid for host in (nodes.head, *nodes.hosts.values())), *daemons] if nodes else []
        runner = measure.Runner(scratch, programs, hosts)
        all_rows = rows.all_rows(launchers, programs, files)
        libraries = mpi_libraries(launchers, programs, chosen, notes)
        all_rows += mpi_rows.mpi_rows(launchers, libraries)
        if bed:
            all_rows += ssh_rows.ssh_rows(launchers, programs, bed)
            all_rows += mpi_rows.mpi_ssh_rows(ssh_rows.Ways(launchers, programs, bed), libraries)
        if nodes:
            all_rows += slurm_rows.slurm_rows(launchers, programs, nodes, variables, scratch)
        if recovery_rows.wanted(chosen.only) and not (chosen.write and not chosen.only):
            all_rows += recovery_rows.recovery_rows(launchers, scratch, can_torchrun(notes))
        if chosen.before:
            all_rows = [row.paired_with(launchers.dlaunch, chosen.before) for row in all_rows if "dlaunch" in row.contestants]
        for row in all_rows:
            if not chosen.only or any(row.key.startswith(key) for key in chosen.only):
                progress(f"{row.key} …")
                results.append(measure_row(runner, row, chosen))
        if chosen.soak and launchers.dlaunch:
            notes.append(soak(runner, launchers, chosen.soak))
    return results, report.markdown(results, facts, notes)


def main():
    chosen = options()
    programs = {name: f"{chosen.build}/bench/{name}" for name in PROGRAMS}
    missing = [path for path in programs.values() if not os.access(path, os.X_OK)]
    if missing:
        sys.exit(f"bench: {missing[0]}: not built\nrun scripts/bench, or set --build")
    for name in MPI_PROGRAMS:
        path = f"{chosen.build}/bench/{name}"
        programs[name] = path if os.access(path, os.X_OK) else None
    dlaunch = chosen.dlaunch or f"{chosen.build}/bin/dlaunch"
    if not os.access(dlaunch, os.X_OK):
        if chosen.dlaunch:
            sys.exit(f"bench: {dlaunch}: not executable\nset --dlaunch to the path of the binary")
        progress(f"bench: {dlaunch}: not found: measuring only floors and other launchers")
        dlaunch = None
    measure.become_subreaper()
    scratch = tempfile.mkdtemp(prefix="dlaunch-bench-")
    files = tempfile.mkdtemp(prefix="dlaunch-bench-", dir="/dev/shm")
    try:
        results, text = measure_all(rows.Launchers(dlaunch), programs, scratch, files, chosen)
        print(text)
        if chosen.write:
            report.write(f"{ROOT}/docs/performance.md", text, *chosen.only)
    finally:
        measure.sweep(0)
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(files, ignore_errors=True)
    sys.exit(0 if all(result.sound() for result in results) else 1)


if __name__ == "__main__":
    main()
