#!/usr/bin/env python3
"""A toy data-parallel training: each rank fits y = 3x - 2 on its own shard of the data. Standard library only.

    dlaunch -n 8 --fake-devices 8 --label python3 examples/train.py
"""
import argparse
import os
import random
import sys
import time


def variable(name, own_name, default):
    """A number that the launcher sets for this rank. A process without a launcher is rank 0 of 1."""
    return int(os.environ.get(name) or os.environ.get(own_name) or default)


def shard(rank, size, samples):
    """The samples rank, rank + size, rank + 2 size, ..."""
    source = random.Random(1)
    points = [source.uniform(-1, 1) for _ in range(samples)]
    return [(x, 3 * x - 2 + source.gauss(0, 0.05)) for x in points][rank::size]


def descend(weight, bias, data, rate):
    """One step of gradient descent; returns the new weight and bias and the loss before the step."""
    errors = [(weight * x + bias - y, x) for x, y in data]
    loss = sum(e * e for e, _ in errors) / len(data)
    weight -= rate * 2 * sum(e * x for e, x in errors) / len(data)
    bias -= rate * 2 * sum(e for e, _ in errors) / len(data)
    return weight, bias, loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="per epoch (default 20)")
    parser.add_argument("--fail-rank", type=int, help="this rank fails in the second epoch")
    parser.add_argument("--fail-code", type=int, default=1, help="exit code of this rank (default 1)")
    options = parser.parse_args()

    rank = variable("RANK_ID", "DLAUNCH_RANK", 0)
    size = variable("RANK_SIZE", "DLAUNCH_SIZE", 1)
    device = variable("DEVICE_ID", "DLAUNCH_DEVICE", 0)
    data = shard(rank, size, samples=256 * size)
    print(f"rank {rank} of {size} on device {device}, {len(data)} samples")
    weight, bias = 0.0, 0.0
    for epoch in range(1, options.epochs + 1):
        for step in range(1, options.steps + 1):
            weight, bias, loss = descend(weight, bias, data, rate=0.1)
            time.sleep(0.005)  # stands for the computation of a real model
            if step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss:.4f}")
        if rank == options.fail_rank and epoch == min(2, options.epochs):
            print(f"device {device}: out of memory", file=sys.stderr)
            sys.exit(options.fail_code)
    print(f"done: y = {weight:.2f}x {bias:+.2f}")


if __name__ == "__main__":
    main()
