#include "output/group_channel.h"

#include <algorithm>
#include <utility>

#include "base/index_cast.h"
#include "base/printable.h"

namespace dlaunch::output {
namespace {

constexpr std::string_view kClearLine = "\x1b[0K";

std::string title_of(const StreamFacts& facts) {
  std::string title;
  for (const char c : printable(writer_name(facts) + " (" + facts.host.host + ')'))
    (c == '%' ? title += "%25" : title += c);
  return title;
}

/// "section_start:1700000000:dlaunch_3", with the control sequences that hide the text.
std::string gitlab_mark(std::string_view kind, std::int64_t ns, int number, std::string_view more = "") {
  return std::string(kClearLine) + "section_" + std::string(kind) + ':' + std::to_string(ns / 1'000'000'000) +
         ":dlaunch_" + std::to_string(number) + std::string(more) + '\r' + std::string(kClearLine);
}

}  // namespace

GroupChannel::GroupChannel(Writer& writer, ChannelContext& shared, Groups form, std::string token)
    : writer_(writer), shared_(shared), form_(form), token_(std::move(token)), timer_(shared.timers.add(this, 0)) {}

int GroupChannel::add(const StreamFacts& facts, int id, Prefix prefix) {
  const auto number = static_cast<std::size_t>(id);
  if (groups_.size() <= number) groups_.resize(number + 1);
  groups_[number].title = title_of(facts);
  ++groups_[number].open;
  slots_.push_back({number, std::move(prefix)});
  return static_cast<int>(slots_.size()) - 1;
}

void GroupChannel::feed(int slot, std::string_view bytes, ReadTime at) {
  Slot& from = at_index(slots_, slot);
  for (std::size_t end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
    add_line(from, bytes.substr(0, end + 1), at);
    bytes.remove_prefix(end + 1);
  }
  from.partial += bytes;
  if (from.partial.size() > kMostGroupBytes) add_line(from, "\n", at);
  if (held_ > 0 && !timer_->running) shared_.timers.start(timer_, at.now);
}

void GroupChannel::add_line(Slot& slot, std::string_view line, ReadTime at) {
  Group& group = groups_[slot.group];
  const std::size_t before = group.text.size();
  if (before == 0) {
    group.since = at.now;
    group.first_ns = at.wall_ns;
  }
  group.last_ns = at.wall_ns;
  if (!slot.prefix.empty()) group.text += slot.prefix.render(at.wall_ns);
  group.text += std::exchange(slot.partial, {});
  group.text += line;
  held_ += group.text.size() - before;
  if (group.text.size() > kMostGroupBytes) print(group);
  if (held_ > kMostHeldBytes)
    print(*std::ranges::max_element(groups_, {}, [](const Group& g) { return g.text.size(); }));
}

void GroupChannel::end(int slot, Time now) {
  Slot& from = at_index(slots_, slot);
  Group& group = groups_[from.group];
  if (!from.partial.empty()) add_line(from, "\n", {now, group.last_ns});
  if (--group.open == 0) print(group);
}

void GroupChannel::expire(int, Time now) {
  for (Group& group : groups_) {
    if (group.since + kMostGroupAge <= now) print(group);
  }
  if (held_ > 0) shared_.timers.start(timer_, now);
}

void GroupChannel::show_held() {
  for (Slot& slot : slots_) {
    if (!slot.partial.empty()) add_line(slot, "\n", {shared_.now, groups_[slot.group].last_ns});
  }
  for (Group& group : groups_) print(group);
}

void GroupChannel::print(Group& group) {
  if (group.text.empty()) return;
  const std::string title = group.title + (group.printed++ == 0 ? "" : ", continued") + '\n';
  const int number = ++count_;
  held_ -= group.text.size();
  if (form_ == Groups::gitlab) {
    writer_.write(gitlab_mark("start", group.first_ns, number, "[collapsed=true]") + title);
    writer_.write(std::exchange(group.text, {}));
    writer_.write(gitlab_mark("end", group.last_ns, number) + '\n');
  } else {
    writer_.write("::group::" + title + "::stop-commands::" + token_ + '\n');
    writer_.write(std::exchange(group.text, {}));
    writer_.write("::" + token_ + "::\n::endgroup::\n");
  }
}

}  // namespace dlaunch::output
