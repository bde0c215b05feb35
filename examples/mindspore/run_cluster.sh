#!/bin/sh
# run_cluster.sh DATA_PATH RANK_TABLE_FILE: starts the ranks of all hosts of the rank table, from any of these hosts. Each
# rank runs in device_<rank> on its host. The output is on this host, in device_<rank>/train<rank>.log.
exec dlaunch --rank-table "$2" -x DATA_PATH="$1" --rank-dir 'device_{rank}' --stage train.py \
  --output-filename 'device_{rank}/train{rank}.log:nocopy' --merge-stderr-to-stdout python3 train.py
