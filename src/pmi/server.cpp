#include "pmi/server.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "dlaunch/worlds.h"

namespace dlaunch::pmi {
namespace {

constexpr size_t kLongest = 640;  // a client reduces vallen_max to 674 if names have their maximum length

struct Block {
  int first_host = 0;
  int hosts = 0;
  int ranks = 0;  // ranks per host
  bool operator==(const Block&) const = default;
};

std::vector<Block> runs(const std::vector<int>& host_of_rank) {
  std::vector<Block> blocks;
  for (const int host : host_of_rank) {
    if (!blocks.empty() && blocks.back().first_host == host) {
      ++blocks.back().ranks;
    } else {
      blocks.push_back({host, 1, 1});
    }
  }
  return blocks;
}

/// Joins consecutive hosts with the same number of ranks into one block.
std::vector<Block> joined(const std::vector<Block>& runs) {
  std::vector<Block> blocks;
  for (const Block& run : runs) {
    if (!blocks.empty() && blocks.back().ranks == run.ranks &&
        blocks.back().first_host + blocks.back().hosts == run.first_host) {
      ++blocks.back().hosts;
    } else {
      blocks.push_back(run);
    }
  }
  return blocks;
}

/// The length of the shortest beginning that gives all blocks by repetition.
size_t period(const std::vector<Block>& blocks) {
  for (size_t length = 1; length < blocks.size(); ++length) {
    const auto shifted = blocks.begin() + static_cast<std::ptrdiff_t>(length);
    if (std::equal(shifted, blocks.end(), blocks.begin())) return length;
  }
  return blocks.size();
}

}  // namespace

std::string process_mapping(const std::vector<int>& host_of_rank) {
  const std::vector<Block> blocks = joined(runs(host_of_rank));
  std::string text = "(vector";
  const size_t shown = period(blocks);
  for (size_t i = 0; i < shown; ++i) {
    const Block& block = blocks[i];
    text += ",(" + std::to_string(block.first_host) + ',' + std::to_string(block.hosts) + ',' +
            std::to_string(block.ranks) + ')';
    if (text.size() > kLongest) return {};
  }
  return text + ')';
}

using std::string_view;

/// Of both versions: the command is first.
static bool is_abort(string_view message) {
  constexpr string_view kAbort = "cmd=abort";
  return message.starts_with(kAbort) &&
         (message.size() == kAbort.size() || string_view(" ;").find(message[kAbort.size()]) != string_view::npos);
}

void PmiServer::join(std::uint32_t rank, std::uint32_t app) { clients_[rank].app = app; }

Actions PmiServer::received(std::uint32_t rank, string_view bytes) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.gone || found->second.aborted) return {};
  Client& client = found->second;
  if (client.dialect == Dialect::lines) {
    client.lines.feed(bytes);
  } else {
    client.frames.feed(bytes);
  }
  while (!client.gone && !client.aborted && take_message(rank, client)) {
  }
  return take_actions();
}

Actions PmiServer::gone(std::uint32_t rank) {
  leave(clients_[rank]);
  return take_actions();
}

bool PmiServer::in_mpi(std::uint32_t rank) const {
  const auto client = clients_.find(rank);
  return client != clients_.end() && client->second.state == State::initialized;
}

Actions PmiServer::shared(const std::vector<std::string>& pairs, bool last, bool broken) {
  const bool fits = space_.take(pairs);
  if (!fits && waiting_ > 0) {
    actions_.push_back(PrintWarning{"the ranks exceeded the limit of MPI's key-value space and were disconnected"});
  }
  if (last || broken || !fits) end_fence(broken || !fits);
  return take_actions();
}

Actions PmiServer::name_answered(std::uint32_t rank, bool ok, const std::string& port) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.wait != Wait::name || found->second.gone) return {};
  Client& client = found->second;
  client.wait = Wait::none;
  if (client.dialect == Dialect::lines) {
    name_line(rank, client.asked, ok, port);
  } else {
    name_frame(rank, client, ok, port);
  }
  return take_actions();
}

Actions PmiServer::spawn_answered(std::uint32_t rank, bool ok, const std::string& space) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.wait != Wait::spawn || found->second.gone) return {};
  found->second.wait = Wait::none;
  if (found->second.dialect == Dialect::lines) {
    spawn_line(rank, ok, space);
  } else {
    spawn_frame(rank, ok, space);
  }
  return take_actions();
}

/// Returns false if no whole message is left.
bool PmiServer::take_message(std::uint32_t rank, Client& client) {
  const bool in_lines = client.dialect == Dialect::lines;
  const auto message = in_lines ? client.lines.next() : client.frames.next();
  if (!message) {
    break_off(rank, "sent " + message.error().what + ": " + message.error().why);
    return false;
  }
  if (!*message) return false;
  if (client.wait != Wait::none && !is_abort(**message)) {
    break_off(rank, "sent a request before the answer to its last request");
    return false;
  }
  if (in_lines) {
    take_line(rank, client, **message);
  } else {
    take_frame(rank, client, **message);
  }
  return true;
}

/// `text` is the message before parsing, for errors.
void PmiServer::perform(std::uint32_t rank, Client& client, const Command* command, const PmiLine& line,
                        string_view text) {
  if (!command) {
    const string_view version = client.dialect == Dialect::lines ? "1" : "2";
    return break_off(rank, "sent a command that PMI-" + std::string(version) + " does not have: " + quoted(text));
  }
  if (!command->before_init && client.state != State::initialized) {
    const bool before = client.state == State::fresh;
    return break_off(rank,
                     (before ? "sent a request before init: " : "sent a request after finalize: ") + quoted(text));
  }
  (this->*command->handler)(rank, client, line);
}

void PmiServer::enter_fence(Client& client) {
  client.wait = Wait::fence;
  ++waiting_;
  fence_when_all_wait();
  disconnect_attribute_waiters();
}

/// `code` is the text of the client; 1 if it is not a number. The server does not read more from the client, because
/// the message of MPICH may have several lines.
void PmiServer::raise_abort(std::uint32_t rank, Client& client, string_view code) {
  client.aborted = true;
  int number = 1;
  std::from_chars(code.data(), code.data() + code.size(), number);
  actions_.push_back(Abort{rank, static_cast<std::uint32_t>(number) & 0xff});
}

void PmiServer::ask_name(std::uint32_t rank, Client& client, NameOp op, string_view service, string_view port) {
  if (service.empty() || service.size() > kMaxValue || port.size() > kMaxValue) {
    return break_off(rank, "sent a service name that is empty or too long");
  }
  client.asked = op;
  client.wait = Wait::name;
  actions_.push_back(AskName{rank, op, std::string(service), std::string(port)});
}

string_view PmiServer::put(std::uint32_t rank, string_view key, string_view value) {
  if (key.empty() || key.size() > kMaxKey) return "bad_key_length";
  if (value.size() > kMaxValue) return "value_too_long";
  if (key == kMapping || key == kDead) return "reserved_key";
  if (space_.put(std::string(key), std::string(value))) return {};
  if (!std::exchange(clients_.at(rank).too_much, true)) {
    actions_.push_back(PrintWarning{name(rank) + " exceeded the limit of MPI's key-value space"});
  }
  return "space_is_full";
}

const std::string* PmiServer::find(string_view space, const std::string& key) const {
  if (space != world_.space) return nullptr;
  return key == kMapping && !world_.mapping.empty() ? &world_.mapping : space_.find(key);
}

std::string PmiServer::name(std::uint32_t rank) const {
  return "rank " + Worlds::rank_name({world_.number, static_cast<int>(rank - world_.first)});
}

void PmiServer::break_off(std::uint32_t rank, const std::string& why) {
  actions_.push_back(PrintWarning{name(rank) + " " + why + "; the rank gets no more answers"});
  actions_.push_back(CloseConnection{rank});
  leave(clients_.at(rank));
}

void PmiServer::leave(Client& client) {
  if (std::exchange(client.gone, true)) return;
  if (client.wait == Wait::fence) --waiting_;
  client.wait = Wait::none;
  ++gone_;
  fence_when_all_wait();
  disconnect_attribute_waiters();
}

void PmiServer::fence_when_all_wait() {
  if (fenced_ || waiting_ == 0 || waiting_ + gone_ < world_.here) return;
  fenced_ = true;
  Gather gather{space_.take_unsent(), {}};
  for (const auto& [rank, client] : clients_) {
    if (client.gone) gather.gone.push_back(rank);
  }
  if (!world_.alone) {
    actions_.push_back(std::move(gather));
    return;
  }
  if (!gather.gone.empty()) actions_.push_back(PrintWarning{broken_fence(name(gather.gone.front()))});
  end_fence(!gather.gone.empty());
}

void PmiServer::end_fence(bool broken) {
  fenced_ = false;
  for (auto& [rank, client] : clients_) {
    if (client.wait != Wait::fence) continue;
    client.wait = Wait::none;
    --waiting_;
    if (broken) {
      actions_.push_back(CloseConnection{rank});
      client.gone = true;
      ++gone_;
    } else if (client.dialect == Dialect::lines) {
      answer(rank, {{"cmd", "barrier_out"}});
    } else {
      answer_frame(rank, "kvs-fence", {});
    }
  }
}

}  // namespace dlaunch::pmi
