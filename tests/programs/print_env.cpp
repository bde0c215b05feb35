// print_env NAME...: prints the value of each variable and a newline. Prints nothing for an unset variable.
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* value = std::getenv(argv[i]);
    if (!value) continue;
    std::fwrite(value, 1, std::strlen(value), stdout);
    std::putchar('\n');
  }
  return 0;
}
