#include "cli/run.h"

int main(int argc, char** argv) { return dlaunch::cli::run(argc, argv); }
