#!/usr/bin/env python3
"""Replaces a training program in tests: adds up the numbers of its steps, and continues from its last checkpoint.
usage: counter.py DIRECTORY STEPS"""
import os
import pathlib
import sys
import time

directory, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rank = os.environ["DLAUNCH_RANK"]
checkpoint = directory / f"checkpoint.{rank}"
directory.mkdir(parents=True, exist_ok=True)

step, total = 0, 0
if checkpoint.exists():
    step, total = map(int, checkpoint.read_text().split())
while step < steps:
    step += 1
    total += step * (int(rank) + 1)
    fresh = directory / f"checkpoint.{rank}.new"
    fresh.write_text(f"{step} {total}")
    fresh.replace(checkpoint)  # a reader finds the old file or the new file
    print(f"rank {rank} step {step}", flush=True)
    time.sleep(0.02)
print(f"rank {rank} result {total}", flush=True)
