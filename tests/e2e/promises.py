"""The index of the end-to-end tests: which test holds which promise of docs/how-it-works.md, at which place, in which mode.

    @promise(ENDS, NAMES_FIRST, mode=KILL)               at the place of the test's class
    @promise(LOSES_NOTHING, mode=(RUN, FILES), place=SSH)

A test has the decorator if its own steps put the promise at risk and its own assertions check it. A test may have
several decorators. The attribute `place` of a class is the place of its tests. An unknown word is an error at import.

    python3 -B tests/e2e/promises.py --write    writes tests/e2e/README.md; tests/docs/test_promises.py compares the page
"""
import collections
import importlib
import os
import pathlib
import subprocess
import sys
import textwrap
import unittest
from unittest import mock

HERE_FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = HERE_FOLDER / "README.md"
COLUMNS = 118


class Word(collections.namedtuple("Word", "kind title meaning")):
    """A word of the vocabulary. Words are compared by identity."""
    __hash__ = object.__hash__
    __eq__ = object.__eq__


def words(kind, *rows):
    return [Word(kind, *row) for row in rows]


PROMISES = ENDS, LEAVES_NOTHING, LOSES_NOTHING, NAMES_FIRST, ONLY_SSHD = words(
    "promise",
    ("ends", "The job or the command ends in time."),
    ("leaves nothing", "No process, file or other trace of the job is left."),
    ("loses nothing", "Each byte of output and input arrives, in whole lines, or the loss is an error; memory is bounded."),
    ("names first", "The rank or host that failed first is named with the reason, and its code is the exit code."),
    ("only sshd", "Hosts need no daemon and no installation: only sshd, or the command of the place."))

PLACES = HERE, FAKE_HOSTS, SSH, COMMAND, SLURM, SGE, PBS, PALS, LSF, FLUX, KUBERNETES, SAME_LINE = words(
    "place",
    ("here", "ranks on this machine only"),
    ("fake hosts", "`--fake-hosts`"),
    ("ssh", "hosts with sshd"),
    ("exec", "`--exec`, or another command of the user"),
    ("Slurm", "jobs of Slurm, by srun"),
    ("SGE", "jobs of Grid Engine, by qrsh"),
    ("PBS", "jobs of PBS, by pbs_tmrsh or pbsdsh"),
    ("PALS", "jobs of PBS with PALS, by aprun"),
    ("LSF", "jobs of LSF, by blaunch"),
    ("Flux", "instances of Flux, by flux exec"),
    ("K8s", "pods of Kubernetes, by kubectl exec, ssh or `--same-line`"),
    ("same line", "`--same-line`"))

MODES = (RUN, START, FAILURE, KILL, SIGNAL, DEADLINE, HANG, SILENCE, ORPHANS, RESTARTS, PREEMPTION, FILES, BAD_DISK, READER, PTY,
         STDIN, MPI, SPAWN, STAGING, ATTACK, CLOCK, QUERY) = words(
    "mode",
    ("run", "a job without a fault"),
    ("start", "a host or a program that cannot start"),
    ("failure", "a rank that fails"),
    ("kill", "a killed process of dlaunch or of the transport"),
    ("signal", "a signal of the user, or a job that the batch system cancels"),
    ("time limit", "`--timeout`, or the time limit of a batch system"),
    ("hang", "ranks that hang"),
    ("silence", "silent, frozen or suspended hosts, and slow links"),
    ("daemons", "processes that ranks leave"),
    ("restarts", "`--restarts`, `--spares`, `--shrink`"),
    ("preemption", "`--checkpoint-signal`, requeued jobs"),
    ("files", "output files of the ranks"),
    ("disk", "full or frozen disks"),
    ("reader", "a slow, stopped or closed reader of the output"),
    ("pty", "`--pty`, or dlaunch on a terminal"),
    ("stdin", "`--stdin`"),
    ("MPI", "PMI-1, PMI-2 and PMIx"),
    ("spawn", "worlds that ranks spawn"),
    ("staging", "`--rank-dir`, `--stage`"),
    ("hostile", "hostile ranks, agents, launchers and users"),
    ("clock", "clocks that differ or jump"),
    ("query", "commands without ranks, and queries of hosts before the job"))

Held = collections.namedtuple("Held", "promises modes places")  # places: None for the place of the class
Row = collections.namedtuple("Row", "promise place mode test")


def known(kind, given):
    given = (given,) if isinstance(given, Word) else tuple(given)
    for word in given:
        if not isinstance(word, Word) or word.kind != kind:
            raise TypeError(f"unknown {kind} {word!r}")
    if not given:
        raise TypeError(f"missing {kind}")
    return given


def promise(*promises, mode, place=None):
    held = Held(known("promise", promises), known("mode", mode), None if place is None else known("place", place))

    def decorate(test):
        test.holds = [held, *getattr(test, "holds", [])]
        return test
    return decorate


# ---- the index ----

def load():
    """The modules of the tests. Programs that a module runs at its import only decide which tests are skipped."""
    nothing = subprocess.CompletedProcess([], 0, "", "")
    with mock.patch.dict(os.environ, {"DLAUNCH": "/nowhere/dlaunch", "PROGRAMS": "/nowhere/tests/programs"}), \
            mock.patch("subprocess.run", lambda *_, **__: nothing):
        return [importlib.import_module(path.stem) for path in sorted(HERE_FOLDER.glob("test_*.py"))]


def tests_of(module):
    """(class, function) of each test that the module runs."""
    for suite in vars(module).values():
        if isinstance(suite, type) and issubclass(suite, unittest.TestCase) and suite.__module__ == module.__name__:
            for name in unittest.defaultTestLoader.getTestCaseNames(suite):
                yield suite, name, getattr(suite, name)


def rows_of(module):
    for suite, name, test in tests_of(module):
        made = test.__name__ != name  # by a loop over a table
        told = f"{module.__name__[5:]}.{f'{suite.__name__}.*' if made else name[5:]}"
        for held in getattr(test, "holds", []):
            places = held.places or known("place", suite.place)
            for promised in held.promises:
                for at in places:
                    for mode in held.modes:
                        yield Row(promised, at, mode, told)


def index(modules):
    return list(dict.fromkeys(row for module in modules for row in rows_of(module)))


# ---- the page ----

def table(head, rows):
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] + ["--:"] * (len(head) - 1), *rows)]
    return "\n".join(lines) + "\n"


def wrapped(item):
    return textwrap.fill(item, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def counted(number, nothing):
    return str(number) if number else nothing


def overview(rows):
    """Places and promises; a test counts once in a cell."""
    cells = collections.Counter((at, promised) for promised, at, _ in {(row.promise, row.place, row.test) for row in rows})
    return table(["place", *(each.title for each in PROMISES)],
                 [[at.title, *(counted(cells[at, each], "**none**") for each in PROMISES)] for at in PLACES])


def section(promised, rows):
    cells = collections.Counter((row.mode, row.place) for row in rows)
    text = [f"## {promised.title.capitalize()}\n{promised.meaning}\n"]
    used = [mode for mode in MODES if any(cells[mode, at] for at in PLACES)]
    text.append(table(["mode", *(at.title for at in PLACES)],
                      [[mode.title, *(counted(cells[mode, at], "·") for at in PLACES)] for mode in used]))
    missing = [at.title for at in PLACES if not any(cells[mode, at] for mode in MODES)]
    if missing:
        text.append(f"Places without a test: {', '.join(missing)}.\n")
    for at in PLACES:
        listed = []
        for mode in MODES:
            names = [row.test for row in rows if (row.place, row.mode) == (at, mode)]
            if names:
                line = f"- **{mode.title}**: " + ", ".join(f"`{name}`" for name in names)
                listed.append(wrapped(line))
        if listed:
            text.append(f"### {promised.title.capitalize()}: {at.title}\n" + "\n".join(listed) + "\n")
    return "\n".join(text)


HEAD = """\
# End-to-end tests
Each `test_SUITE.py` runs the binary. `scripts/test` builds dlaunch and runs the suites:

    scripts/test -R e2e.cleanup

To run a suite or a single test without a new build, name the binary and the test programs of an earlier build:

    export DLAUNCH=$PWD/build/release/bin/dlaunch PROGRAMS=$PWD/build/release/tests/programs
    python3 -B tests/e2e/test_cleanup.py
    python3 -B tests/e2e/test_cleanup.py Cleanup.test_job_leaves_no_files

[CONTRIBUTING.md](../../docs/CONTRIBUTING.md) describes the other folders with tests. `tests/e2e/*_case.py` and
`support.py` have the helpers.

# Index of promises
This part lists the tests that check one of the [five promises](../../docs/how-it-works.md#five-promises), by place and
mode. `python3 -B tests/e2e/promises.py --write` makes this page from the decorators of the tests. The test
`unit.promises` fails if the page differs from the decorators.

A test is listed if the test causes a situation in which dlaunch could break the promise, and then checks the promise.
Other tests, for example of an error message or of a variable, are not listed. Every test has a time limit, and fails if
a process of its job is left; this check alone does not count. A test with several modes counts in each of the modes.

## Overview
"""


def impossible():
    """The shared tests that a place cannot have."""
    rows = importlib.import_module("manager_case").ROWS
    lines = [f"- **{at.title}**: `{test[5:]}`: {why}" for at in PLACES if at in rows for test, why in rows[at].impossible.items()]
    return "The common tests of `manager_case.py` run for each batch system, K8s and same line, with these exceptions:\n\n" + "\n".join(map(wrapped, lines)) + "\n"


def page(rows):
    meanings = "\n".join(f"- **{word.title}**: {word.meaning}" for word in PLACES)
    modes = "\n".join(f"- **{word.title}**: {word.meaning}" for word in MODES)
    of = {each: [row for row in rows if row.promise is each] for each in PROMISES}
    return "\n".join([HEAD + overview(rows), impossible(), f"The places:\n\n{meanings}\n", f"The modes:\n\n{modes}\n",
                      *(section(each, of[each]) for each in PROMISES)])


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    import promises  # the tests import this module, not __main__
    PAGE.write_text(promises.page(promises.index(promises.load())), encoding="utf-8")
