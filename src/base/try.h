// The way to return an error to the caller: a statement expression of GCC and Clang.
#pragma once

#include <tl/expected.hpp>
#include <utility>

namespace dlaunch {

template <class T, class E>
T taken(tl::expected<T, E>&& result) {
  return *std::move(result);
}
template <class E>
void taken(tl::expected<void, E>&&) {}

}  // namespace dlaunch

/// The value of a Result. An error is returned from the calling function: `const auto plan = TRY(make_plan(request));`
/// TRY must follow `=` or `return`, or be a statement: GCC does not destroy the finished parts of an expression if TRY
/// returns from the middle. A test in tests/layers checks this rule.
#define TRY(...)                                                                 \
  ({                                                                             \
    auto result_to_try = (__VA_ARGS__);                                          \
    if (!result_to_try) return tl::unexpected(std::move(result_to_try).error()); \
    ::dlaunch::taken(std::move(result_to_try));                                  \
  })
