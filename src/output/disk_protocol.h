// What Output and the process that writes the files send each other. Both are one program, so the structs are sent as
// they are in memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace dlaunch::output {

/// Sent through a pipe, followed by `size` bytes: a path, or what is to be written.
struct DiskCommand {
  enum class Kind : std::uint32_t {
    rotate,  ///< renames the directory to PATH.1, an existing one to PATH.2, … up to PATH.N with N in `file`: Rotated
    create,  ///< creates or truncates the file, and makes its directories: Created
    create_direct,  ///< the same for a file that its rank opens itself
    create_append,  ///< the same for one that keeps what it holds
    write,
    close,
    look,       ///< reports the size of the file with that path: Looked
    look_tail,  ///< and also its end
    sync,       ///< waits until the file with that path is on the device
  };
  Kind kind;
  std::uint32_t file;
  std::uint32_t size;
};

/// Sent through a socket, followed by `text` bytes. Of writes only failures are reported, once for each file.
struct WriterEvent {
  enum class Kind : std::uint32_t {
    created,  ///< or not (see `error`); comes with the descriptor of a FIFO or a terminal
    rotated,  ///< or not (see `error`); the text says what failed
    failed,
    looked,
  };
  Kind kind;
  std::uint32_t file;
  std::int32_t error = 0;  ///< errno
  std::uint32_t has_fd = 0;
  std::uint32_t text = 0;    ///< Looked: the file's last bytes
  std::uint64_t size = 0;    ///< Looked: of the file; Created: of the one that was there before
  std::int64_t time_ns = 0;  ///< Created: when that one was last written
};

/// In memory that both share.
struct DiskProgress {
  std::atomic<std::uint64_t> taken{0};  ///< bytes written, or refused
  std::atomic<std::uint32_t> file{0};   ///< the file of the command at hand
  std::atomic<DiskCommand::Kind> at{DiskCommand::Kind::create};
};

}  // namespace dlaunch::output
