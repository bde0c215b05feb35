#include "agent/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/environment.h"
#include "base/shared_texts.h"
#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::agent {
namespace {

constexpr size_t kInterpreterLine = 256;  // the kernel reads no more of a "#!" line

/// Returns 0 if the file can be executed, else an errno.
int check(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return EACCES;  // as execve(2); open(2) of a FIFO would wait
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Returns the first directory of an absolute path that this user may not enter, or an empty text.
std::string closed_directory(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::access(directory.c_str(), X_OK) != 0 && errno == EACCES) return directory;
  }
  return {};
}

/// The text for a program that failed check().
std::string cannot_execute(const std::string& name, const std::string& wdir, int error) {
  const std::string shown = name.starts_with("./") ? name.substr(2) : name;
  const std::string closed = error == EACCES ? closed_directory(absolute(shown, wdir)) : "";
  return closed.empty() ? std::string(kCannotExecute) + name : std::string(kCannotEnter) + closed;
}

}  // namespace

std::string absolute(const std::string& path, const std::string& wdir) {
  return path.starts_with('/') ? path : wdir + "/" + path;
}

tl::expected<std::string, Refusal> find_program(const std::string& name, const std::vector<std::string>& env,
                                                const std::string& wdir) {
  if (name.find('/') != std::string::npos) {
    const int error = check(absolute(name, wdir));
    if (error == 0) return name;
    std::string what = cannot_execute(name, wdir, error);
    if (!name.starts_with('/') && what.starts_with(kCannotExecute)) what += " (from " + wdir + ")";
    return tl::unexpected(Refusal{error, std::move(what)});
  }
  Refusal failure{ENOENT, std::string(kProgram) + name + std::string(kNotInPath)};
  for (const std::string& directory : split(search_path(env), ':')) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    const int error = check(absolute(candidate, wdir));
    if (error == 0) return candidate;
    if (error == ENOENT || error == ENOTDIR) continue;
    std::string what = cannot_execute(candidate, wdir, error);
    // As in shells: another user's directory in PATH does not hide that the program is missing.
    if (!what.starts_with(kCannotEnter)) failure = {error, std::move(what)};
  }
  if (failure.error == ENOENT && check(wdir + "/" + name) == 0) {
    failure.what.append(kInWorkingDirectory).append(name);
  }
  return tl::unexpected(failure);
}

/// The interpreter in the first line of a script; empty: another kind of program.
static std::string interpreter_of(const std::string& start) {
  if (!start.starts_with("#!")) return {};
  std::string_view name = std::string_view(start).substr(2, start.find('\n') - 2);
  name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
  return std::string(name.substr(0, name.find_first_of(" \t")));
}

static std::optional<std::string> start_of(const std::string& path, const std::string& wdir) {
  return sys::read_file(absolute(path, wdir), kInterpreterLine);
}

std::optional<Refusal> cannot_start(const std::string& path, const std::string& wdir) {
  const auto start = start_of(path, wdir);
  if (!start) return std::nullopt;  // the kernel may start a file that this user cannot read
  const std::string interpreter = interpreter_of(*start);
  if (interpreter.starts_with('/') && check(interpreter) == ENOENT)
    return Refusal{ENOENT, missing_interpreter(path, wdir)};
  if (sys::is_mere_text(*start)) return Refusal{ENOEXEC, std::string(kCannotExecute) + path};
  return std::nullopt;
}

std::string missing_interpreter(const std::string& path, const std::string& wdir) {
  const std::string text = std::string(kCannotExecute).append(path).append(kMissingInterpreter);
  const std::string interpreter = interpreter_of(start_of(path, wdir).value_or(""));
  return text + (interpreter.empty() ? "(the loader of shared libraries)" : interpreter);
}

}  // namespace dlaunch::agent
