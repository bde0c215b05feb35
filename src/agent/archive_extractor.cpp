#include "agent/archive_extractor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/try.h"
#include "sys/io.h"

namespace dlaunch::agent {
namespace {

using Kind = wire::ArchiveItem::Kind;

constexpr mode_t kOurs = 0700;  // the directory must be writable while it is filled, whatever its permissions

tl::unexpected<Error> failed(const std::string& path) {
  return fail({.where = "", .what = "cannot write " + path, .why = std::strerror(errno), .hint = ""});
}

}  // namespace

ArchiveExtractor::ArchiveExtractor(std::vector<std::string> dirs)
    : dirs_(std::move(dirs)),
      reader_({[this](const wire::ArchiveItem& item) { return begin(item); },
               [this](std::string_view bytes) { return content(bytes); }, [this] { return end(); }}) {}

Result<void> ArchiveExtractor::begin(const wire::ArchiveItem& item) {
  item_ = item;
  for (const std::string& dir : dirs_) {
    TRY(begin_in(dir + '/' + item.name));
  }
  return {};
}

Result<void> ArchiveExtractor::begin_in(const std::string& path) {
  if (item_.kind == Kind::file) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    files_.emplace_back(::open(path.c_str(), kFlags, item_.permissions));
    if (!files_.back()) return failed(path);
  } else if (item_.kind == Kind::directory) {
    // A directory may exist already, for the launcher's log files.
    if (::mkdir(path.c_str(), item_.permissions | kOurs) != 0 && errno != EEXIST) return failed(path);
  }
  return {};
}

Result<void> ArchiveExtractor::content(std::string_view bytes) {
  if (item_.kind == Kind::link) target_ += bytes;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (!sys::write_all(files_[i].get(), bytes)) return failed(dirs_[i] + '/' + item_.name);
  }
  return {};
}

Result<void> ArchiveExtractor::end() {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (::close(files_[i].release()) != 0) return failed(dirs_[i] + '/' + item_.name);  // NFS reports a full disk here
  }
  files_.clear();
  const std::string target = std::exchange(target_, {});
  if (item_.kind != Kind::link) return {};
  for (const std::string& dir : dirs_) {
    if (::symlink(target.c_str(), (dir + '/' + item_.name).c_str()) != 0) return failed(dir + '/' + item_.name);
  }
  return {};
}

}  // namespace dlaunch::agent
