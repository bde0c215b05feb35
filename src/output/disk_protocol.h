// What Output and the process that has the files say to each other. Both are one program, so the structs go as they
// are.
#pragma once

#include <atomic>
#include <cstdint>

namespace dlaunch::output {

/// Through a pipe, with `size` bytes behind it: a path, or what is to be written.
struct DiskCommand {
  enum class Kind : std::uint32_t {
    rotate,         ///< keeps the directory as PATH.1, that as PATH.2, … to PATH.N, N being `file`: Rotated
    create,         ///< makes or truncates the file, and its directories: Created
    create_direct,  ///< the same for a file that its rank opens again
    write,
    close,
    look,       ///< at the size of the file with that path: Looked
    look_tail,  ///< and its end
    sync,       ///< until the device has the file with that path
  };
  Kind kind;
  std::uint32_t file;
  std::uint32_t size;
};

/// Through a socket, with `text` bytes behind it. Writing is told of only when it fails, once a file.
struct DiskNews {
  enum class Kind : std::uint32_t {
    created,  ///< or not (`error`); the descriptor of a FIFO or a terminal comes with it
    rotated,  ///< or not (`error`); the text says what could not be done
    failed,
    looked,
  };
  Kind kind;
  std::uint32_t file;
  std::int32_t error = 0;  ///< errno
  std::uint32_t has_fd = 0;
  std::uint32_t text = 0;    ///< Looked: the file's last bytes
  std::uint64_t size = 0;    ///< Looked: of the file; Created: of what was there before
  std::int64_t time_ns = 0;  ///< Created: when that was written last
};

/// In memory that both have.
struct DiskProgress {
  std::atomic<std::uint64_t> taken{0};  ///< bytes written, or refused
  std::atomic<std::uint32_t> file{0};   ///< that it is at
  std::atomic<DiskCommand::Kind> at{DiskCommand::Kind::create};
};

}  // namespace dlaunch::output
