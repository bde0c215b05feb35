#!/usr/bin/env python3
"""A data-parallel training with PyTorch on CPUs: a small network learns y = sin(x). Each rank computes the gradients of
its shard of the data, and gloo averages the gradients. With --checkpoint, the training continues from its last
checkpoint after a failure.

    dlaunch -n 4 --env-for torch python3 examples/ddp.py
    dlaunch -H node1:2,node2:2 --env-for torch python3 examples/ddp.py
    dlaunch -H node1:2,node2:2,node3:2 --spares 1 --restarts 3 --env-for torch \\
        python3 examples/ddp.py --checkpoint /shared/ddp.checkpoint
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def shard(rank, size, samples):
    """Returns x and y of the samples rank, rank + size, rank + 2 size, ..."""
    x = torch.rand(samples, 1, generator=torch.Generator().manual_seed(1)) * 6 - 3
    return x[rank::size], torch.sin(x)[rank::size]


def mean_over_ranks(loss):
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def load(path, net, optimizer):
    """Reads the checkpoint. Returns its last step, or 0 without a checkpoint."""
    if not path or not os.path.exists(path):
        return 0
    state = torch.load(path)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def save(path, step, net, optimizer):
    """Replaces the checkpoint at once: a reader finds the old file or the new file, also after a kill."""
    with open(f"{path}.new", "wb") as file:
        torch.save({"step": step, "net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--samples", type=int, default=1024, help="over all ranks")
    options.add_argument("--checkpoint", metavar="FILE", help="written by rank 0 every 10 steps, read by all ranks at the start")
    args = options.parse_args()

    torch.set_num_threads(1)
    # From its second step on, DistributedDataParallel adds gradients in another order. After a restart, the last digits
    # of a float32 would therefore differ.
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo")  # reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    done = load(args.checkpoint, net, optimizer)
    model = DistributedDataParallel(net)
    x, y = shard(rank, size, args.samples)
    for step in range(done + 1, args.steps + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            mean = mean_over_ranks(loss)
            if rank == 0:
                print(f"step {step} of {args.steps} on {size} ranks: loss {mean:.9f}", flush=True)
                if args.checkpoint:
                    save(args.checkpoint, step, net, optimizer)
    dist.barrier()
    # PyTorch 1.13 over gloo may hang in destroy_process_group. On a busy machine, PyTorch may also abort at the exit of
    # the process ("terminate called without an active exception"). Therefore, exit without running destructors.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
