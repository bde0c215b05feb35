#include "cli/setters.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/grammar.h"
#include "cli/values.h"
#include "dlaunch/hostfile.h"
#include "hosts/rankfile.h"
#include "output/file_layout.h"
#include "output/label.h"
#include "place/place.h"
#include "plan/rank_dir.h"
#include "plan/slot_list.h"

namespace dlaunch::cli {

// Setters of the options for files with the ranks' output.

namespace {

using std::string_view;
using Context = const ProcessContext&;

constexpr string_view kLocal = "local=";

Result<void> check_file(const std::string& target) {
  if (target.ends_with('/')) return missing_value("file name after the last '/'", "a name such as 'logs/{rank}.log'");
  return passed(output::check_file_template(target));
}

bool is_suffix(string_view text) { return text.starts_with(kLocal) || looks_like_directive(text); }

}  // namespace

Result<void> set_files(Options& o, string_view value, Context here) {
  auto files = TRY(file_settings(value, here.cwd));
  o.output.files = std::move(files);
  const std::string& target = o.output.files->target;
  return output::is_template(target) ? check_file(target) : Result<void>();
}

/// Without "." and empty parts: equal names share a file.
static Result<std::string> plain_path(string_view value, Context here) {
  std::string path = TRY(absolute_path(value, here.cwd));
  for (const string_view part : {"/./", "//"}) {
    for (size_t at = path.find(part); at != path.npos; at = path.find(part, at)) path.replace(at, part.size(), "/");
  }
  return path;
}

Result<void> set_stream_file(Options& o, output::Stream stream, string_view value, Context here) {
  if (!o.output.files)
    o.output.files = output::FileSettings{.target = "", .copy = false, .by_stream = true, .err_target = ""};
  const bool out = stream == output::Stream::out;
  std::string& target = out ? o.output.files->target : o.output.files->err_target;
  bool& copy = out ? o.output.files->copy : o.output.files->copy_err;
  bool& append = out ? o.output.files->append : o.output.files->append_err;
  auto& local = out ? o.output.files->local : o.output.files->local_err;
  copy = append = false;
  local.reset();
  const auto ends_name = [&] { return value.ends_with(':') && value.find(':') + 1 < value.size(); };
  while (!ends_name()) {
    const auto suffix = take_suffix(value, is_suffix);
    if (!suffix) break;
    if (suffix->starts_with(kLocal) && local) {
      return fail({.where = "",
                   .what = "duplicate suffix \"local\"",
                   .why = "",
                   .hint = "write all local ranks in one list, such as :local=0,1"});
    }
    if (suffix->starts_with(kLocal)) {
      local = TRY(rank_list(suffix->substr(kLocal.size())));
    } else if (*suffix == "copy") {
      copy = true;
    } else if (*suffix == "append") {
      append = true;
    } else {
      return bad_value(*suffix, "suffix", "append, copy or local=LIST after ':'", "remove the ':' from the file name");
    }
  }
  if (ends_name()) value.remove_suffix(1);  // "a:copy:" is the name "a:copy"
  TRY(put(target, plain_path(value, here)));
  return check_file(target);
}

Result<void> set_error_file(Options& o, string_view value, Context here) {
  TRY(put(o.error_file, absolute_path(value, here.cwd)));
  return check_file(o.error_file);
}

namespace {

using plan::AppRequest;
using std::string_view;
using Context = const ProcessContext&;

constexpr std::array<Word<output::Fold>, 4> kFoldLevels{{{"own", output::Fold::own},
                                                         {"exact", output::Fold::exact},
                                                         {"numbers", output::Fold::numbers},
                                                         {"off", output::Fold::off}}};
constexpr std::array<Word<plan::MapBy>, 6> kMapBy{{{"slot", plan::MapBy::slot},
                                                   {"core", plan::MapBy::core},
                                                   {"hwthread", plan::MapBy::hwthread},
                                                   {"socket", plan::MapBy::socket},
                                                   {"numa", plan::MapBy::numa},
                                                   {"node", plan::MapBy::node}}};
constexpr std::array<std::pair<string_view, TransportChoice>, 3> kTransports{
    {{"auto", TransportChoice::automatic}, {"ssh", TransportChoice::ssh}, {"exec", TransportChoice::exec}}};

/// The modifiers in lower case. Open MPI accepts ":PE=2,OVERSUBSCRIBE" and ":PE=2:OVERSUBSCRIBE".
std::vector<std::string> modifiers_of(string_view text) {
  std::vector<std::string> words;
  for (const std::string& part : split(text, ':')) {
    for (std::string& word : split(part, ',')) {
      std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
      if (!word.empty()) words.push_back(std::move(word));
    }
  }
  return words;
}

Result<void> map_modifiers(Options& o, string_view text) {
  const auto words = modifiers_of(text);
  if (std::ranges::find(words, "hwtcpus") != words.end()) o.request.threads_are_cpus = true;  // before PE=N
  for (const std::string& word : words) {
    if (word == "hwtcpus") continue;
    if (word == "oversubscribe" || word == "nooversubscribe") {
      o.request.oversubscribe = word == "oversubscribe";
    } else if (word.starts_with("pe=")) {
      TRY(set_cores_per_rank(o, string_view(word).substr(3)));
    } else if (word == "nolocal") {
      o.hosts.no_local = true;
    } else if (word == "donotlaunch") {
      o.dry_run = true;
    } else if (word == "display" || word == "displaydevel") {
      o.show_map = true;
    } else if (word != "inherit" && word != "noinherit" && word != "corecpus") {  // for spawned jobs
      return bad_value(word, "modifier",
                       "PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE, HWTCPUS, NOLOCAL, DISPLAY or DONOTLAUNCH");
    }
  }
  return {};
}

}  // namespace

Result<std::optional<char>> escape_key(string_view value) {
  if (value == "none") return std::nullopt;
  if (value.size() == 1 && value[0] > ' ' && value[0] < 127) return value[0];
  return bad_value(value, "key", "one character, or none");
}

Result<std::optional<std::chrono::milliseconds>> status_patience(string_view value) {
  if (value == "off") return std::nullopt;
  if (value == "on") return Options().status;
  const auto time = seconds_within(value, std::chrono::milliseconds(0), std::chrono::hours(24), "");
  if (time) return *time;
  return bad_value(value, "status", "on, off, or a time such as 5 or 1m");
}

Result<void> set_nodes(SameLineRequest& request, string_view value) {
  const size_t colon = std::min(value.find(':'), value.size());
  TRY(put(request.least, whole_number(value.substr(0, colon), 1, kMostNodes)));
  TRY(put(request.nodes, whole_number(value.substr(colon == value.size() ? 0 : colon + 1), 1, kMostNodes)));
  if (*request.least > *request.nodes) return bad_value(value, "number of nodes", "N or MIN:MAX");
  return {};
}

Result<void> set_ranks(plan::AppRequest& a, string_view value, Context) {
  a.for_devices = value == "devices";
  a.ranks.reset();
  return a.for_devices ? Result<void>{} : put(a.ranks, whole_number(value, 1, kMaxRanks));
}

Result<void> set_label(Options& o, string_view value, Context) {
  o.output.label = value.empty() ? output::kDefaultLabel : value;
  return passed(output::check_label_template(*o.output.label));
}

Result<void> set_format(Options& o, string_view value, Context) {
  if (value == "jsonl") {
    o.output.mode = output::Mode::jsonl;
    return {};
  }
  if (value != "text" && value != "json") return unknown_word(value, format_names());
  o.format = value == "json" ? Format::json : Format::text;
  return {};
}

std::vector<std::string> format_names() { return {"text", "json", "jsonl"}; }

Result<void> set_timeout(Options& o, string_view value, Context) {
  auto limit = TRY(seconds(value));
  o.policy.timeout.reset();
  if (limit.count() > 0) o.policy.timeout = limit;
  return {};
}

Result<void> set_wait_after_first(Options& o, string_view value, Context) {
  auto limit = TRY(seconds(value));
  o.policy.after_first.reset();
  if (limit.count() > 0) o.policy.after_first = limit;
  return {};
}

Result<void> set_fold(Options& o, string_view value, Context) {
  return put(o.output.fold, one_of<kFoldLevels>(value.empty() ? "own" : value == "false" ? "off" : value));
}

Result<int> console_rate(string_view value) {
  if (value.ends_with("/s")) value.remove_suffix(2);
  return whole_number(value, 1, 1'000'000);
}

Result<void> set_raw(Options& o, string_view value, Context) {
  if (value == "true") o.output.mode = output::Mode::raw;
  return {};
}

Result<void> add_variable(AppRequest& app, string_view value, Context) {
  auto setting = TRY(env_setting(value));
  app.env.push_back(std::move(setting));
  return {};
}

Result<std::string> text_of_file(string_view path, Context here) {
  const auto whole = TRY(absolute_path(path, here.cwd));
  auto text = here.read(whole);
  if (!text) return fail(text.error().error);
  return *std::move(text);
}

Result<void> add_env_file(AppRequest& app, string_view value, Context here) {
  const auto text = TRY(text_of_file(value, here));
  auto settings = TRY(parse_env_file(text, std::string(value)));
  std::move(settings.begin(), settings.end(), std::back_inserter(app.env));
  return {};
}

Result<void> set_hostfile(Options& o, string_view value, Context here) {
  const auto text = TRY(text_of_file(value, here));
  return put(o.hosts.hostfile, hosts::parse_hostfile(text, std::string(value)));
}

/// The file may be missing or wrong if another option or the batch system lists the hosts.
Result<void> set_default_hostfile(Options& o, string_view value, Context here) {
  const bool by_manager = here.place.job() && !o.hosts.ignore_resource_manager;
  const bool used = o.hosts.list.empty() && o.hosts.hostfile.empty() && !by_manager;
  const auto text = text_of_file(value, here);
  if (!text) return used ? tl::unexpected(text.error()) : Result<void>();
  auto entries = hosts::parse_hostfile(*text, std::string(value));
  return entries || used ? put(o.hosts.default_hostfile, std::move(entries)) : Result<void>();
}

Result<void> set_rankfile(Options& o, string_view value, Context here) {
  const auto text = TRY(text_of_file(value, here));
  return put(o.request.rank_places, hosts::parse_rankfile(text, std::string(value)));
}

Result<void> set_rank_table(Options& o, string_view value, Context here) {
  RankTableRequest table{.automatic = value == "auto", .name = std::string(value), .path = {}, .text = {}};
  if (!table.automatic) {
    auto text = TRY(text_of_file(value, here));
    table.text = std::move(text);
    TRY(put(table.path, absolute_path(value, here.cwd)));
  }
  o.rank_table = std::move(table);
  o.request.rank_table = true;
  return {};
}

Result<void> set_product(Options& o, string_view value, Context) {
  o.product = ranktable::parse_product(value);
  if (o.product) return {};
  return unknown_word(value, product_names());
}

std::vector<std::string> product_names() { return {"910", "a2", "a3", "950"}; }

Result<void> set_filter(std::string& place, string_view value) {
  if (value.empty()) return missing_value("host", "host1:0,2@host2");
  place = value;
  return {};
}

Result<void> set_agent_path(Options& o, string_view value, Context) {
  if (value.empty()) return missing_value("path", "");
  o.hosts.agent_path = value;
  return {};
}

Result<void> set_rank_dir(Options& o, string_view value, Context) {
  o.request.rank_dir = value;
  return passed(plan::check_rank_dir(value));
}

Result<void> set_stage(Options& o, string_view value, Context here) {
  o.stage.clear();
  for (const std::string& part : split(value, ',')) {
    auto path = TRY(absolute_path(trim(part), here.cwd));
    o.stage.push_back(std::move(path));
  }
  return {};
}

Result<void> set_max_slots(Options& o, string_view value, Context) {
  std::vector<int> most;
  for (const std::string& text : split(value, ',')) {
    const int number = TRY(whole_number(text, 1, kMaxRanks));
    most.push_back(number);
  }
  o.hosts.max_slots = std::move(most);
  return {};
}

Result<void> set_map_by(Options& o, string_view value, Context) {
  const MapBySpelling spelled = split_map_by(value);
  TRY(map_modifiers(o, spelled.modifiers));
  const string_view policy = spelled.policy;
  o.request.in_sequence = policy == "seq";
  o.request.in_blocks = policy == "block";
  if (o.request.in_blocks) o.request.binding.map_by = plan::MapBy::node;
  if (policy.empty() || o.request.in_sequence || o.request.in_blocks) return {};
  if (policy.starts_with("ppr:")) {
    const std::vector<std::string> parts = split(policy, ':');
    if (parts.size() != 3 || parts[2] != "node") {
      return bad_value(value, "value", "ppr:N:node", "use --bind-to for a unit within the host");
    }
    return put(o.request.ranks_per_host, whole_number(parts[1], 1, kMaxRanks));
  }
  for (const auto& [word, map_by] : kMapBy) {
    if (word != policy) continue;
    o.request.binding.map_by = map_by;
    return {};
  }
  return unknown_word(value, map_by_names());
}

std::vector<std::string> fold_levels() { return words_of<kFoldLevels>(); }

std::vector<std::string> map_by_names() {
  return {"slot", "core", "hwthread", "socket", "numa", "node", "block", "seq", "ppr:N:node"};
}

Result<void> set_cores_per_rank(Options& o, string_view value) {
  if (value == "share") {
    o.request.binding.cores_per_rank = plan::kEqualShare;
  } else {
    TRY(put(o.request.binding.cores_per_rank, whole_number(value, 1, kMaxRanks)));
  }
  const auto unit = o.request.threads_are_cpus ? plan::BindTo::hwthread : plan::BindTo::core;
  if (o.request.binding.bind_to == plan::BindTo::none) o.request.binding.bind_to = unit;
  return {};
}

Result<string_view> bind_unit(Options& o, string_view value) {
  const size_t colon = std::min(value.find(':'), value.size());
  for (const std::string& word : modifiers_of(value.substr(colon))) {
    if (word == "overload-allowed") {
      o.request.binding.overload = true;
    } else if (word == "if-supported") {
      o.request.binding.if_supported = true;
    } else if (word == "report") {
      o.request.binding.report = true;
    } else if (word == "no-overload") {
      o.request.binding.overload = false;
    } else {
      return unknown_word(word, {"overload-allowed", "if-supported", "report"});
    }
  }
  const string_view unit = value.substr(0, colon);
  return unit == "package" ? "socket" : unit;
}

Result<void> set_cpu_list(Options& o, string_view value, Context) {
  o.request.cpu_list = value;
  for (const std::string& turn : split(value, '/')) {
    TRY(plan::parse_slot_list(turn));
  }
  return {};
}

Result<void> set_transport(Options& o, string_view value) {
  o.way = place::find_way(value);
  const auto word = std::ranges::find(kTransports, value, &std::pair<string_view, TransportChoice>::first);
  if (o.way || word != std::end(kTransports)) {
    o.transport = o.way ? TransportChoice::by_manager : word->second;
    return {};
  }
  return unknown_word(value, transport_names());
}

std::vector<std::string> transport_names() {
  std::vector<std::string> names = place::way_names();
  for (const auto& each : std::views::reverse(kTransports)) names.emplace(names.begin(), each.first);
  return names;
}

Result<void> set_report_pid(Options& o, string_view value, Context here) {
  if (value != "-" && value != "+") return put(o.report_pid, absolute_path(value, here.cwd));
  o.report_pid = value;
  return {};
}

Result<void> set_personality(Options&, string_view value, Context) {
  if (grammar_named(value)) return {};
  return unknown_word(value, grammar_names());
}

Result<void> no_effect(Options&, string_view, Context) { return {}; }

}  // namespace dlaunch::cli
