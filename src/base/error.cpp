#include "dlaunch/error.h"

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch {

std::string to_text(const Error& error) {
  std::string text = "dlaunch";
  std::string why;
  for (const std::string& line : split(trim(error.why), '\n')) why += (why.empty() ? "" : "\n  ") + line;
  for (const std::string& part : {error.where, error.what, why}) {
    if (!part.empty()) text += ": " + part;
  }
  if (!error.hint.empty()) text += "\ndlaunch:   " + error.hint;
  std::string shown;
  for (const std::string& line : split(text, '\n')) shown += escaped(line) + '\n';
  return shown;
}

}  // namespace dlaunch
