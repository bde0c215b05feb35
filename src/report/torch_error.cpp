#include "report/torch_error.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dlaunch::report {
namespace {

constexpr size_t kMostLines = 20;  // the last lines name the exception
constexpr int kDeepest = 8;        // a file of 1 MiB could have a million levels

using ErrorJson = nlohmann::json;

const ErrorJson* member(const ErrorJson& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const ErrorJson& message) {
  const ErrorJson* extra = member(message, "extraInfo");
  const ErrorJson* stack = extra ? member(*extra, "py_callstack") : nullptr;
  if (stack && stack->is_string()) return stack->get<std::string>();
  const ErrorJson* inner = member(message, "message");
  if (inner && inner->is_string()) return inner->get<std::string>();
  return message.is_string() ? message.get<std::string>() : "";
}

}  // namespace

std::vector<std::string> torch_error_lines(std::string_view text) {
  const auto is_shallow = [](int depth, auto, const auto&) { return depth < kDeepest; };
  const ErrorJson whole = ErrorJson::parse(text, is_shallow, false);
  const ErrorJson* message = member(whole, "message");
  if (!message) return {};
  const std::string words = text_of(message->is_object() ? *message : whole);
  if (trim(words).empty()) return {};
  std::vector<std::string> lines = split(trim(words), '\n');
  if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - static_cast<long>(kMostLines));
  return lines;
}

}  // namespace dlaunch::report
