#include "output/bars.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/index_cast.h"
#include "base/text.h"
#include "output/json_text.h"

namespace dlaunch::output {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kUnits = "kMGTP";

/// The number at the start of `text`, with a unit such as k or M.
std::optional<double> number_at(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (text.find_first_of(kDigits) != 0 || error != std::errc()) return std::nullopt;
  const std::size_t unit = end == text.data() + text.size() ? kUnits.npos : kUnits.find(*end);
  return unit == kUnits.npos ? value : value * std::pow(1000, unit + 1);
}

/// The start of the number, with or without a unit, that ends before `end`.
std::size_t number_before(std::string_view text, std::size_t end) {
  if (end > 0 && kUnits.find(text[end - 1]) != kUnits.npos) --end;
  while (end > 0 && (text[end - 1] == '.' || kDigits.find(text[end - 1]) != kDigits.npos)) --end;
  return end;
}

/// The position before the first `sign` that has one: '%' after a number up to 100, '/' between two numbers.
std::optional<double> position_at(std::string_view text, char sign) {
  for (std::size_t at = text.find(sign); at != text.npos; at = text.find(sign, at + 1)) {
    const std::size_t end = sign == '%' && at > 0 && text[at - 1] == ' ' ? at - 1 : at;
    const std::size_t begin = number_before(text, end);
    if (begin > 0 && (text[begin - 1] == '/' || text[begin - 1] == '-')) continue;  // a path, or a negative number
    const auto part = number_at(text.substr(begin, end - begin));
    const double whole = sign == '%' ? 100 : number_at(text.substr(at + 1)).value_or(0);
    if (part && whole > 0 && *part <= whole) return *part / whole;
  }
  return std::nullopt;
}

/// `text` without control sequences of a terminal, which move the cursor or change colors, and without blanks around.
std::string plain(std::string_view text) {
  std::string plain;
  for (std::size_t at = text.find("\x1b["); at != text.npos; at = text.find("\x1b[")) {
    plain += text.substr(0, at);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789;?", at + 2), text.size() - 1) + 1);
  }
  return std::string(trim(plain.append(text)));
}

}  // namespace

std::optional<double> bar_position(std::string_view text) {
  const auto found = position_at(text, '%');
  return found ? found : position_at(text, '/');
}

int Bars::add(std::string name) {
  bars_.push_back({.name = std::move(name)});
  return static_cast<int>(bars_.size()) - 1;
}

void Bars::draw(int bar, std::string_view text) {
  at_index(bars_, bar).text = text.substr(0, utf8_cut(text, kMostBarBytes));
  drawn_.insert(bar);
  last_ = bar;
}

void Bars::end(int bar) {
  if (drawn_.erase(bar) == 0) return;
  Bar& ended = at_index(bars_, bar);
  ended.completed += bar_position(ended.text) == 1 ? 1 : 0;
}

std::string Bars::text() const {
  if (drawn_.empty()) return {};
  using Place = std::tuple<int, double, int>;  // completed bars, position, bar
  std::vector<Place> places;
  for (const int bar : drawn_) {
    const auto position = bar_position(plain(at_index(bars_, bar).text));
    if (position) places.emplace_back(at_index(bars_, bar).completed, *position, bar);
  }
  const auto whole = [this](int bar) { return at_index(bars_, bar).name + ": " + plain(at_index(bars_, bar).text); };
  if (places.empty()) return whole(drawn_.contains(last_) ? last_ : *drawn_.begin());
  if (places.size() == 1) return whole(std::get<2>(places.front()));
  std::ranges::sort(places);
  const bool one_number = std::get<0>(places.front()) == std::get<0>(places.back());
  const auto shown = [&](const Place& place) {
    const auto& [completed, position, bar] = place;
    return (one_number ? "" : "bar " + std::to_string(completed + 1) + ": ") +
           std::to_string(static_cast<int>(position * 100 + 1e-9)) + '%';
  };
  const auto of = [&](const Place& place) {
    return shown(place) + " (" + at_index(bars_, std::get<2>(place)).name + ')';
  };
  return "slowest " + of(places.front()) + " · median " + shown(places[places.size() / 2]) + " · fastest " +
         of(places.back()) + " · " + plain(at_index(bars_, std::get<2>(places.front())).text);
}

}  // namespace dlaunch::output
