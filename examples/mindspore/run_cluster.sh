#!/bin/sh
# run_cluster.sh DATA_PATH RANK_TABLE_FILE: the ranks of all hosts of the rank table, started once, from any of them. Each
# runs in device_<rank> on its host; their output is here, in device_<rank>/train<rank>.log.
exec dlaunch --rank-table "$2" -x DATA_PATH="$1" --rank-dir 'device_{rank}' --stage train.py \
  --output-filename 'device_{rank}/train{rank}.log:nocopy' --merge-stderr-to-stdout python3 train.py
