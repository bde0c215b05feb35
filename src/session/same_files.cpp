#include "session/same_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "sys/files.h"
#include "sys/helper_process.h"
#include "sys/io.h"

namespace dlaunch::session {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLookWait{5};
constexpr int kMostLinks = 40;  // as the kernel

/// The name that a link without a target leads to.
fs::path target_of(fs::path path) {
  std::error_code not_a_link;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path target = fs::read_symlink(path, not_a_link);
    if (not_a_link) break;
    path = path.parent_path() / target;
  }
  return path;
}

std::string identity_of(const std::string& path) {
  struct stat facts{};
  const auto text = [&] { return std::to_string(facts.st_dev) + ':' + std::to_string(facts.st_ino); };
  if (::stat(path.c_str(), &facts) == 0) return S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode) ? text() : "";
  fs::path above = target_of(path);
  fs::path rest;
  while (above.has_relative_path()) {
    rest = rest.empty() ? above.filename() : above.filename() / rest;
    above = above.parent_path();
    if (::stat(above.c_str(), &facts) == 0) return text() + '/' + rest.lexically_normal().string();
  }
  return {};
}

/// A reader of our output does not wait for this process. Descriptors of files stay: paths name them.
void close_pipes(sys::HelperProcess::Ends ends) {
  const std::string descriptors = "/proc/self/fd/";
  std::vector<int> pipes;
  sys::for_each_entry(descriptors, [&](const dirent& entry) {
    const int descriptor = std::atoi(entry.d_name);
    const bool is_end = descriptor == ends.in || descriptor == ends.out;
    if (!is_end && !sys::link_target(descriptors + entry.d_name).starts_with('/')) pipes.push_back(descriptor);
    return true;
  });
  for (const int descriptor : pipes) ::close(descriptor);
}

}  // namespace

std::optional<std::vector<FileIdentity>> file_identities(const std::vector<std::string>& paths, bool with_paths,
                                                         const sys::Wait& wait) {
  const auto look = [&](sys::HelperProcess::Ends ends) {
    close_pipes(ends);
    std::string all;
    for (const std::string& path : paths) {
      std::error_code ignored;
      all.append(identity_of(path)) += '\0';
      if (with_paths) all += fs::weakly_canonical(target_of(path), ignored).string();
      all += '\0';
    }
    sys::write_all(ends.out, all);
  };
  const auto helper = sys::HelperProcess::start(look, sys::HelperProcess::Inherited::kept);
  const auto all = helper ? helper->read_all(kLookWait, nullptr, std::string::npos, wait) : std::nullopt;
  if (!all) return std::nullopt;
  const std::vector<std::string> texts = split(*all, '\0');
  std::vector<FileIdentity> found(paths.size());
  for (size_t i = 0; i < found.size() && 2 * i + 1 < texts.size(); ++i) found[i] = {texts[2 * i], texts[2 * i + 1]};
  return found;
}

}  // namespace dlaunch::session
