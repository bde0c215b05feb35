// allocate MEGABYTES: allocates and writes MEGABYTES of memory, prints "allocated" and exits with 0.
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (long left = std::atol(argv[1]); left > 0; --left) {
    void* megabyte = std::malloc(1u << 20);
    if (!megabyte) return 1;
    std::memset(megabyte, static_cast<int>(left % 255) + 1, 1u << 20);
    asm volatile("" : : "r"(megabyte) : "memory");  // keeps the compiler from removing memory that is never read
  }
  std::puts("allocated");
  return 0;
}
