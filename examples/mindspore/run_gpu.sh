#!/bin/sh
# run_gpu.sh DATA_PATH: 8 ranks on this host's GPUs, each in its own directory below device; all output in train.log.
exec dlaunch -n 8 --env-for openmpi -x DATA_PATH="$1" --rank-dir 'device/{rank}' --stage train.py \
  python3 train.py > train.log 2>&1
