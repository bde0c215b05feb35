#include "app/run.h"

int main(int argc, char** argv) { return dlaunch::app::run(argc, argv); }
