"""Tests jobs on hosts whose clocks differ: two hosts on this machine, each with a real agent whose clock is shifted."""
import json
import os

from hosts_case import own_lines
from promises import CLOCK, COMMAND, FAILURE, NAMES_FIRST, RESTARTS, promise
from support import Case, main, program, sh

RUNS = int(os.environ.get("CLOCK_RUNS", "1"))  # of each pair of clocks


class Clocks(Case):
    place = COMMAND
    # Each rank is called 0 or 1, and knows when the other one runs.
    BOTH = ': > started.$DLAUNCH_RANK; while [ ! -e started.$((1 - DLAUNCH_RANK)) ]; do sleep 0.02; done; '
    SHIFTS = [(0, -2), (0, 2), (-2, 0), (2, 0), (0, -20), (20, -20), (-500, 0), (0, 500), (500, -500), (-500, 500)]

    def on_hosts(self, shifts, *args):
        """Runs a job with one rank on each host. `shifts`: milliseconds by which the clock of each host is ahead."""
        hosts = ""
        for number, shift in enumerate(shifts):
            agent = self.dir / f"agent{number}"
            agent.write_text(f'#!/bin/sh\nCLOCK_SHIFT_MS={shift} exec {program("agent_with_shifted_clock")} "$@"\n')
            agent.chmod(0o755)
            hosts += f"host{number} slots=1 agent={agent}\n"
        (self.dir / "hosts").write_text(hosts)
        for file in self.dir.glob("started.*"):
            file.unlink()
        return self.run_dlaunch("--exec", "env HOST={host}", "--hostfile", "hosts", "--report", "record", *args)

    def record(self):
        return json.loads((self.dir / "record").read_text())

    @promise(NAMES_FIRST, mode=(CLOCK, FAILURE))
    def test_rank_that_dlaunch_ended_is_not_the_first_failure(self):
        for shifts in self.SHIFTS * RUNS:
            for failing in (0, 1):
                with self.subTest(shifts=shifts, failing=failing):
                    result = self.on_hosts(shifts, *sh(self.BOTH + f'[ $DLAUNCH_RANK != {failing} ] || exit 7; exec sleep 1000'))
                    self.assert_exit(result, 7)
                    self.assertRegex(own_lines(result.stderr)[0], rf"rank {failing} \(host host{failing}, .*exited with code 7")
                    record = self.record()
                    self.assertEqual(record["first_failure"]["rank"], failing)
                    self.assertEqual([rank["ended_by_us"] for rank in record["ranks"]], [failing == 1, failing == 0])

    @promise(NAMES_FIRST, mode=(CLOCK, FAILURE))
    def test_first_failure_is_found_by_corrected_times(self):
        for shifts in ((-3000, 0), (0, -3000), (3000, 0), (0, 3000)):
            for first in (0, 1):
                with self.subTest(shifts=shifts, first=first):
                    script = self.BOTH + f'[ $DLAUNCH_RANK = {first} ] || sleep 0.5; exit $((7 + DLAUNCH_RANK))'
                    result = self.on_hosts(shifts, "--on-failure", "continue", *sh(script))
                    self.assert_exit(result, 7 + first)
                    self.assertEqual(self.record()["first_failure"]["rank"], first)

    @promise(NAMES_FIRST, mode=(CLOCK, RESTARTS))
    def test_restart_rules_use_the_code_of_the_first_failure(self):
        script = self.BOTH + '[ $DLAUNCH_RANK = 1 ] || exit 7; exec sleep 1000'
        for shifts in ((0, -500), (-500, 0)):
            with self.subTest(shifts=shifts):
                result = self.on_hosts(shifts, "--restarts", 2, "--no-restart-codes", 7, *sh(script))
                self.assert_exit(result, 7)
                self.assertIn(b"no restart: exit code 7 is in --no-restart-codes", result.stderr)

    def test_times_of_ranks_are_times_of_their_hosts(self):
        result = self.on_hosts((-3600_000, 0), "--label", "{time} ", "echo", "x")
        self.assert_exit(result, 0)
        ranks = self.record()["ranks"]
        self.assertLess(ranks[0]["end"], ranks[1]["start"])
        times = sorted(result.stdout.decode().split(" x\n")[:2])
        self.assertEqual(len(times), 2)
        self.assertNotEqual(times[0][:13], times[1][:13])


if __name__ == "__main__":
    main()
