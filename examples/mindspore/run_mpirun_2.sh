#!/bin/sh
# run_mpirun_2.sh HOSTFILE: like run_mpirun_1.sh, but on the hosts of a file with lines such as "node1 slots=8".
exec dlaunch -n 16 --hostfile "$1" -x DATA_PATH=./MNIST_Data/train/ --env-for openmpi --output-filename log_output \
  --merge-stderr-to-stdout python3 train.py
