#!/bin/sh
# run_gpu.sh DATA_PATH: starts 8 ranks on this host's GPUs. Each rank runs in its own directory below device. train.log
# has the output of all ranks.
exec dlaunch -n 8 --env-for openmpi -x DATA_PATH="$1" --rank-dir 'device/{rank}' --stage train.py \
  python3 train.py > train.log 2>&1
