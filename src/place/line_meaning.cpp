#include "place/line_meaning.h"

#include "place/manager_row.h"

namespace dlaunch::place {

LineMeaning meaning_of(std::string_view line) {
  for (const ManagerRow* const manager : managers()) {
    const LineMeaning meaning = manager->meaning ? manager->meaning(line) : LineMeaning::unknown;
    if (meaning != LineMeaning::unknown) return meaning;
  }
  return LineMeaning::unknown;
}

bool ends_step(LineMeaning meaning) { return is_order(meaning) || meaning == LineMeaning::node_failed; }

bool leaves_nothing(LineMeaning meaning) { return ends_step(meaning) || meaning == LineMeaning::job_ended; }

bool is_order(LineMeaning meaning) { return meaning == LineMeaning::cancelled || meaning == LineMeaning::time_limit; }

std::string_view hint_about(std::string_view line) {
  for (const ManagerRow* const manager : managers()) {
    const std::string_view hint = manager->hint ? manager->hint(line) : std::string_view();
    if (!hint.empty()) return hint;
  }
  return {};
}

}  // namespace dlaunch::place
