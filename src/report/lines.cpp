#include "report/lines.h"

#include <chrono>
#include <cstdio>

namespace dlaunch::report {

std::string formatted(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string duration_text(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 0.995) return formatted("%.2f s", seconds);
  if (seconds < 59.95) return formatted("%.1f s", seconds);
  const long whole = std::chrono::round<std::chrono::seconds>(duration).count();
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string cut_to(std::string_view text, size_t columns) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    const auto byte = static_cast<unsigned char>(text[end]);
    const size_t width = (byte & 0xC0U) == 0x80U ? 0 : byte < 0xE3U ? 1 : 2;  // ideographs and emoji have two columns
    if (columns < width) break;
    columns -= width;
  }
  return std::string(text.substr(0, end));
}

}  // namespace dlaunch::report
