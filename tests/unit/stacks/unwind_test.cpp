// Call frame information and encodings of DWARF, from bytes in this file.
#include <gmock/gmock.h>

#include <algorithm>

#include "stacks/call_frame.h"
#include "stacks/dwarf_bytes.h"
#include "stacks/native.h"

namespace dlaunch::stacks {
namespace {

using std::string_view;
using namespace std::string_view_literals;

constexpr std::uint64_t kBase = 0x1000;
constexpr Budget::Limits kEnough{.bytes = 1u << 20, .work = 1u << 20};

/// Memory with these bytes at kBase.
ReadMemory memory_of(std::string bytes) {
  return [bytes = std::move(bytes)](std::uint64_t address, std::span<char> into) {
    const std::uint64_t offset = address - kBase;
    if (address < kBase || offset > bytes.size() || into.size() > bytes.size() - offset) return false;
    std::ranges::copy(string_view(bytes).substr(offset, into.size()), into.begin());
    return true;
  };
}

std::string little(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

TEST(DwarfBytes, ReadsEachEncoding) {
  const std::string text = "\xe5\x8e\x26\x7f\x80\x7f"sv.data() + std::string("name\0", 5) + little(0x11223344, 4);
  DwarfBytes bytes(text, 0x500);
  EXPECT_EQ(bytes.unsigned_leb(), 624485u);
  EXPECT_EQ(bytes.signed_leb(), -1);
  EXPECT_EQ(bytes.signed_leb(), -128);
  EXPECT_EQ(bytes.text(), "name");
  EXPECT_EQ(bytes.address(), 0x500u + 11);
  EXPECT_EQ(bytes.pointer(0x1b), 0x500u + 11 + 0x11223344);
  EXPECT_TRUE(bytes.at_end());
  EXPECT_FALSE(bytes.failed());
  EXPECT_EQ(bytes.fixed<std::uint16_t>(), 0);
  EXPECT_TRUE(bytes.failed());
}

TEST(DwarfBytes, FailsForTruncatedOrUnknownValues) {
  const auto fails = [](string_view text, auto read) {
    DwarfBytes bytes(text, 0);
    read(bytes);
    return bytes.failed();
  };
  EXPECT_TRUE(fails("\x80", [](DwarfBytes& b) { b.unsigned_leb(); }));
  EXPECT_TRUE(fails("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", [](DwarfBytes& b) { b.unsigned_leb(); }));
  EXPECT_TRUE(fails("abc", [](DwarfBytes& b) { b.text(); }));
  EXPECT_TRUE(fails("abc", [](DwarfBytes& b) { b.take(4); }));
  EXPECT_TRUE(fails("abcdefgh", [](DwarfBytes& b) { b.pointer(0x01); }));
  EXPECT_TRUE(fails("abcdefgh", [](DwarfBytes& b) { b.pointer(0x33); }));
}

constexpr std::size_t kStack = Registers::kStackPointer;
constexpr std::size_t kReturn = Registers::kReturnColumn;
constexpr std::size_t kFrame = Registers::kPreserved.back();  // used as a frame pointer

/// The bytes of an instruction: each number is one byte.
std::string code(std::initializer_list<std::size_t> bytes) {
  std::string text;
  for (const std::size_t byte : bytes) text += static_cast<char>(byte);
  return text;
}
std::size_t saved(std::size_t number) { return 0x80 | number; }  // DW_CFA_offset

/// A CIE as written by GCC (version 1, "zR", CFA = stack pointer + 8, return address at CFA - 8), followed by an FDE
/// for the functions from 0x2000 to 0x2100 with these instructions. Also returns the address of the FDE.
std::pair<std::string, std::uint64_t> table_of(string_view instructions) {
  const std::string common = little(0, 4) + std::string("\x01zR\0\x01\x78", 6) +
                             code({kReturn, 1, 3, 0x0c, kStack, 8, saved(kReturn), 1, 0, 0});
  std::string bytes = little(common.size(), 4) + common;
  const std::uint64_t entry = kBase + bytes.size();
  const std::string function =
      little(bytes.size() + 4, 4) + little(0x2000, 4) + little(0x100, 4) + '\0' + std::string(instructions);
  return {bytes + little(function.size(), 4) + function, entry};
}

TEST(CallFrame, FindsTheRowOfAnAddress) {
  // advance 1; def_cfa_offset 16; frame pointer at CFA - 16; advance 3; def_cfa_register frame pointer; advance 0x50;
  // def_cfa stack pointer, 8
  const auto [bytes, entry] =
      table_of(code({0x41, 0x0e, 16, saved(kFrame), 2, 0x43, 0x0d, kFrame, 0x02, 0x50, 0x0c, kStack, 8}));
  const ReadMemory read = memory_of(bytes);
  const auto first = call_frame_at(read, entry, 0x2000);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->base, kStack);
  EXPECT_EQ(first->offset, 8);
  EXPECT_EQ(first->rules[kReturn].number, -8);
  EXPECT_EQ(first->rules[kFrame].kind, RegisterRule::Kind::same);
  const auto pushed = call_frame_at(read, entry, 0x2001);
  ASSERT_TRUE(pushed);
  EXPECT_EQ(pushed->offset, 16);
  EXPECT_EQ(pushed->rules[kFrame].kind, RegisterRule::Kind::at_offset);
  EXPECT_EQ(pushed->rules[kFrame].number, -16);
  EXPECT_EQ(call_frame_at(read, entry, 0x2020)->base, kFrame);
  EXPECT_EQ(call_frame_at(read, entry, 0x2060)->base, kStack);
  EXPECT_FALSE(call_frame_at(read, entry, 0x1fff));
  EXPECT_FALSE(call_frame_at(read, entry, 0x2100));
}

TEST(CallFrame, RemembersAndRestoresStates) {
  // advance 1; remember; def_cfa_offset 64; rbx at CFA - 24; advance 1; restore_state
  const auto [bytes, entry] = table_of("\x41\x0a\x0e\x40\x83\x03\x41\x0b"sv);
  const ReadMemory read = memory_of(bytes);
  EXPECT_EQ(call_frame_at(read, entry, 0x2001)->offset, 64);
  EXPECT_EQ(call_frame_at(read, entry, 0x2001)->rules[3].number, -24);
  EXPECT_EQ(call_frame_at(read, entry, 0x2002)->offset, 8);
  EXPECT_EQ(call_frame_at(read, entry, 0x2002)->rules[3].kind, RegisterRule::Kind::same);
}

#ifdef __aarch64__
TEST(CallFrame, CallerOfALeafIsInTheLinkRegister) {
  // negate_ra_state, then the row of the function's first instruction, without the rule of the CIE for the link
  // register
  const auto [bytes, entry] = table_of(code({0x2d, 0x08, kReturn}));
  const auto row = call_frame_at(memory_of(bytes), entry, 0x2000);
  ASSERT_TRUE(row);
  Registers frame;
  frame[kStack] = 0x7ff0;
  frame[kReturn] = 0x00a5000000003004;  // signed
  const Caller caller = caller_of(memory_of(""), *row, frame);
  EXPECT_EQ(caller.kind, Caller::Kind::found);
  EXPECT_EQ(caller.registers[Registers::kReturnAddress], 0x3004u);
}
#endif

TEST(CallFrame, ReturnsNothingForUnknownOrTruncatedInstructions) {
  for (const string_view bad : {"\x3f\x01"sv, "\x0b"sv, "\x0c\x40\x08"sv, "\x0f\x7f"sv, "\x02"sv}) {
    const auto [bytes, entry] = table_of(bad);
    EXPECT_FALSE(call_frame_at(memory_of(bytes), entry, 0x2000)) << bad.size();
  }
  const auto [bytes, entry] = table_of("\x41"sv);
  EXPECT_FALSE(call_frame_at(memory_of(bytes.substr(0, bytes.size() - 1)), entry, 0x2000));
}

TEST(CallFrame, RejectsALongExpression) {
  const auto with_expression = [](std::size_t size) {
    const std::string code =
        "\x16\x03" + std::string{static_cast<char>(0x80 | (size & 0x7f)), static_cast<char>(size >> 7)};
    return code + std::string(size, '\x31');
  };
  for (const std::size_t size : {200u, 300u}) {
    const auto [bytes, entry] = table_of(with_expression(size));
    EXPECT_EQ(call_frame_at(memory_of(bytes), entry, 0x2000).has_value(), size == 200u) << size;
  }
}

/// A common part of 64 KiB for all functions was read for each of them.
TEST(FrameEntries, ReadOnlyTheBeginningOfALongEntry) {
  const auto [bytes, entry] = table_of("\x41" + std::string(60'000, '\0'));
  std::size_t read = 0;
  const ReadMemory memory = memory_of(bytes);
  const ReadMemory counted = [&](std::uint64_t address, std::span<char> into) {
    read += into.size();
    return memory(address, into);
  };
  EXPECT_TRUE(covered_by(counted, entry));
  EXPECT_LT(read, 512u);
}

TEST(FrameEntries, AreMissingAboveALimit) {
  const auto [bytes, entry] = table_of("\x41"sv);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += bytes;
  const auto found = [&](Budget::Limits limits) {
    Budget budget(limits);
    const bool there = FrameEntries(memory_of(many), kBase, many.size(), budget).entry_of(0x2000).has_value();
    EXPECT_NE(there, budget.used_up());
    return there;
  };
  EXPECT_TRUE(found({.bytes = 1u << 20, .work = 8u << 20}));
  EXPECT_FALSE(found({.bytes = many.size() - 1, .work = 8u << 20}));
  EXPECT_FALSE(found({.bytes = many.size() + 1000, .work = 8u << 20}));
  EXPECT_FALSE(found({.bytes = 1u << 20, .work = 100'000}));
}

TEST(FrameEntries, AreFoundByAddress) {
  const auto [bytes, entry] = table_of("\x41"sv);
  const std::string ended = bytes + little(0, 4) + bytes;  // like two linked files, the second for the same functions
  Budget budget(kEnough);
  const FrameEntries entries(memory_of(ended), kBase, ended.size(), budget);
  for (const std::uint64_t pc : {0x2000u, 0x20ffu}) {
    const auto found = entries.entry_of(pc);
    ASSERT_TRUE(found);
    EXPECT_TRUE(*found == entry || *found == entry + bytes.size() + 4);
  }
  EXPECT_FALSE(entries.entry_of(0x1fff));
  EXPECT_FALSE(entries.entry_of(0x2100));
}

TEST(FrameEntries, AreMissingForTruncatedOrUnreadableTables) {
  Budget budget(kEnough);
  const auto [bytes, entry] = table_of("\x41"sv);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(FrameEntries(memory_of(bytes), kBase, size, budget).entry_of(0x2000)) << size;
  }
  EXPECT_TRUE(FrameEntries(memory_of(bytes), kBase, bytes.size(), budget).entry_of(0x2000));
  EXPECT_FALSE(FrameEntries(memory_of(bytes), kBase, bytes.size() + 1, budget).entry_of(0x2000));
  EXPECT_FALSE(FrameEntries(memory_of(bytes), kBase, ~0ull, budget).entry_of(0x2000));
  EXPECT_FALSE(FrameEntries().entry_of(0x2000));
}

TEST(Expression, EvaluatesAStubOfASharedLibrary) {
  // As in .plt of x86-64: rsp + 8 + ((rip & 15) >= 11) << 3
  const std::string stub = code({0x70 + kStack, 8, 0x70 + kReturn, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  Registers frame;
  frame[kStack] = 0x1000;
  frame[kReturn] = 0x205b;
  EXPECT_EQ(expression_value(memory_of(""), stub, frame, std::nullopt), 0x1010u);
  frame[kReturn] = 0x2056;
  EXPECT_EQ(expression_value(memory_of(""), stub, frame, std::nullopt), 0x1008u);
  frame[kStack].reset();
  EXPECT_FALSE(expression_value(memory_of(""), stub, frame, std::nullopt));
  EXPECT_FALSE(expression_value(memory_of(""), "\x22", frame, 1));
  EXPECT_FALSE(expression_value(memory_of(""), "\xe0", frame, 1));
  EXPECT_EQ(expression_value(memory_of(little(77, 8)), "\x06", frame, kBase), 77u);
}

TEST(ThreadState, ParsesTheLineOfTheKernel) {
  const auto blocked = parse_system_call("202 0x7f0 0x80 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f20\n");
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->number, 202);
  EXPECT_EQ(blocked->registers[kStack], 0x7ffd10u);
  EXPECT_EQ(blocked->registers[Registers::kReturnAddress], 0x7f20u);
  EXPECT_FALSE(blocked->registers[kFrame]);
  EXPECT_TRUE(parse_system_call("-1 0x7ffd10 0x7f20\n"));
  EXPECT_TRUE(parse_system_call("running\n")->running);
  for (const char* bad : {"", "x 0x1 0x2", "1 2 3", "1 0x1", "1 0x1 0xzz"}) EXPECT_FALSE(parse_system_call(bad)) << bad;
}

TEST(Native, RecognizesCallsThatWaitForRanks) {
  for (const char* name : {"MPI_Recv", "PMPI_Allreduce", "ncclAllReduce", "ucp_worker_progress",
                           "_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"}) {
    EXPECT_TRUE(waits_for_ranks(name)) << name;
  }
  for (const char* name :
       {"", "main", "recv", "opal_progress", "MPIR_x", "mpi_solve", "MPI_", "MPI_main", "nccl_tests", "_ZN3c104gpuE"}) {
    EXPECT_FALSE(waits_for_ranks(name)) << name;
  }
}

}  // namespace
}  // namespace dlaunch::stacks
