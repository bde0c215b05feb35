// Reads any bytes as the memory of a process: an ELF file at its beginning, with its exception table, call frame
// instructions and expressions; the structures of Python; and a mangled name. The functions must return, with bounded
// memory. The first eight bytes of the input are an address.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "allocated_bytes.h"
#include "stacks/call_frame.h"
#include "stacks/demangle.h"
#include "stacks/native.h"
#include "stacks/process.h"
#include "stacks/python.h"

using namespace dlaunch::stacks;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  std::uint64_t address = 0;
  std::memcpy(&address, data, sizeof address);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 8, size - 8);
  const ReadMemory read = [bytes](std::uint64_t at, std::span<char> into) {
    if (at > bytes.size() || into.size() > bytes.size() - at) return false;
    std::ranges::copy(bytes.substr(at, into.size()), into.begin());
    return true;
  };
  Registers frame;
  for (std::size_t i = 0; i < Registers::kCount; ++i) frame[i] = address + i;
  const auto table = UnwindTable::at(read, 0);
  const auto row = table ? table->row_at(read, address) : std::nullopt;
  if (row) caller_of(read, *row, frame);
  if (const auto symbols = DynamicSymbols::at(read, 0)) symbols->find(read, "_PyRuntime");
  Budget budget({.bytes = 4u << 20, .work = 4u << 20});
  FrameEntries(read, 0, bytes.size(), budget).entry_of(address);
  const ReadMemory counted = [&](std::uint64_t at, std::span<char> into) {
    return budget.spend(into.size() + 64) && read(at, into);
  };
  const std::size_t before = allocated_bytes();
  {
    const auto stacks = read_python(counted, address % 4096,
                                    0x03080000 + static_cast<std::uint32_t>(address >> 16 & 7) * 0x10000, budget);
    if (allocated_bytes() > before + (8u << 20)) __builtin_trap();
  }
  if (demangled(bytes).size() > std::max<std::size_t>(bytes.size(), 512)) __builtin_trap();
  if (demangled("_Z" + std::string(bytes)).size() > std::max<std::size_t>(bytes.size() + 2, 512)) __builtin_trap();
  call_frame_at(read, address % (bytes.size() + 1), address);
  expression_value(read, std::string(bytes.substr(0, 512)), frame, address);
  parse_system_call(bytes);
  return 0;
}
