#include "app/run.h"
#include "sys/inherited.h"

int main(int argc, char** argv) {
  const dlaunch::app::End end = dlaunch::app::run(argc, argv);
  if (end.signal != 0) dlaunch::sys::die_of(end.signal);
  return end.exit_code;
}
