#include "cli/setters.h"

#include <algorithm>
#include <array>

#include "allocate/host_list.h"
#include "allocate/hostfile.h"
#include "allocate/rankfile.h"
#include "base/text.h"
#include "cli/values.h"
#include "output/file_layout.h"
#include "output/label.h"
#include "plan/rank_dir.h"

namespace dlaunch::cli {
namespace {

using plan::AppRequest;
using std::string_view;
using Here = const Surroundings&;

constexpr std::array<Word<plan::MapBy>, 6> kMapBy{{{"slot", plan::MapBy::slot},
                                                   {"core", plan::MapBy::core},
                                                   {"hwthread", plan::MapBy::hwthread},
                                                   {"socket", plan::MapBy::socket},
                                                   {"numa", plan::MapBy::numa},
                                                   {"node", plan::MapBy::node}}};
constexpr std::array<Word<bool>, 2> kAbortOrContinue{{{"abort", true}, {"continue", false}}};

/// Another room's check, told by the option as it was typed.
Result<void> passed(Result<void> check) {
  if (!check) check.error().where.clear();
  return check;
}

/// The text of a file that an option names.
Result<std::string> text_of(string_view path, Here here) {
  const auto whole = absolute_path(path, here.cwd);
  if (!whole) return fail(whole.error());
  auto text = here.read_file(*whole);
  if (!text) return fail(text.error().error);
  return *std::move(text);
}

}  // namespace

Result<bool> abort_or_continue(string_view value) { return one_of(value, kAbortOrContinue); }

Result<void> set_label(Options& o, string_view value, Here) {
  o.output.label = value.empty() ? output::kDefaultLabel : value;
  return passed(output::check_label_template(*o.output.label));
}

Result<void> set_format(Options& o, string_view value, Here) {
  if (value == "jsonl") {
    o.output.mode = output::Mode::jsonl;
    return {};
  }
  if (value != "text" && value != "json") return unknown_word(value, {"text", "json", "jsonl"});
  o.format = value == "json" ? Format::json : Format::text;
  return {};
}

Result<void> set_timeout(Options& o, string_view value, Here) {
  auto limit = seconds(value);
  if (!limit) return fail(limit.error());
  o.policy.timeout.reset();
  if (limit->count() > 0) o.policy.timeout = *limit;
  return {};
}

Result<void> set_files(Options& o, string_view value, Here here) {
  auto files = file_settings(value, here.cwd);
  if (!files) return fail(files.error());
  o.output.files = *std::move(files);
  return passed(output::check_file_template(o.output.files->target));
}

Result<void> set_host_key(Options& o, string_view value, Here) {
  using transport::HostKey;
  constexpr std::array kNames = {std::pair{"strict", HostKey::strict}, std::pair{"accept-new", HostKey::accept_new},
                                 std::pair{"off", HostKey::off}};
  for (const auto& [name, host_key] : kNames) {
    if (value != name) continue;
    o.host_key = host_key;
    return {};
  }
  return unknown_word(value, {"strict", "accept-new", "off"});
}

Result<void> set_raw(Options& o, string_view value, Here) {
  if (value == "true") o.output.mode = output::Mode::raw;
  return {};
}

Result<void> add_variable(AppRequest& app, string_view value, Here) {
  auto setting = env_setting(value);
  if (!setting) return fail(setting.error());
  app.env.push_back(*std::move(setting));
  return {};
}

Result<void> add_env_file(AppRequest& app, string_view value, Here here) {
  auto path = absolute_path(value, here.cwd);
  if (!path) return fail(path.error());
  auto text = here.read_file(*path);
  if (!text) return fail(text.error().error);
  auto settings = parse_env_file(*text, std::string(value));
  if (!settings) return fail(settings.error());
  std::move(settings->begin(), settings->end(), std::back_inserter(app.env));
  return {};
}

Result<void> set_hostfile(Options& o, string_view value, Here here) {
  const auto text = text_of(value, here);
  if (!text) return fail(text.error());
  return put(o.hosts.hostfile, allocate::parse_hostfile(*text, std::string(value)));
}

Result<void> set_default_hostfile(Options& o, string_view value, Here here) {
  const auto text = text_of(value, here);
  if (!text) return fail(text.error());
  return put(o.hosts.default_hostfile, allocate::parse_hostfile(*text, std::string(value)));
}

Result<void> set_rankfile(Options& o, string_view value, Here here) {
  const auto text = text_of(value, here);
  if (!text) return fail(text.error());
  return put(o.request.rank_places, allocate::parse_rankfile(*text, std::string(value)));
}

Result<void> set_rank_table(Options& o, string_view value, Here here) {
  RankTableRequest table{.automatic = value == "auto", .name = std::string(value), .path = {}, .text = {}};
  if (!table.automatic) {
    auto text = text_of(value, here);
    if (!text) return fail(text.error());
    table.text = *std::move(text);
    if (auto ok = put(table.path, absolute_path(value, here.cwd)); !ok) return ok;
  }
  o.rank_table = std::move(table);
  o.request.rank_table = true;
  return {};
}

Result<void> set_product(Options& o, string_view value, Here) {
  o.product = ranktable::parse_product(value);
  if (o.product) return {};
  return unknown_word(value, {"910", "a2", "a3", "950"});
}

Result<void> set_filter(std::string& place, string_view value) {
  if (value.empty()) return fail({.where = "", .what = "names no host", .why = "", .hint = "write host:0,2@host2"});
  place = value;
  return {};
}

Result<void> set_agent_path(Options& o, string_view value, Here) {
  if (value.empty()) return fail({.where = "", .what = "names no file", .why = "", .hint = "write its path there"});
  o.hosts.agent_path = value;
  return {};
}

Result<void> set_rank_dir(Options& o, string_view value, Here) {
  o.request.rank_dir = value;
  return passed(plan::check_rank_dir(value));
}

Result<void> set_stage(Options& o, string_view value, Here here) {
  o.stage.clear();
  for (const std::string& part : split(value, ',')) {
    auto path = absolute_path(trim(part), here.cwd);
    if (!path) return fail(path.error());
    o.stage.push_back(*std::move(path));
  }
  return {};
}

Result<void> set_map_by(Options& o, string_view value, Here) {
  o.request.in_sequence = value == "seq";
  if (o.request.in_sequence) return {};
  if (value.starts_with("ppr:")) {
    const std::vector<std::string> parts = split(value, ':');
    if (parts.size() != 3 || parts[2] != "node") {
      return bad_value(value, "is not known here", "write ppr:N:node; a unit within the host goes with --bind-to");
    }
    return put(o.request.ranks_per_host, whole_number(parts[1], 1, kMaxRanks));
  }
  for (const auto& [word, map_by] : kMapBy) {
    if (word != value) continue;
    o.request.binding.map_by = map_by;
    return {};
  }
  return unknown_word(value, {"slot", "core", "hwthread", "socket", "numa", "node", "seq", "ppr:N:node"});
}

Result<void> no_effect(Options&, string_view, Here) { return {}; }

}  // namespace dlaunch::cli
