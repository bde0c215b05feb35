// Access to an element by its number: the number of a rank, host, app or stream is an int or an enum.
#pragma once

#include <cstddef>

namespace dlaunch {

template <class Container, class Number>
decltype(auto) at_index(Container& container, Number number) {
  return container[static_cast<std::size_t>(number)];
}

}  // namespace dlaunch
