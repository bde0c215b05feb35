"""Chaos, seeded: random jobs and random faults on the testbed; after each step the five promises are checked. scripts/chaos
runs it in namespaces of its own."""
import argparse
import itertools
import os
import pathlib
import shlex
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from draw import draw  # noqa: E402
from field import field, testbed  # noqa: E402
from promises import broken, settles  # noqa: E402
from run_step import run_step  # noqa: E402

SKIPPED = 77
KNOWN = pathlib.Path(__file__).resolve().parent / "known.txt"


def tell(step, seen, wrong):
    print(f"seed {step.seed}, step {step.number}: BROKEN")
    print("  dlaunch " + shlex.join(step.words()))
    for done in seen.done:
        print(f"  {done.fault}: done after {done.time - seen.started:.3f} s{'' if done.hit else ', nobody there'}")
    print(f"  ended with {seen.code} after {seen.ended - seen.started:.2f} s")
    for text in wrong:
        print("  " + text)
    own = [line for line in seen.err.decode(errors="replace").splitlines() if line.startswith("dlaunch: ")]
    print("".join(f"  said: {line}\n" for line in own[-12:]), end="")
    print(f"  once more: scripts/chaos --seed {step.seed} --step {step.number}", flush=True)


def steps(arguments):
    """(seed, step), without end but where one is named."""
    if arguments.step:
        yield arguments.seed, arguments.step
        return
    if arguments.known:
        for line in KNOWN.read_text().splitlines():
            if not line.startswith("#"):
                yield tuple(int(word) for word in line.split()[:2])
    yield from ((arguments.seed, number) for number in itertools.count(1))


def main():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--step", type=int, help="only this one")
    parser.add_argument("--known", action="store_true", help="first the steps that broke a promise once: tests/chaos/known.txt")
    parser.add_argument("--verbose", action="store_true", help="a line for each step")
    arguments = parser.parse_args()
    if reason := testbed.why_not():
        print(f"chaos: {reason}", file=sys.stderr)
        return 1 if os.environ.get("NO_SKIP") else SKIPPED
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would our jobs
    dlaunch, programs = os.environ["DLAUNCH"], pathlib.Path(os.environ["PROGRAMS"])
    print(f"seed {arguments.seed}", flush=True)
    bad = ran = 0
    until = time.monotonic() + 60 * arguments.minutes
    with field() as where:
        for seed, number in steps(arguments):
            if time.monotonic() >= until:
                break
            step = draw(seed, number)
            seen = run_step(step, where, dlaunch, programs, settles)
            wrong = broken(step, seen)
            ran += 1
            if wrong:
                bad += 1
                tell(step, seen, wrong)
            elif arguments.verbose:
                print(f"seed {seed}, step {number}: {step.ranks} ranks, {step.way}, {step.mpi or step.mode}, {len(seen.done)} of {len(step.faults)} faults, code "
                      f"{seen.code}, {seen.ended - seen.started:.2f} s, nothing left after {seen.settled - seen.started:.2f} s", flush=True)
    print(f"seed {arguments.seed}: {ran} steps, {bad} broke a promise")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
