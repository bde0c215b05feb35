#include "stacks/sample.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kOfAnAllocation = 32;  // its header and rounding

/// Without the object itself.
std::size_t bytes_of(const std::string& text) { return text.capacity() + kOfAnAllocation; }

}  // namespace

std::size_t bytes_of(const std::vector<Frame>& frames) {
  std::size_t bytes = frames.capacity() * sizeof(Frame) + kOfAnAllocation;
  for (const Frame& frame : frames) bytes += bytes_of(frame.function) + bytes_of(frame.file);
  return bytes;
}

std::size_t bytes_of(const Sample& sample) {
  std::size_t bytes = sizeof(Sample) + bytes_of(sample.command) + sample.threads.capacity() * sizeof(ThreadStack);
  for (const ThreadStack& thread : sample.threads) {
    bytes += bytes_of(thread.name) + bytes_of(thread.wait) + bytes_of(thread.native) + bytes_of(thread.python);
  }
  for (const std::string& remark : sample.remarks) bytes += sizeof(std::string) + bytes_of(remark);
  return bytes;
}

namespace {

using std::string_view;

string_view base_name(string_view path) { return path.substr(path.rfind('/') + 1); }

/// The lines, without repetitions of a line, as of a recursive function.
std::string folded(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t same = i;
    while (same < lines.size() && lines[same] == lines[i]) ++same;
    text += lines[i] + (same - i > 1 ? " x " + std::to_string(same - i) : "") + '\n';
    i = same;
  }
  return text;
}

struct Wording {
  bool whole_paths;
  bool addresses;  // for functions without a name
};

std::vector<std::string> frame_lines(const ThreadStack& thread, Wording wording) {
  std::vector<std::string> lines;
  const auto add = [&](const Frame& frame) {
    const string_view file = wording.whole_paths ? string_view(frame.file) : base_name(frame.file);
    const std::string line = frame.line == 0 ? "" : ':' + std::to_string(frame.line);
    const bool nameless = !wording.addresses && frame.function.starts_with("0x");
    lines.push_back((nameless ? "??" : escaped(frame.function)) + " (" + escaped(file) + line + ')');
  };
  std::ranges::for_each(thread.native, add);
  std::ranges::for_each(thread.python, add);
  return lines;
}

std::string seconds(std::int64_t milliseconds) {
  return std::to_string(milliseconds / 1000) + '.' + std::to_string(milliseconds % 1000 / 100) + " s";
}

struct Alike {
  std::string name;
  std::string state;
  std::string frames;
  std::size_t count = 0;
};

std::string to_text(const Alike& threads) {
  const std::string who =
      threads.count == 1 ? "thread " + threads.name : std::to_string(threads.count) + " threads " + threads.name;
  std::string text = "  " + who + ", " + threads.state + '\n';
  for (const std::string& line : split(threads.frames, '\n')) {
    if (!line.empty()) text += "    " + line + '\n';
  }
  return text;
}

}  // namespace

std::string place_of(const ThreadStack& thread) {
  return folded(frame_lines(thread, {.whole_paths = false, .addresses = false}));
}

std::string state_of(const ThreadStack& thread) {
  switch (thread.state) {
    case 'R':
      return "running";
    case 'D':
      return "waiting for a disk or a device" + (thread.wait.empty() ? "" : " in " + escaped(thread.wait));
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "ended";
    default:
      return thread.wait.empty() ? "blocked" : "blocked in " + escaped(thread.wait);
  }
}

std::string picture_of(const Sample& sample, bool all_threads, std::size_t most) {
  std::string text =
      "pid " + std::to_string(sample.pid) + ": " + sample.command + ", " + seconds(sample.cpu_ms) + " CPU\n";
  std::vector<Alike> alike;
  std::size_t size = 0;
  for (const ThreadStack& thread : sample.threads) {
    const bool main = &thread == sample.threads.data();
    Alike one{main ? "main" : escaped(thread.name), state_of(thread),
              folded(frame_lines(thread, {.whole_paths = true, .addresses = all_threads})), 1};
    const auto known = std::ranges::find_if(alike, [&](const Alike& other) {
      return other.name == one.name && other.state == one.state && other.frames == one.frames;
    });
    size += known == alike.end() ? one.frames.size() : 0;
    known == alike.end() ? alike.push_back(std::move(one)) : void(++known->count);
    if (!all_threads || size > most) break;
  }
  for (const Alike& threads : alike) text += to_text(threads);
  if (size > most) text += "  further threads are left out: the report is full\n";
  for (const std::string& remark : sample.remarks) text += "  " + escaped(remark) + '\n';
  return text;
}

}  // namespace dlaunch::stacks
