#!/usr/bin/env python3
"""A data-parallel training with PyTorch on CPUs: a small network learns y = sin(x) from each rank's shard of the data, its
gradients averaged over gloo.

    dlaunch -n 4 --env-for torch python3 examples/ddp.py
    dlaunch -H node1:2,node2:2 --env-for torch python3 examples/ddp.py
"""
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def shard(rank, size, samples):
    """Every size-th sample, beginning with the rank's own."""
    x = torch.rand(samples, 1, generator=torch.Generator().manual_seed(1)) * 6 - 3
    return x[rank::size], torch.sin(x)[rank::size]


def mean_over_ranks(loss):
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--samples", type=int, default=1024, help="over all ranks")
    args = options.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x, y = shard(rank, size, args.samples)
    for step in range(1, args.steps + 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            mean = mean_over_ranks(loss)
            if rank == 0:
                print(f"step {step} of {args.steps} on {size} ranks: loss {mean:.9f}")
    dist.barrier()  # and not destroy_process_group, in which PyTorch 1.13 over gloo now and then hangs


if __name__ == "__main__":
    main()
