#include "output/joint_errors.h"

#include <algorithm>
#include <utility>

#include "base/shared_texts.h"
#include "base/text.h"
#include "sys/held_directory.h"

namespace dlaunch::output {

constexpr std::size_t kNamedPaths = 8;

Error cannot_keep(const std::string& step, int error) {
  return {.where = "--keep-logs",
          .what = "cannot " + step,
          .why = sys::why_not_opened(error),
          .hint = "use another directory, or leave out --keep-logs: dlaunch then overwrites the old files"};
}

Error killed_error(const std::string& step, const std::string& oom) {
  return {.where = "",
          .what = "cannot " + step,
          .why = "the process that writes the ranks' files was killed" + oom,
          .hint = "check dmesg: the kernel kills processes if memory is used up",
          .exit_code = kExitOutput};
}

Error no_answer(const std::string& step) {
  return {.where = "",
          .what = "cannot " + step,
          .why = std::string(kDiskIsSilent),
          .hint = "use a path on a disk that responds",
          .exit_code = kExitOutput};
}

std::string path_list(const std::vector<std::string>& paths) {
  std::string list;
  const std::size_t named = std::min(paths.size(), kNamedPaths);
  for (std::size_t i = 0; i < named; ++i) list += (i == 0 ? "" : ", ") + paths[i];
  if (named < paths.size()) list += " and " + count(paths.size() - named, "other file");
  return list;
}

std::vector<Error> join_errors(const std::vector<Error>& errors) {
  struct Group {
    std::string verb;  // with the space after it
    std::vector<std::string> paths;
    Error first;
  };
  std::vector<Group> groups;
  for (const Error& error : errors) {
    const std::size_t space = error.what.find(' ', error.what.find(' ') + 1);
    const std::size_t path = space == std::string::npos ? 0 : space + 1;
    const std::string verb = error.what.substr(0, path);
    auto group = std::ranges::find_if(
        groups, [&](const Group& each) { return each.verb == verb && each.first.why == error.why; });
    if (group == groups.end()) group = groups.insert(group, {verb, {}, error});
    group->paths.push_back(error.what.substr(path));
  }
  std::vector<Error> joint;
  for (Group& group : groups) {
    joint.push_back(std::move(group.first));
    joint.back().what = group.verb + path_list(group.paths);
  }
  return joint;
}

}  // namespace dlaunch::output
