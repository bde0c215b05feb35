// The one way to return an error to the caller: a statement expression of GCC and Clang.
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

/// The value of a Result; an error is returned from the calling function: `const auto plan = TRY(make_plan(request));`
/// It stands alone, behind `=` or `return` or as a statement: GCC does not destroy the parts of an expression that are
/// there already when it returns from the midst of one. A test of tests/layers holds that.
#define TRY(...)                                                                 \
  ({                                                                             \
    auto result_to_try = (__VA_ARGS__);                                          \
    if (!result_to_try) return tl::unexpected(std::move(result_to_try).error()); \
    ::dlaunch::taken(std::move(result_to_try));                                  \
  })
