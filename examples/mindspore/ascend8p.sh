#!/bin/sh
# ascend8p.sh: starts one rank for each of the 8 devices of the rank table. train.log has the output of only rank 0.
exec dlaunch --rank-table hccl_8p_01234567_127.0.0.1.json --ranks 0 python3 -u train.py > train.log 2>&1
