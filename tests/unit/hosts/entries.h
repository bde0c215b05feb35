// Host entries as short texts for comparisons in tests.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::hosts {

/// "name:slots" per entry; "name" without slots; "name:*" if the slots are the CPUs.
inline std::vector<std::string> short_forms(const std::vector<HostEntry>& entries) {
  std::vector<std::string> forms;
  for (const HostEntry& entry : entries) {
    std::string form = entry.name;
    if (entry.slots) form += ":" + std::to_string(*entry.slots);
    if (entry.slots_automatic) form += ":*";
    forms.push_back(form);
  }
  return forms;
}

/// Returns the text of the error. Fails the test without an error.
template <class T>
std::string error_of(const Result<T>& result) {
  if (!result) {
    EXPECT_EQ(result.error().exit_code, kExitRefused);
    return to_text(result.error());
  }
  ADD_FAILURE() << "not refused";
  return "";
}

}  // namespace dlaunch::hosts
