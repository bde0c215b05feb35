#!/bin/sh
# run_mpirun_2.sh HOSTFILE: the same on the hosts of a file of lines such as "node1 slots=8".
exec dlaunch -n 16 --hostfile "$1" -x DATA_PATH=./MNIST_Data/train/ --env-for openmpi --output-filename log_output \
  --merge-stderr-to-stdout python3 train.py
