"""Runs random jobs with random faults on the testbed, from a seed, and checks the five promises after each step.
scripts/chaos runs this program in its own namespaces."""
import argparse
import itertools
import os
import pathlib
import shlex
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import promises  # noqa: E402
import rounds  # noqa: E402
from draw import draw_named, silent  # noqa: E402
from field import field, testbed  # noqa: E402
from run_step import run_step  # noqa: E402

SKIPPED = 77
KNOWN = pathlib.Path(__file__).resolve().parent / "known.txt"


def tell(step, seen, wrong):
    print(f"seed {step.seed}, step {step.name}: BROKEN")
    print("  dlaunch " + shlex.join(step.words()))
    for done in seen.done:
        print(f"  {done.fault}: done after {done.time - seen.started:.3f} s{'' if done.hit else ', no target'}")
    print(f"  ended with {seen.code} after {seen.ended - seen.started:.2f} s, on a machine {seen.slow:.1f} times slower than a quiet one")
    for text in wrong:
        print("  " + text)
    own = [line for line in seen.err.decode(errors="replace").splitlines() if line.startswith("dlaunch: ")]
    print("".join(f"  said: {line}\n" for line in own[-12:]), end="")
    print(f"  once more: scripts/chaos --seed {step.seed} --step {step.name}", flush=True)


def steps(arguments):
    """(seed, name of the step), endless unless one step is named."""
    if arguments.step:
        yield arguments.seed, arguments.step
        return
    if arguments.known:
        for line in KNOWN.read_text().splitlines():
            if not line.startswith("#"):
                seed, name = line.split()[:2]
                yield int(seed), name
    for number in itertools.count(arguments.first):
        if arguments.pairs:
            yield arguments.seed, f"{number}p"
            continue
        if not arguments.restarts:
            yield arguments.seed, str(number)
            yield arguments.seed, f"{number}s"
        yield arguments.seed, f"{number}r"
        yield arguments.seed, f"{number}sr"
        if not arguments.restarts:
            yield arguments.seed, f"{number}p"


def is_quick(step):
    """Whether no fault of the step requires a wait for a heartbeat timeout."""
    return not any(silent(fault) for fault in step.faults)


def main():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--step", help="run only this step: a number, followed by r for a job with restarts, s for the same line on each node, sr for both, p for a silent host with a second fault")
    parser.add_argument("--first", type=int, default=1, metavar="STEP", help="the first step")
    parser.add_argument("--restarts", action="store_true", help="only jobs with restarts")
    parser.add_argument("--pairs", action="store_true", help="only jobs with a silent host and a second fault")
    parser.add_argument("--known", action="store_true", help="first run the steps of tests/chaos/known.txt, which broke a promise once")
    parser.add_argument("--quick", action="store_true", help="skip steps with a silent host, which take half a minute each")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="run every N-th step from the K-th on, for N parallel processes")
    parser.add_argument("--verbose", action="store_true", help="print one line per step")
    arguments = parser.parse_args()
    if reason := testbed.why_not():
        print(f"chaos: {reason}", file=sys.stderr)
        return 1 if os.environ.get("NO_SKIP") else SKIPPED
    # A shell's background job ignores SIGINT, and the jobs would inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dlaunch, programs = os.environ["DLAUNCH"], pathlib.Path(os.environ["PROGRAMS"])
    print(f"seed {arguments.seed}", flush=True)
    bad = ran = 0
    until = time.monotonic() + 60 * arguments.minutes
    with field() as where:
        part, parts = map(int, arguments.part.split("/"))
        for seed, name in itertools.islice(steps(arguments), part - 1, None, parts):
            if time.monotonic() >= until:
                break
            step = draw_named(seed, name)
            if arguments.quick and not is_quick(step):
                continue
            seen = run_step(step, where, dlaunch, programs, promises.settles)
            wrong = (rounds if step.restarts else promises).broken(step, seen)
            ran += 1
            if wrong:
                bad += 1
                tell(step, seen, wrong)
            elif arguments.verbose:
                print(f"seed {seed}, step {name}: {step.ranks} ranks, {step.way}, {step.mpi or step.mode}, {len(seen.done)} of {len(step.faults)} faults, "
                      f"{len(seen.rounds) or 1} of {step.restarts + 1} rounds, code {seen.code}, {seen.ended - seen.started:.2f} s, nothing left after {seen.settled - seen.started:.2f} s", flush=True)
    print(f"seed {arguments.seed}: {ran} steps, {bad} broke a promise")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
