// The number of used bytes of the heap, from the allocator of the build: a sanitizer or glibc.
#pragma once

#include <malloc.h>

#include <cstddef>

extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

inline std::size_t allocated_bytes() {
  if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}
