#include "agent/archive_extractor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/try.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

using Kind = wire::ArchiveItem::Kind;

constexpr mode_t kOurs = 0700;  // the directory must be writable while it is filled, whatever its permissions

tl::unexpected<Error> failed(const std::string& path, int error) {
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
  if (!parent) return failed(path_in(target), errno);
  if (item_.kind == Kind::file) {
    files_.push_back(parent.open_file(last_name(item_.name), O_WRONLY | O_CREAT | O_EXCL, item_.permissions));
    if (!files_.back()) return failed(path_in(target), errno);
  } else if (!parent.make_below(last_name(item_.name), item_.permissions | kOurs)) {
    return failed(path_in(target), errno);  // the directory may exist already, for the launcher's log files
  }
  return {};
}

Result<void> ArchiveExtractor::content(std::string_view bytes) {
  if (item_.kind == Kind::link) target_ += bytes;
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (!sys::write_all(files_[i].get(), bytes)) return failed(path_in(targets_[i]), errno);
  }
  return {};
}

Result<void> ArchiveExtractor::end() {
  for (size_t i = 0; i < files_.size(); ++i) {
    at_(targets_[i].path);
    if (::close(files_[i].release()) != 0) return failed(path_in(targets_[i]), errno);  // NFS reports a full disk here
  }
  files_.clear();
  const std::string text = std::exchange(target_, {});
  if (item_.kind != Kind::link) return {};
  for (const Target& target : targets_) {
    at_(target.path);
    const sys::HeldDirectory parent = target.directory.open_parent_below(item_.name);
    const int error = parent ? parent.make_link(last_name(item_.name), text) : errno;
    if (error != 0) return failed(path_in(target), error);
  }
  return {};
}

}  // namespace dlaunch::agent
