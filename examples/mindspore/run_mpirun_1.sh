#!/bin/sh
# run_mpirun_1.sh HOST HOST: starts 8 ranks on each of two hosts. log_output/1/rank.<rank>/stdout has the output of a
# rank.
exec dlaunch -n 16 -H "$1:8,$2:8" -x DATA_PATH=./MNIST_Data/train/ --env-for openmpi --output-filename log_output \
  --merge-stderr-to-stdout python3 train.py
