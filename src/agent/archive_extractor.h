// Extracts an archive (wire/archive.h), as its bytes arrive, into several directories at once, without following links.
// Owned by the process of agent/workdir_setup.h.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/rank_dirs.h"
#include "dlaunch/error.h"
#include "sys/fd.h"
#include "sys/held_directory.h"
#include "wire/archive.h"

namespace dlaunch::agent {

class ArchiveExtractor {
 public:
  struct Target {
    std::string path;  ///< for messages
    sys::HeldDirectory directory;
  };
  ArchiveExtractor(std::vector<Target> targets, AtPath at);

  Result<void> feed(std::string_view bytes) { return reader_.feed(bytes); }
  /// Whether the whole archive has arrived.
  bool complete() const { return reader_.complete(); }
  /// Gives the new directories the modes of the archive, after the last file.
  Result<void> set_modes() const;

 private:
  Result<void> begin(const wire::ArchiveItem& item);
  Result<void> content(std::string_view bytes);
  Result<void> end();
  Result<void> begin_in(const Target& target);
  Result<void> make_directory(const Target& target, const sys::HeldDirectory& parent);
  std::string path_in(const Target& target) const { return target.path + '/' + item_.name; }

  struct Made {
    const Target& target;
    std::string name;
    mode_t mode;
    struct stat facts;
  };

  const std::vector<Target> targets_;
  const AtPath at_;
  wire::ArchiveItem item_;
  std::vector<sys::Fd> files_;  // one per directory, while the item is a file
  std::string target_;          // while the item is a link
  std::vector<Made> made_;
  wire::ArchiveReader reader_;
};

}  // namespace dlaunch::agent
