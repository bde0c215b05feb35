// Elements by the numbers of ranks, hosts, apps and streams, which are ints or enums.
#pragma once

#include <cstddef>

namespace dlaunch {

template <class Container, class Number>
decltype(auto) nth(Container& container, Number number) {
  return container[static_cast<std::size_t>(number)];
}

}  // namespace dlaunch
