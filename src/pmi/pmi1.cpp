// PMI-1: the commands of PmiServer as lines. server.cpp has the common part of both versions.
#include <algorithm>

#include "pmi/actions.h"
#include "pmi/server.h"

namespace dlaunch::pmi {
namespace {

using std::string_view;

/// Returns true if a line can contain the value. PMI-2 allows more values than PMI-1.
bool fits_in_line(string_view value) { return value.find_first_of(" \n") == string_view::npos; }

}  // namespace

const PmiServer::Command* PmiServer::line_command(string_view name) {
  static constexpr Command kCommands[] = {
      {"init", &PmiServer::on_init, true},
      {"get_maxes", &PmiServer::on_maxes},
      {"get_appnum", &PmiServer::on_appnum},
      {"get_my_kvsname", &PmiServer::on_space_name},
      {"get_universe_size", &PmiServer::on_universe_size},
      {"put", &PmiServer::on_put},
      {"get", &PmiServer::on_get},
      {"barrier_in", &PmiServer::on_barrier},
      {"finalize", &PmiServer::on_finalize},
      {"abort", &PmiServer::on_abort, true},
      {"publish_name", &PmiServer::on_name},
      {"lookup_name", &PmiServer::on_name},
      {"unpublish_name", &PmiServer::on_name},
  };
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == std::end(kCommands) ? nullptr : found;
}

void PmiServer::take_line(std::uint32_t rank, Client& client, const std::string& text) {
  if (client.spawn || text == "mcmd=spawn") return take_spawn_line(rank, client, text);
  const auto line = parse_line(text);
  if (!line) return break_off(rank, "sent " + line.error().what + ": " + line.error().why);
  perform(rank, client, line_command((*line)["cmd"]), *line, text);
}

void PmiServer::take_spawn_line(std::uint32_t rank, Client& client, const std::string& text) {
  if (client.state != State::initialized) return break_off(rank, "sent a request before init: " + quoted(text));
  if (!client.spawn) client.spawn.emplace();
  const auto whole = client.spawn->read(text);
  if (!whole) return break_off(rank, "sent " + whole.error().what + ": " + whole.error().why);
  if (!*whole) return;
  client.wait = Wait::spawn;
  actions_.push_back(client.spawn->take(rank));
  client.spawn.reset();
}

/// The client chooses the version for the following messages.
void PmiServer::on_init(std::uint32_t rank, Client& client, const PmiLine& line) {
  if (client.state == State::initialized) return break_off(rank, "sent init twice");
  if (line["pmi_version"] == "2") {
    answer(rank, {{"cmd", "response_to_init"}, {"pmi_version", "2"}, {"pmi_subversion", "0"}, {"rc", "0"}});
    client.dialect = Dialect::frames;
    client.frames.feed(client.lines.take_rest());
    return;
  }
  const bool known = line["pmi_version"] == "1";
  if (known) client.state = State::initialized;
  answer(rank,
         {{"cmd", "response_to_init"}, {"pmi_version", "1"}, {"pmi_subversion", "1"}, {"rc", known ? "0" : "-1"}});
}

void PmiServer::on_maxes(std::uint32_t rank, Client&, const PmiLine&) {
  answer(rank, {{"cmd", "maxes"},
                {"kvsname_max", std::to_string(kMaxName)},
                {"keylen_max", std::to_string(kMaxKey)},
                {"vallen_max", std::to_string(kMaxValue)}});
}

void PmiServer::on_appnum(std::uint32_t rank, Client& client, const PmiLine&) {
  answer(rank, {{"cmd", "appnum"}, {"appnum", std::to_string(client.app - world_.first_app)}});
}

void PmiServer::on_space_name(std::uint32_t rank, Client&, const PmiLine&) {
  answer(rank, {{"cmd", "my_kvsname"}, {"kvsname", world_.space}});
}

void PmiServer::on_universe_size(std::uint32_t rank, Client&, const PmiLine&) {
  answer(rank, {{"cmd", "universe_size"}, {"size", std::to_string(world_.universe)}});
}

void PmiServer::on_put(std::uint32_t rank, Client&, const PmiLine& line) {
  const string_view refused = line["kvsname"] != world_.space ? "unknown_kvs" : put(rank, line["key"], line["value"]);
  if (!refused.empty()) return answer(rank, {{"cmd", "put_result"}, {"rc", "-1"}, {"msg", refused}});
  answer(rank, {{"cmd", "put_result"}, {"rc", "0"}, {"msg", "success"}});
}

void PmiServer::on_get(std::uint32_t rank, Client&, const PmiLine& line) {
  const std::string key(line["key"]);
  const std::string* value = find(line["kvsname"], key);
  if (!value || !fits_in_line(*value)) {
    const std::string why = "key_" + key.substr(0, kMaxKey) + "_not_found";
    return answer(rank, {{"cmd", "get_result"}, {"rc", "-1"}, {"msg", why}, {"value", "unknown"}});
  }
  answer(rank, {{"cmd", "get_result"}, {"rc", "0"}, {"msg", "success"}, {"value", *value}});
}

void PmiServer::on_barrier(std::uint32_t, Client& client, const PmiLine&) { enter_fence(client); }

void PmiServer::on_finalize(std::uint32_t rank, Client& client, const PmiLine&) {
  client.state = State::finalized;
  answer(rank, {{"cmd", "finalize_ack"}});
}

void PmiServer::on_abort(std::uint32_t rank, Client& client, const PmiLine& line) {
  raise_abort(rank, client, line["exitcode"]);
}

void PmiServer::on_name(std::uint32_t rank, Client& client, const PmiLine& line) {
  const NameOp op = line["cmd"] == "publish_name"  ? NameOp::publish
                    : line["cmd"] == "lookup_name" ? NameOp::lookup
                                                   : NameOp::unpublish;
  ask_name(rank, client, op, line["service"], line["port"]);
}

void PmiServer::name_line(std::uint32_t rank, NameOp op, bool ok, const std::string& port) {
  const string_view rc = ok ? "0" : "1";
  switch (op) {
    case NameOp::publish: {
      const string_view info = ok ? "ok" : "key_already_present";
      answer(rank, {{"cmd", "publish_result"}, {"info", info}, {"rc", rc}, {"msg", ok ? "success" : info}});
      break;
    }
    case NameOp::lookup:
      if (ok && fits_in_line(port)) {
        answer(rank, {{"cmd", "lookup_result"}, {"port", port}, {"info", "ok"}, {"rc", rc}, {"msg", "success"}});
      } else {
        answer(rank, {{"cmd", "lookup_result"}, {"info", "not_found"}, {"rc", "1"}, {"msg", "service_not_found"}});
      }
      break;
    case NameOp::unpublish:
      answer(rank, {{"cmd", "unpublish_result"},
                    {"info", ok ? "ok" : "not_found"},
                    {"rc", rc},
                    {"msg", ok ? "success" : "service_not_found"}});
      break;
  }
}

void PmiServer::spawn_line(std::uint32_t rank, bool ok, const std::string& space) {
  if (ok) {
    answer(rank, {{"cmd", "spawn_result"}, {"rc", "0"}, {"jobid", space}, {"nerrs", "0"}});
  } else {
    answer(rank, {{"cmd", "spawn_result"}, {"rc", "-1"}, {"status", "spawn_failed"}});
  }
}

void PmiServer::answer(std::uint32_t rank, Pairs pairs) { actions_.push_back(Send{rank, write_line(pairs)}); }

}  // namespace dlaunch::pmi
