// The messages between Output and the disk process. Both run the same program, so structs are sent as in memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace dlaunch::output {

/// Sent through a pipe, followed by `size` bytes: a path, or the bytes to write.
struct DiskCommand {
  enum class Kind : std::uint32_t {
    lock,           ///< creates and locks the log directory; answers only if another job has the lock: Locked
    lock_existing,  ///< as `lock`, without creation
    rotate,  ///< renames the directory to PATH.1, an existing one to PATH.2, … up to PATH.N with N in `file`: Rotated
    create,  ///< creates or truncates the file, and creates its directories: Created
    create_direct,  ///< as `create`, for a file that the rank opens itself
    create_append,  ///< as `create`, without truncation
    watch,          ///< opens a file that the agent created, and that the rank writes itself
    rank_ended,     ///< the rank does not write its own file any more: Failed if the file may be cut
    look,           ///< not a command: the process looks at the ranks' own files
    write,
    close,
    get_size,       ///< reports the size of the file with the path: Size
    get_size_tail,  ///< as `get_size`, with the last bytes of the file
    sync,           ///< syncs the file with the path to the device
  };
  Kind kind;
  std::uint32_t file;
  std::uint32_t size;
};

/// Sent through a socket, followed by `text` bytes. Writes are reported only if they fail, once per file.
struct WriterEvent {
  enum class Kind : std::uint32_t {
    created,  ///< `error` is 0 on success; with a descriptor if the file is a FIFO or a terminal
    rotated,  ///< `error` is 0 on success, else the text is the failed step
    locked,   ///< another job writes the file or the directory; `size` is the pid of its launcher, or 0
    failed,
    size,
  };
  Kind kind;
  std::uint32_t file;
  std::int32_t error = 0;  ///< errno
  std::uint32_t has_fd = 0;
  std::uint32_t text = 0;    ///< length of the text; Size: the file's last bytes
  std::uint64_t size = 0;    ///< Size: of the file; Created: of the earlier file
  std::int64_t time_ns = 0;  ///< Created: modification time of the earlier file
};

/// In memory that both processes share.
struct DiskProgress {
  std::atomic<std::uint64_t> taken{0};  ///< bytes written or dropped
  std::atomic<std::uint32_t> file{0};   ///< file of the current command
  std::atomic<DiskCommand::Kind> at{DiskCommand::Kind::create};
};

}  // namespace dlaunch::output
