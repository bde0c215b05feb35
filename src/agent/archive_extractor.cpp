#include "agent/archive_extractor.h"

#include <fcntl.h>

#include <cerrno>
#include <ranges>
#include <utility>

#include "base/try.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

using Kind = wire::ArchiveItem::Kind;

constexpr mode_t kOurs = 0700;  // the directory must be writable while it is filled, whatever its permissions

tl::unexpected<Error> path_error(const std::string& path, int error) {
  return fail({.where = "", .what = "cannot write " + path, .why = sys::why_not_opened(error), .hint = ""});
}

std::string last_name(const std::string& name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

ArchiveExtractor::ArchiveExtractor(std::vector<Target> targets, AtPath at)
    : targets_(std::move(targets)),
      at_(std::move(at)),
      reader_({[this](const wire::ArchiveItem& item) { return begin(item); },
               [this](std::string_view bytes) { return content(bytes); }, [this] { return end(); }}) {}

Result<void> ArchiveExtractor::begin(const wire::ArchiveItem& item) {
  item_ = item;
  for (const Target& target : targets_) {
    at_(target.path);
    TRY(begin_in(target));
  }
  return {};
}

Result<void> ArchiveExtractor::begin_in(const Target& target) {
  if (item_.kind == Kind::link) return {};
  const sys::HeldDirectory parent = target.directory.open_parent_below(item_.name);
  if (!parent) return path_error(path_in(target), errno);
  if (item_.kind == Kind::file) {
    files_.push_back(parent.open_file(last_name(item_.name), O_WRONLY | O_CREAT | O_EXCL, item_.permissions));
    if (!files_.back()) return path_error(path_in(target), errno);
    ::fchmod(files_.back().get(), item_.permissions);  // adds what the umask removed; some file systems have no modes
    return {};
  }
  return make_directory(target, parent);
}

/// An existing directory keeps its mode: the launcher may have created the directory for log files, or another user may
/// have moved a directory of this user here. Only an empty directory counts as new.
Result<void> ArchiveExtractor::make_directory(const Target& target, const sys::HeldDirectory& parent) {
  const std::string name = last_name(item_.name);
  const bool is_new = ::mkdirat(parent.fd(), name.c_str(), item_.permissions | kOurs) == 0;
  if (!is_new && errno != EEXIST) return path_error(path_in(target), errno);
  const sys::HeldDirectory made = parent.open_below(name);
  const auto facts = made ? made.facts() : std::nullopt;
  if (!facts) return path_error(path_in(target), errno);
  bool is_empty = true;
  const int error = made.for_each_entry([&](const dirent&) { return is_empty = false; });
  if (is_new && is_empty && error == 0) made_.push_back({target, item_.name, item_.permissions, *facts});
  return {};
}

Result<void> ArchiveExtractor::set_modes() const {
  for (const Made& made : std::views::reverse(made_)) {  // a directory before its parent
    at_(made.target.path);
    const sys::HeldDirectory parent = made.target.directory.open_parent_below(made.name);
    const sys::HeldDirectory directory = parent ? parent.open_below(last_name(made.name)) : sys::HeldDirectory();
    const auto facts = directory ? directory.facts() : std::nullopt;
    const int error = facts ? ESTALE : errno;
    if (!facts || !sys::is_same(*facts, made.facts)) return path_error(made.target.path + '/' + made.name, error);
    directory.set_mode(made.mode | (facts->st_mode & S_ISGID));  // some file systems have no modes
  }
  return {};
}

Result<void> ArchiveExtractor::content(std::string_view bytes) {
  if (item_.kind == Kind::link) target_ += bytes;
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (!sys::write_all(files_[i].get(), bytes)) return path_error(path_in(targets_[i]), errno);
  }
  return {};
}

Result<void> ArchiveExtractor::end() {
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (::close(files_[i].release()) != 0)
      return path_error(path_in(targets_[i]), errno);  // NFS reports a full disk here
  }
  files_.clear();
  const std::string text = std::exchange(target_, {});
  if (item_.kind != Kind::link) return {};
  for (const Target& target : targets_) {
    at_(target.path);
    const sys::HeldDirectory parent = target.directory.open_parent_below(item_.name);
    const int error = parent ? parent.make_link(last_name(item_.name), text) : errno;
    if (error != 0) return path_error(path_in(target), error);
  }
  return {};
}

}  // namespace dlaunch::agent
