#include "stub_agent.h"

#include <utility>

namespace dlaunch::bench {
namespace {

constexpr std::string_view kScriptEnd = "exec \"$a\"\n}\n";  // from transport/bootstrap.cpp
constexpr std::string_view kNonce = "n=";

}  // namespace

bool StubAgent::feed(std::string_view bytes, std::string& out) {
  if (framed_) {
    decoder_.feed(bytes);
  } else {
    script_ += bytes;
    if (!take_script(out)) return true;
  }
  for (;;) {
    auto next = decoder_.next();
    if (!next) return false;
    if (!*next) return true;
    if (!answer(**next, out)) return false;
  }
}

bool StubAgent::take_script(std::string& out) {
  const size_t end = script_.find(kScriptEnd);
  if (end == std::string::npos || !script_.starts_with(kNonce)) return false;
  const std::string nonce = script_.substr(kNonce.size(), script_.find(' ') - kNonce.size());
  out += "\ndlaunch:" + nonce + " ready " + facts_.machine + '\n';
  decoder_.feed(std::string_view(script_).substr(end + kScriptEnd.size()));
  script_ = {};
  framed_ = true;
  return true;
}

bool StubAgent::answer(const wire::Message& message, std::string& out) const {
  if (std::holds_alternative<wire::Setup>(message)) {
    wire::encode(wire::Hello{wire::kVersion, facts_.host, facts_.machine, facts_.pid, facts_.time_ns, facts_.host},
                 out);
  } else if (const auto* spawn = std::get_if<wire::Spawn>(&message)) {
    run_rank(*spawn, out);
  } else if (std::holds_alternative<wire::Finish>(message)) {
    wire::encode(wire::Clean{}, out);
    return false;
  }
  return true;
}

void StubAgent::run_rank(const wire::Spawn& spawn, std::string& out) const {
  wire::encode(wire::Started{spawn.rank, facts_.pid, facts_.time_ns, 0, {}}, out);
  if (spawn.out == wire::StreamMode::pipe) {
    wire::encode(wire::OutputData{spawn.rank, 1, facts_.time_ns, facts_.host + '\n'}, out);
    wire::encode(wire::OutputData{spawn.rank, 1, facts_.time_ns, {}}, out);
  }
  if (spawn.err == wire::StreamMode::pipe) wire::encode(wire::OutputData{spawn.rank, 2, facts_.time_ns, {}}, out);
  wire::encode(wire::Ended{spawn.rank, 0, false, facts_.time_ns}, out);
}

}  // namespace dlaunch::bench
