#include "base/error.h"

namespace dlaunch {

std::string to_text(const Error& error) {
  std::string text = "dlaunch";
  for (const std::string* part : {&error.where, &error.what, &error.why}) {
    if (!part->empty()) text += ": " + *part;
  }
  text += '\n';
  if (!error.hint.empty()) text += "dlaunch:   " + error.hint + '\n';
  return text;
}

}  // namespace dlaunch
