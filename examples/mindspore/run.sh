#!/bin/sh
# run.sh DATA_PATH RANK_SIZE: a rank for each device of rank_table_<RANK_SIZE>pcs.json on this host, in the directories
# device0, device1, …, with the program, its environment (env.log) and its output (train.log0, train.log1, …).
exec dlaunch --rank-table "rank_table_$2pcs.json" -x DATA_PATH="$1" --rank-dir 'device{rank}' --stage train.py --save-env \
  --output-filename 'device{rank}/train.log{rank}:nocopy' --merge-stderr-to-stdout python3 train.py
