#!/usr/bin/env python3
"""run.py [NAME…]: builds the simulator with each known defect (list.py) and checks that a promise breaks.

Works in a copy of the sources below build/mutants, so that the checkout stays as it is. Exits with 1 if a defect stays
hidden, breaks another promise than list.py names, or no longer applies to its source.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
COPY = ROOT / "build/mutants/source"
BUILD = COPY / "build/sim"  # as the build of a checkout, so that the two share the cache of the compiler
PAIRS = os.environ.get("MUTANT_PAIRS", "200")  # each 200th pair, if the single faults do not show the defect
LONGEST = 600  # seconds of a battery
MEMORY = 4 << 30  # a defect may allocate without end

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from list import MUTANTS, PROMISES  # noqa: E402

ENVIRONMENT = {**os.environ, "CCACHE_BASEDIR": str(ROOT.parent), "CCACHE_NOHASHDIR": "1", "MALLOC_PERTURB_": "85",
               "SIMULATE_NO_SHRINK": "1", "SIMULATE_MOST_BROKEN": "20", "SIMULATE_LONGEST": "5",
               "SIMULATE_KNOWN": str(COPY / "tests/sim/known.txt")}


def copy_sources():
    """Copies changed files only, so that ninja builds little."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout
    wanted = set()
    for name in listed.rstrip("\0").split("\0"):
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        wanted.add(target)
        if target.exists() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    for left in [each for each in COPY.rglob("*") if each.is_file() and BUILD not in each.parents]:
        if left not in wanted:
            left.unlink()


def build():
    result = subprocess.run(["nice", "cmake", "--build", BUILD, "--target", "simulate"], capture_output=True, text=True,
                            env=ENVIRONMENT)
    return "" if result.returncode == 0 else result.stdout[-3000:]


def run(*mode):
    """The output of the simulator, and whether it ended in time. No process of it is left."""
    def limit_memory():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    process = subprocess.Popen(["nice", BUILD / "tests/sim/simulate", *mode], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL, env=ENVIRONMENT, start_new_session=True,
                               preexec_fn=limit_memory)
    try:
        return process.communicate(timeout=LONGEST)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], False


def promise_of(text):
    for name, pattern in PROMISES.items():
        if re.match(pattern, text):
            return name
    sys.exit('no promise in list.py has the text "%s"' % text)


def broken(*mode):
    """The promises that break in this mode: texts by the name of the promise."""
    output, in_time = run(*mode)
    found = {}
    for text, example in re.findall(r"^BROKEN (.*)\n.*\n  (.*)$", output, re.M):
        found.setdefault(promise_of(text), []).append((text, example))
    if not in_time or not re.search(r" worlds, \d+ with", output):
        found.setdefault("the simulator ends", []).append(("the simulator did not end", ""))
    return found


def modes():
    worlds = sorted(str(each) for each in (COPY / "tests/sim/worlds").glob("*.txt"))
    return ["--worlds", *worlds], ["--singles"], ["--pairs", PAIRS, "3"]


def verdict(mutant):
    """What breaks, until the promise that list.py names breaks."""
    found = {}
    for mode in modes():
        for promise, texts in broken(*mode).items():
            found.setdefault(promise, [(mode[0], *each) for each in texts])
        if mutant["killed_by"] in found or (found and not mutant["killed_by"]):
            break
    return found


def judge(mutant):
    path = COPY / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        return "does not apply: the old text occurs %d times in %s" % (text.count(mutant["old"]), mutant["file"]), {}
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        error = build()
        if error:
            return "does not build:\n" + error, {}
        found = verdict(mutant)
        if not found:
            return "hidden", found
        return "" if mutant["killed_by"] in found else "killed by: " + ", ".join(sorted(found)), found
    finally:
        path.write_text(text)  # its new time makes the next build compile the file again


def main():
    wanted = set(sys.argv[1:])
    unknown = wanted - {each["name"] for each in MUTANTS}
    if unknown:
        sys.exit("unknown mutant: " + ", ".join(sorted(unknown)))
    unproven = set(PROMISES) - {each["killed_by"] for each in MUTANTS}
    if unproven:
        print("no mutant breaks the promise: " + ", ".join(sorted(unproven)))
    copy_sources()
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DDLAUNCH_WERROR=ON"], check=True, capture_output=True, env=ENVIRONMENT)
    error = build()
    if error:
        sys.exit("the sources without a defect do not build:\n" + error)
    for mode in modes():
        if found := broken(*mode):
            sys.exit("the sources without a defect break promises: %s %s" % (mode[0], found))
    failures = []
    for mutant in MUTANTS:
        if wanted and mutant["name"] not in wanted:
            continue
        begin = time.monotonic()
        problem, found = judge(mutant)
        print("%-36s %4.0f s  %s" % (mutant["name"], time.monotonic() - begin, problem or "killed by: " + mutant["killed_by"]),
              flush=True)
        for promise, texts in found.items():
            for mode, text, example in texts[:2]:
                print("    %s: %s\n        %s %s" % (promise, text, mode, example), flush=True)
        if problem:
            failures.append(mutant["name"])
    print("%d mutants, %d not killed: %s" % (len(wanted or MUTANTS), len(failures), " ".join(failures)))
    sys.exit(1 if failures or unproven else 0)


main()
