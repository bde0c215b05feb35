#!/bin/sh
# ascend8p.sh: a rank for each of the 8 devices of the rank table; rank 0's output in train.log, the others' nowhere.
exec dlaunch --rank-table hccl_8p_01234567_127.0.0.1.json --ranks 0 python3 -u train.py > train.log 2>&1
