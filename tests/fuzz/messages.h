// Reads a fuzzer's input as a sequence of messages: a byte chooses the type of each message, and the next bytes its
// fields.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "wire/message.h"

namespace dlaunch::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

class Input {
 public:
  /// `without`: characters that a text must not contain; '_' replaces them.
  Input(const std::uint8_t* data, size_t size, std::string_view without = {})
      : rest_(reinterpret_cast<const char*>(data), size), without_(without) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::string bytes(size_t most) {
    std::string taken(rest_.substr(0, most));
    rest_.remove_prefix(taken.size());
    std::ranges::replace_if(taken, [this](char c) { return without_.find(c) != std::string_view::npos; }, '_');
    return taken;
  }

 private:
  std::string_view rest_;
  std::string_view without_;
};

/// Fills a message's fields with small values, and sometimes with the largest possible one.
class Filler {
 public:
  explicit Filler(Input& input) : input_(input) {}

  template <class... T>
    requires(sizeof...(T) > 1)
  void operator()(T&... fields) {
    ((*this)(fields), ...);
  }
  template <class T>
  void operator()(T& value) {
    const std::uint8_t byte = input_.byte();
    if constexpr (std::is_same_v<T, bool>) {
      value = byte % 2 != 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(byte % 5);
    } else {
      value = byte < 250 ? static_cast<T>(byte % 12) : static_cast<T>(~std::uint64_t{0} >> (byte - 250));
    }
  }
  void operator()(std::string& text) {
    const std::uint8_t size = input_.byte();
    text = size == 255 ? std::string(wire::kMaxOutput, 'x') : input_.bytes(size % 24);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    const std::uint8_t size = input_.byte();
    list.resize(size == 255 ? 4096 : size % 4);
    if (size != 255) std::ranges::for_each(list, *this);
  }

 private:
  Input& input_;
};

template <class T>
wire::Message filled(Input& input) {
  T message;
  Filler filler(input);
  message.fields(filler);
  return message;
}

/// A message whose type is one of the variant's alternatives.
template <class Variant>
wire::Message any_of(Input& input) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    constexpr std::array<wire::Message (*)(Input&), sizeof...(I)> kMakers{
        filled<std::variant_alternative_t<I, Variant>>...};
    return kMakers[input.byte() % kMakers.size()](input);
  }(std::make_index_sequence<std::variant_size_v<Variant>>{});
}

}  // namespace dlaunch::fuzz
