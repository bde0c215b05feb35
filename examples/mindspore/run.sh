#!/bin/sh
# run.sh DATA_PATH RANK_SIZE: starts a rank for each device of rank_table_<RANK_SIZE>pcs.json on this host. Each rank
# runs in its own directory (device0, device1, …). The directory has the program, the environment of the rank (env.log)
# and the output of the rank (train.log0, train.log1, …).
exec dlaunch --rank-table "rank_table_$2pcs.json" -x DATA_PATH="$1" --rank-dir 'device{rank}' --stage train.py --save-env \
  --output-filename 'device{rank}/train.log{rank}:nocopy' --merge-stderr-to-stdout python3 train.py
