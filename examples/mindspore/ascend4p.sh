#!/bin/sh
# ascend4p.sh: like ascend8p.sh, but on devices 4 to 7, which its rank table lists.
exec dlaunch --rank-table hccl_4p_4567_127.0.0.1.json --ranks 0 python3 -u train.py > train.log 2>&1
