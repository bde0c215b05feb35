#include "transport/command_words.h"

namespace dlaunch::transport {

bool is_dropped_login(std::string_view words) {
  return words.find("Connection closed by ") != words.npos || words.find("Connection reset by ") != words.npos;
}

}  // namespace dlaunch::transport
