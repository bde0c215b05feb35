#include "stacks/modules.h"

#include <algorithm>
#include <iterator>

#include "stacks/elf.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kMostKnownModules = 512;
constexpr std::size_t kMostKnownRows = 8192;  // limit of files; some kilobytes each

std::string hexadecimal(std::uint64_t value) {
  std::string text;
  for (; value != 0; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 0xfu]);
  return "0x" + text;
}

}  // namespace

KnownModule& ModuleCache::of(const Mapping& mapping, const std::string& beginning) {
  return known_[Key{mapping.path, mapping.file, beginning}];
}

void ModuleCache::forget_some() {
  std::size_t rows = 0;
  for (const auto& [key, module] : known_) rows += module.rows.size() + module.names.size();
  if (known_.size() > kMostKnownModules || rows > kMostKnownRows) known_.clear();
}

Caller Modules::caller_of(const ReadMemory& stack, const Registers& frame, std::uint64_t pc) {
  Module* module = at(pc);
  if (module == nullptr || module->known == nullptr) return {};
  auto& rows = module->known->rows;
  auto known = rows.find(pc - module->bias);
  if (known == rows.end()) {
    auto row = row_at(*module, pc);
    if (!row) return {};  // the deadline may have ended the read
    known = rows.emplace(pc - module->bias, *std::move(row)).first;
  }
  return stacks::caller_of(stack, known->second, frame);
}

std::optional<CallFrame> Modules::row_at(Module& module, std::uint64_t pc) {
  if (!module.table) module.table = UnwindTable::at(read_, module.first->start);
  if (module.table) return module.table->row_at(read_, pc);
  if (!module.entries) {
    const FunctionNames* file = names_.of(pid_, *module.first, module.beginning);
    const auto section = file != nullptr ? file->section(".eh_frame") : std::nullopt;
    module.entries = section ? FrameEntries(read_, section->first + module.bias, section->second) : FrameEntries();
  }
  const auto entry = module.entries->entry_of(pc);
  return entry ? call_frame_at(read_, *entry, pc) : std::nullopt;
}

std::string Modules::function_at(std::uint64_t pc) {
  Module& module = *at(pc);
  const std::uint64_t address = pc - module.bias;
  if (module.known == nullptr) return hexadecimal(address);
  const auto known = module.known->names.find(address);
  if (known != module.known->names.end()) return known->second;
  const FunctionNames* names = names_.of(pid_, *module.first, module.beginning);
  std::string name = names != nullptr ? names->at(address) : "";
  if (name.empty()) name = hexadecimal(address);
  if (names != nullptr) module.known->names.emplace(address, name);
  return name;
}

Modules::Module* Modules::at(std::uint64_t pc) {
  const auto next = std::ranges::upper_bound(maps_, pc, {}, &Mapping::start);
  if (next == maps_.begin() || pc >= std::prev(next)->end) return nullptr;
  auto first = std::prev(next);
  if (!first->executable) return nullptr;
  const std::string& path = first->path;
  while (first->offset != 0 && first != maps_.begin()) --first;
  if (first->offset != 0 || first->path != path) return nullptr;
  const auto [found, is_new] = modules_.try_emplace(first->start);
  if (is_new) {
    found->second.first = &*first;
    begin(found->second);
  }
  return &found->second;
}

void Modules::begin(Module& module) const {
  const std::uint64_t start = module.first->start;
  module.beginning = bytes_at(read_, start, kBeginning);
  if (module.beginning.empty()) return;
  const auto file = MappedElf::at(reader_over(module.beginning, start, read_), start);
  if (!file) return;
  module.bias = file->bias();
  module.known = &cache_.of(*module.first, module.beginning);
}

}  // namespace dlaunch::stacks
