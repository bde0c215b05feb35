#include "pmi/server.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/worlds.h"
#include "pmi/gather.h"

namespace dlaunch::pmi {
namespace {

using std::string_view;

// Hydra's, with kMaxKey and kMaxValue. Clients compute with these: vallen_max must stay even once they have clamped it
// to what fits in a line.
constexpr size_t kMaxName = 256;

constexpr string_view kMapping = "PMI_process_mapping";
constexpr string_view kDead = "PMI_dead_processes";  // asked by runs that live on without a rank; none does here

std::uint32_t exit_code(string_view text) {
  int code = 1;
  std::from_chars(text.data(), text.data() + text.size(), code);
  return static_cast<std::uint32_t>(code) & 0xff;
}

}  // namespace

struct Server::Command {
  string_view name;
  Handler handler;
  bool before_init = false;
};

constexpr Server::Command Server::kCommands[] = {
    {"init", &Server::on_init, true},
    {"get_maxes", &Server::on_maxes},
    {"get_appnum", &Server::on_appnum},
    {"get_my_kvsname", &Server::on_space_name},
    {"get_universe_size", &Server::on_universe_size},
    {"put", &Server::on_put},
    {"get", &Server::on_get},
    {"barrier_in", &Server::on_barrier},
    {"finalize", &Server::on_finalize},
    {"abort", &Server::on_abort, true},
    {"publish_name", &Server::on_name},
    {"lookup_name", &Server::on_name},
    {"unpublish_name", &Server::on_name},
};

void Server::join(std::uint32_t rank, std::uint32_t app) { clients_[rank].app = app; }

Actions Server::received(std::uint32_t rank, string_view bytes) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.gone) return {};
  Client& client = found->second;
  client.lines.feed(bytes);
  while (!client.gone) {
    if (client.wait != Wait::none && !client.lines.empty()) {
      break_off(rank, "asked on before it was answered");
      break;
    }
    const auto line = client.lines.next();
    if (!line) {
      break_off(rank, "sent " + line.error().what + ": " + line.error().why);
      break;
    }
    if (!*line) break;
    take_line(rank, client, **line);
  }
  return take_actions();
}

Actions Server::gone(std::uint32_t rank) {
  leave(clients_[rank]);
  return take_actions();
}

bool Server::in_mpi(std::uint32_t rank) const {
  const auto client = clients_.find(rank);
  return client != clients_.end() && client->second.state == State::initialized;
}

Actions Server::shared(const std::vector<std::string>& pairs, bool last, bool broken) {
  const bool fits = space_.take(pairs);
  if (last || broken || !fits) end_fence(broken || !fits);
  return take_actions();
}

Actions Server::name_answered(std::uint32_t rank, bool ok, const std::string& port) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.wait != Wait::name || found->second.gone) return {};
  found->second.wait = Wait::none;
  const string_view rc = ok ? "0" : "1";
  switch (found->second.asked) {
    case NameOp::publish:
      answer(rank, {{"cmd", "publish_result"},
                    {"info", ok ? "ok" : "key_already_present"},
                    {"rc", rc},
                    {"msg", ok ? "success" : "key_already_present"}});
      break;
    case NameOp::lookup:
      if (ok) {
        answer(rank, {{"cmd", "lookup_result"}, {"port", port}, {"info", "ok"}, {"rc", rc}, {"msg", "success"}});
      } else {
        answer(rank, {{"cmd", "lookup_result"}, {"info", "not_found"}, {"rc", rc}, {"msg", "service_not_found"}});
      }
      break;
    case NameOp::unpublish:
      answer(rank, {{"cmd", "unpublish_result"},
                    {"info", ok ? "ok" : "not_found"},
                    {"rc", rc},
                    {"msg", ok ? "success" : "service_not_found"}});
      break;
  }
  return take_actions();
}

Actions Server::spawn_answered(std::uint32_t rank, bool ok, const std::string& space) {
  const auto found = clients_.find(rank);
  if (found == clients_.end() || found->second.wait != Wait::spawn || found->second.gone) return {};
  found->second.wait = Wait::none;
  if (ok) {
    answer(rank, {{"cmd", "spawn_result"}, {"rc", "0"}, {"jobid", space}, {"nerrs", "0"}});
  } else {
    answer(rank, {{"cmd", "spawn_result"}, {"rc", "-1"}, {"status", "spawn_failed"}});
  }
  return take_actions();
}

void Server::take_line(std::uint32_t rank, Client& client, const std::string& text) {
  if (client.spawn || text == "mcmd=spawn") return take_spawn_line(rank, client, text);
  const auto line = parse_line(text);
  if (!line) return break_off(rank, "sent " + line.error().what + ": " + line.error().why);
  const auto command = std::ranges::find(kCommands, (*line)["cmd"], &Command::name);
  if (command == std::end(kCommands))
    return break_off(rank, "sent a command that PMI-1 does not have: " + quoted(text));
  if (!command->before_init && client.state != State::initialized) {
    return break_off(rank, "asked before it said init: " + quoted(text));
  }
  (this->*command->handler)(rank, client, *line);
}

void Server::take_spawn_line(std::uint32_t rank, Client& client, const std::string& text) {
  if (client.state != State::initialized) return break_off(rank, "asked before it said init: " + quoted(text));
  if (!client.spawn) client.spawn.emplace();
  const auto whole = client.spawn->read(text);
  if (!whole) return break_off(rank, "sent " + whole.error().what + ": " + whole.error().why);
  if (!*whole) return;
  client.wait = Wait::spawn;
  actions_.push_back(client.spawn->take(rank));
  client.spawn.reset();
}

void Server::on_init(std::uint32_t rank, Client& client, const Line& line) {
  if (client.state == State::initialized) return break_off(rank, "said init twice");
  const bool known = line["pmi_version"] == "1";
  if (known) client.state = State::initialized;
  answer(rank,
         {{"cmd", "response_to_init"}, {"pmi_version", "1"}, {"pmi_subversion", "1"}, {"rc", known ? "0" : "-1"}});
}

void Server::on_maxes(std::uint32_t rank, Client&, const Line&) {
  answer(rank, {{"cmd", "maxes"},
                {"kvsname_max", std::to_string(kMaxName)},
                {"keylen_max", std::to_string(kMaxKey)},
                {"vallen_max", std::to_string(kMaxValue)}});
}

void Server::on_appnum(std::uint32_t rank, Client& client, const Line&) {
  answer(rank, {{"cmd", "appnum"}, {"appnum", std::to_string(client.app - world_.first_app)}});
}

void Server::on_space_name(std::uint32_t rank, Client&, const Line&) {
  answer(rank, {{"cmd", "my_kvsname"}, {"kvsname", world_.space}});
}

void Server::on_universe_size(std::uint32_t rank, Client&, const Line&) {
  answer(rank, {{"cmd", "universe_size"}, {"size", std::to_string(world_.universe)}});
}

void Server::on_put(std::uint32_t rank, Client&, const Line& line) {
  const string_view key = line["key"];
  if (line["kvsname"] != world_.space) return refuse_put(rank, "unknown_kvs");
  if (key.empty() || key.size() > kMaxKey) return refuse_put(rank, "bad_key_length");
  if (line["value"].size() > kMaxValue) return refuse_put(rank, "value_too_long");
  if (key == kMapping || key == kDead) return refuse_put(rank, "reserved_key");
  if (!space_.put(std::string(key), std::string(line["value"]))) {
    actions_.push_back(Complain{name(rank) + " put more than MPI's key-value space holds"});
    return refuse_put(rank, "space_is_full");
  }
  answer(rank, {{"cmd", "put_result"}, {"rc", "0"}, {"msg", "success"}});
}

void Server::on_get(std::uint32_t rank, Client&, const Line& line) {
  const std::string key(line["key"]);
  const std::string* value = key == kMapping && !world_.mapping.empty() ? &world_.mapping : space_.find(key);
  if (line["kvsname"] != world_.space || !value) {
    const std::string why = "key_" + key.substr(0, kMaxKey) + "_not_found";
    return answer(rank, {{"cmd", "get_result"}, {"rc", "-1"}, {"msg", why}, {"value", "unknown"}});
  }
  answer(rank, {{"cmd", "get_result"}, {"rc", "0"}, {"msg", "success"}, {"value", *value}});
}

void Server::on_barrier(std::uint32_t, Client& client, const Line&) {
  client.wait = Wait::fence;
  ++waiting_;
  fence_when_all_wait();
}

void Server::on_finalize(std::uint32_t rank, Client& client, const Line&) {
  client.state = State::finalized;
  answer(rank, {{"cmd", "finalize_ack"}});
}

void Server::on_abort(std::uint32_t rank, Client& client, const Line& line) {
  if (std::exchange(client.aborted, true)) return;
  actions_.push_back(Abort{rank, exit_code(line["exitcode"])});
}

void Server::on_name(std::uint32_t rank, Client& client, const Line& line) {
  const string_view service = line["service"];
  const string_view port = line["port"];
  client.asked = line["cmd"] == "publish_name"  ? NameOp::publish
                 : line["cmd"] == "lookup_name" ? NameOp::lookup
                                                : NameOp::unpublish;
  if (service.empty() || service.size() > kMaxValue || port.size() > kMaxValue) {
    return break_off(rank, "named no service, or one that is too long");
  }
  client.wait = Wait::name;
  actions_.push_back(AskName{rank, client.asked, std::string(service), std::string(port)});
}

void Server::answer(std::uint32_t rank, std::initializer_list<std::pair<string_view, string_view>> pairs) {
  actions_.push_back(Send{rank, write_line(pairs)});
}

std::string Server::name(std::uint32_t rank) const {
  return "rank " + Worlds::rank_name({world_.number, static_cast<int>(rank - world_.first)});
}

void Server::refuse_put(std::uint32_t rank, string_view why) {
  answer(rank, {{"cmd", "put_result"}, {"rc", "-1"}, {"msg", why}});
}

void Server::break_off(std::uint32_t rank, const std::string& why) {
  actions_.push_back(Complain{name(rank) + " " + why + "; it gets no more answers"});
  actions_.push_back(HangUp{rank});
  leave(clients_.at(rank));
}

void Server::leave(Client& client) {
  if (std::exchange(client.gone, true)) return;
  if (client.wait == Wait::fence) --waiting_;
  client.wait = Wait::none;
  ++gone_;
  fence_when_all_wait();
}

void Server::fence_when_all_wait() {
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
  if (!gather.gone.empty()) actions_.push_back(Complain{broken_fence(name(gather.gone.front()))});
  end_fence(!gather.gone.empty());
}

void Server::end_fence(bool broken) {
  fenced_ = false;
  for (auto& [rank, client] : clients_) {
    if (client.wait != Wait::fence) continue;
    client.wait = Wait::none;
    --waiting_;
    if (broken) {
      actions_.push_back(HangUp{rank});
      client.gone = true;
      ++gone_;
    } else {
      answer(rank, {{"cmd", "barrier_out"}});
    }
  }
}

}  // namespace dlaunch::pmi
