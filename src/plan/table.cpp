#include "plan/table.h"

#include <algorithm>

namespace dlaunch::plan {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kEllipsis = "…";

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

size_t columns(std::string_view text) { return static_cast<size_t>(std::ranges::count_if(text, starts_character)); }

std::string shorten(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  size_t left = width - 1;
  size_t end = 0;
  while (end < text.size() && (left > 0 || !starts_character(text[end]))) {
    if (starts_character(text[end])) --left;
    ++end;
  }
  return std::string(text.substr(0, end)).append(kEllipsis);
}

std::string aligned(std::vector<std::vector<std::string>> rows, std::string_view indent) {
  std::vector<size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = shorten(row[i], kWidestCell);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    text += indent;
    for (size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - columns(row[i]), ' ').append(kGap);
    }
    text += '\n';
  }
  return text;
}

std::string wrapped(const std::vector<std::string>& words, std::string_view indent, size_t width) {
  std::string text;
  size_t used = 0;
  for (const std::string& word : words) {
    const size_t length = columns(word);
    if (used > 0 && used + 1 + length <= width) {
      text += ' ';
      used += 1 + length;
    } else {
      if (used > 0) text += '\n';
      text += indent;
      used = indent.size() + length;
    }
    text += word;
  }
  if (used > 0) text += '\n';
  return text;
}

}  // namespace dlaunch::plan
