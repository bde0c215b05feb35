#include "cli/say.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dlaunch::cli {

int complain(const Error& error) {
  std::fputs(to_text(error).c_str(), stderr);
  return error.exit_code;
}

void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fputs(("dlaunch: note: " + note + '\n').c_str(), stderr);
}

int print(const std::string& text, int exit_code) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return exit_code;
  if (errno == EPIPE) return exit_code;
  return complain({"stdout", "cannot write", std::strerror(errno), "", kExitOutput});
}

}  // namespace dlaunch::cli
