#!/usr/bin/env python3
"""run.py [NAME…]: builds the simulator with each known defect (list.py) and checks that a promise breaks.

Works in a copy of the sources below build/mutants, so that the checkout stays as it is. Exits with 1 if a defect stays
hidden, or if a defect no longer applies to its source.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
COPY = ROOT / "build/mutants/source"
BUILD = ROOT / "build/mutants/build"
PAIRS = os.environ.get("MUTANT_PAIRS", "80")  # each 80th pair, if the single faults do not show the defect

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from list import MUTANTS  # noqa: E402


def copy_sources():
    """Copies changed files only, so that ninja builds little."""
    for part in ["src", "include", "cmake", "tests", "bench", "docs", "CMakeLists.txt", "CMakePresets.json"]:
        source, target = ROOT / part, COPY / part
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", "--update", "-T", source, target], check=True)


def build():
    result = subprocess.run(["nice", "cmake", "--build", BUILD, "--target", "simulate"], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stdout[-2000:]


def broken(*mode):
    """The promises that break in this mode."""
    result = subprocess.run([BUILD / "tests/sim/simulate", *mode], capture_output=True, text=True, timeout=900,
                            env={**os.environ, "MALLOC_PERTURB_": "85", "SIMULATE_NO_SHRINK": "1",
                                 "SIMULATE_KNOWN": str(ROOT / "tests/sim/known.txt")})
    return sorted(set(re.findall(r"^BROKEN (.*)$", result.stdout, re.M)))


def judge(mutant):
    path = COPY / mutant["file"]
    text = path.read_text()
    if text.count(mutant["old"]) != 1:
        return "does not apply: the old text occurs %d times in %s" % (text.count(mutant["old"]), mutant["file"]), []
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        error = build()
        if error:
            return "does not build:\n" + error, []
        worlds = sorted(str(each) for each in (ROOT / "tests/sim/worlds").glob("*.txt"))
        found = broken("--worlds", *worlds) or broken("--singles") or broken("--pairs", PAIRS, "3")
        return ("" if found else "hidden"), found
    finally:
        shutil.copystat(ROOT / mutant["file"], path)
        path.write_text(text)


def main():
    wanted = set(sys.argv[1:])
    unknown = wanted - {each["name"] for each in MUTANTS}
    if unknown:
        sys.exit("unknown mutant: " + ", ".join(sorted(unknown)))
    copy_sources()
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DDLAUNCH_BENCH=OFF"], check=True, capture_output=True)
    error = build()
    if error:
        sys.exit("the sources without a defect do not build:\n" + error)
    failures = []
    for mutant in MUTANTS:
        if wanted and mutant["name"] not in wanted:
            continue
        problem, found = judge(mutant)
        print("%-40s %s" % (mutant["name"], problem or "killed by: " + "; ".join(found)[:160]), flush=True)
        if problem:
            failures.append(mutant["name"])
    print("%d mutants, %d not killed" % (len(wanted or MUTANTS), len(failures)))
    sys.exit(1 if failures else 0)


main()
