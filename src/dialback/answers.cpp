#include "dialback/answers.h"

#include <algorithm>
#include <utility>

namespace dlaunch::dialback {

Answers::Answers(const std::string& nonce, const std::vector<std::string>& machines,
                 const std::vector<std::string>& names)
    : mark_("dlaunch:" + nonce + ' ') {
  for (const std::string& name : names) hosts_.emplace(name, Answering{transport::Bootstrap(nonce, machines)});
}

void Answers::feed(std::string_view bytes) {
  buffer_ += bytes;
  size_t start = 0;
  for (size_t end = buffer_.find('\n'); end != std::string::npos; end = buffer_.find('\n', start)) {
    const std::string_view line = std::string_view(buffer_).substr(start, end - start);
    if (!std::exchange(in_long_line_, false) && line.size() <= transport::kMaxAnswer) take_line(line);
    start = end + 1;
  }
  buffer_.erase(0, start);
  if (buffer_.size() <= transport::kMaxAnswer) return;
  buffer_.clear();
  in_long_line_ = true;
}

bool Answers::any(State state) const {
  return std::ranges::any_of(hosts_, [&](const auto& host) { return host.second.state == state; });
}

void Answers::take_line(std::string_view line) {
  using Next = transport::Bootstrap::Next;
  if (!line.starts_with(mark_)) return;
  const std::string_view answer = line.substr(mark_.size());
  const size_t blank = answer.find(' ');
  const auto found = hosts_.find(answer.substr(0, blank));
  if (found == hosts_.end() || blank == std::string_view::npos) return;
  Answering& host = found->second;
  switch (host.bootstrap.feed(mark_ + std::string(answer.substr(blank + 1)) + '\n')) {
    case Next::wait:
      return;
    case Next::upload:
      host.state = State::asks;
      return;
    case Next::frames:
      host.state = State::ready;
      host.ran = true;
      return;
    case Next::failed:
      host.state = State::failed;
      host.why = host.bootstrap.why();
  }
}

}  // namespace dlaunch::dialback
