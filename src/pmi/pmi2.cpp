// PMI-2: the commands of PmiServer as frames. server.cpp has the common part of both versions.
#include <algorithm>
#include <utility>

#include "pmi/actions.h"
#include "pmi/server.h"

namespace dlaunch::pmi {
namespace {

using std::string_view;

constexpr string_view kUniverse = "universeSize";
constexpr string_view kFailed = "14";               // PMI2_ERR_OTHER
constexpr size_t kMaxAttributeBytes = 1024u << 10;  // limit for all attributes of a node

string_view as_text(bool value) { return value ? "TRUE" : "FALSE"; }

}  // namespace

const PmiServer::Command* PmiServer::frame_command(string_view name) {
  static constexpr Command kCommands[] = {
      {"fullinit", &PmiServer::on_full_init, true},
      {"job-getid", &PmiServer::on_job_id},
      {"kvs-put", &PmiServer::on_frame_put},
      {"kvs-get", &PmiServer::on_frame_get},
      {"kvs-fence", &PmiServer::on_barrier},
      {"info-putnodeattr", &PmiServer::on_put_attribute},
      {"info-getnodeattr", &PmiServer::on_get_attribute},
      {"info-getjobattr", &PmiServer::on_job_attribute},
      {"name-publish", &PmiServer::on_frame_name},
      {"name-lookup", &PmiServer::on_frame_name},
      {"name-unpublish", &PmiServer::on_frame_name},
      {"abort", &PmiServer::on_frame_abort, true},
      {"finalize", &PmiServer::on_frame_finalize},
      {"spawn", &PmiServer::on_frame_spawn},
      {"job-connect", &PmiServer::on_unserved},
      {"job-disconnect", &PmiServer::on_unserved},
      {"ring", &PmiServer::on_unserved},
  };
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == std::end(kCommands) ? nullptr : found;
}

void PmiServer::take_frame(std::uint32_t rank, Client& client, const std::string& text) {
  const auto line = parse_frame(text);
  if (!line) return break_off(rank, "sent " + line.error().what + ": " + line.error().why);
  client.thread = (*line)["thrid"];
  if (client.thread.size() > kMaxKey) return break_off(rank, "sent a thread id that is too long");
  perform(rank, client, frame_command((*line)["cmd"]), *line, text);
}

void PmiServer::on_full_init(std::uint32_t rank, Client& client, const PmiLine&) {
  if (client.state == State::initialized) return break_off(rank, "sent fullinit twice");
  client.state = State::initialized;
  const string_view spawner = world_.parent.empty() ? "" : "spawner-jobid";
  answer_frame(rank, "fullinit", {},
               {{"pmi-version", "2"},
                {"pmi-subversion", "0"},
                {"rank", std::to_string(rank - world_.first)},
                {"size", std::to_string(world_.size)},
                {"appnum", std::to_string(client.app - world_.first_app)},
                {spawner, world_.parent},
                {"debugged", "FALSE"},
                {"pmiverbose", "FALSE"}});
}

void PmiServer::on_job_id(std::uint32_t rank, Client&, const PmiLine&) {
  answer_frame(rank, "job-getid", {}, {{"jobid", world_.space}});
}

void PmiServer::on_frame_put(std::uint32_t rank, Client&, const PmiLine& line) {
  answer_frame(rank, "kvs-put", put(rank, line["key"], line["value"]));
}

/// srcid is only a hint for the location of the key; here every key is local.
void PmiServer::on_frame_get(std::uint32_t rank, Client&, const PmiLine& line) {
  const string_view job = line["jobid"];
  answer_found(rank, "kvs-get", find(job.empty() ? string_view(world_.space) : job, std::string(line["key"])));
}

void PmiServer::on_put_attribute(std::uint32_t rank, Client&, const PmiLine& line) {
  const string_view key = line["key"];
  const string_view value = line["value"];
  if (key.empty() || key.size() > kMaxKey) return answer_frame(rank, "info-putnodeattr", "bad_key_length");
  if (value.size() > kMaxValue) return answer_frame(rank, "info-putnodeattr", "value_too_long");
  attribute_bytes_ += key.size() + value.size();
  if (attribute_bytes_ > kMaxAttributeBytes) return answer_frame(rank, "info-putnodeattr", "space_is_full");
  const std::string& now = attributes_[std::string(key)] = value;
  answer_frame(rank, "info-putnodeattr", {});
  for (auto& [other, client] : clients_) {
    if (client.wait != Wait::attribute || client.attribute != key) continue;
    client.wait = Wait::none;
    answer_found(other, "info-getnodeattr", &now);
  }
}

void PmiServer::on_get_attribute(std::uint32_t rank, Client& client, const PmiLine& line) {
  const auto found = attributes_.find(line["key"]);
  if (found != attributes_.end()) return answer_found(rank, "info-getnodeattr", &found->second);
  if (line["wait"] != "TRUE") return answer_found(rank, "info-getnodeattr", nullptr);
  client.wait = Wait::attribute;
  client.attribute = line["key"];
  disconnect_attribute_waiters();
}

void PmiServer::on_job_attribute(std::uint32_t rank, Client&, const PmiLine& line) {
  const string_view key = line["key"];
  const std::string universe = std::to_string(world_.universe);
  const std::string* value = key == kMapping && !world_.mapping.empty() ? &world_.mapping
                             : key == kUniverse                         ? &universe
                                                                        : nullptr;
  answer_found(rank, "info-getjobattr", value);
}

void PmiServer::on_frame_name(std::uint32_t rank, Client& client, const PmiLine& line) {
  const NameOp op = line["cmd"] == "name-publish"  ? NameOp::publish
                    : line["cmd"] == "name-lookup" ? NameOp::lookup
                                                   : NameOp::unpublish;
  ask_name(rank, client, op, line["name"], line["port"]);
}

/// In the answer to a lookup, clients of Slurm read the port from "value", clients of MPICH from "port".
void PmiServer::name_frame(std::uint32_t rank, Client& client, bool ok, const std::string& port) {
  switch (client.asked) {
    case NameOp::publish:
      return answer_frame(rank, "name-publish", ok ? "" : "key_already_present");
    case NameOp::lookup:
      if (!ok) return answer_frame(rank, "name-lookup", "service_not_found");
      return answer_frame(rank, "name-lookup", {}, {{"value", port}, {"port", port}});
    case NameOp::unpublish:
      return answer_frame(rank, "name-unpublish", ok ? "" : "service_not_found");
  }
}

/// An abort is not answered. An abort for a part of the world ends only this rank. The rank exits by itself.
void PmiServer::on_frame_abort(std::uint32_t rank, Client& client, const PmiLine& line) {
  if (line["isworld"] != "FALSE") raise_abort(rank, client, line["exitcode"]);
}

void PmiServer::on_frame_finalize(std::uint32_t rank, Client& client, const PmiLine&) {
  client.state = State::finalized;
  answer_frame(rank, "finalize", {});
}

void PmiServer::on_frame_spawn(std::uint32_t rank, Client& client, const PmiLine& line) {
  auto ask = read_spawn(line, rank);
  if (!ask) return break_off(rank, "sent " + ask.error().what + ": " + ask.error().why);
  client.wait = Wait::spawn;
  actions_.push_back(*std::move(ask));
}

/// Clients detect a rejection by the missing jobid, not by rc. They treat an answer without errcodes as zeros, and some
/// read at most 1 KiB.
void PmiServer::spawn_frame(std::uint32_t rank, bool ok, const std::string& space) {
  if (!ok) return answer_frame(rank, "spawn", "spawn_failed");
  answer_frame(rank, "spawn", {}, {{"jobid", space}, {"nerrs", "0"}});
}

void PmiServer::on_unserved(std::uint32_t rank, Client&, const PmiLine& line) {
  answer_frame(rank, line["cmd"], "not_supported");
}

void PmiServer::answer_found(std::uint32_t rank, string_view command, const std::string* value) {
  const string_view key = value ? "value" : "";
  answer_frame(rank, command, {}, {{"found", as_text(value)}, {key, value ? *value : string_view()}});
}

/// `error` is empty after success.
void PmiServer::answer_frame(std::uint32_t rank, string_view command, string_view error, Pairs pairs) {
  const std::string& thread = clients_.at(rank).thread;
  std::vector<std::pair<string_view, string_view>> all;
  const std::string response = std::string(command) + "-response";
  all.emplace_back("cmd", response);
  if (!thread.empty()) all.emplace_back("thrid", thread);
  all.insert(all.end(), pairs.begin(), pairs.end());
  all.emplace_back("rc", error.empty() ? "0" : kFailed);
  if (!error.empty()) all.emplace_back("errmsg", error);
  actions_.push_back(Send{rank, write_frame(all)});
}

/// After every rank of the node waits or has ended, an awaited attribute can never be put.
void PmiServer::disconnect_attribute_waiters() {
  std::uint32_t stuck = gone_ + waiting_;
  for (const auto& [rank, client] : clients_) stuck += client.wait == Wait::attribute ? 1 : 0;
  if (stuck < world_.here) return;
  for (auto& [rank, client] : clients_) {
    if (client.wait != Wait::attribute) continue;
    break_off(rank, "waits for an attribute of its node, but no rank can put the attribute any more: " +
                        quoted(client.attribute));
  }
}

}  // namespace dlaunch::pmi
