#include "stacks/modules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stacks/elf.h"

namespace dlaunch::stacks {
namespace {

constexpr std::size_t kOfAnEntry = 128;  // memory of an entry of a map, without texts

std::string hexadecimal(std::uint64_t value) {
  std::string text;
  for (; value != 0; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 0xfu]);
  return "0x" + text;
}

}  // namespace

bool ModuleCache::take(std::size_t bytes) {
  if (bytes > most_ - bytes_) return false;
  bytes_ += bytes;
  return true;
}

KnownModule* ModuleCache::of(const Mapping& mapping, const std::string& beginning) {
  Key key{mapping.path, mapping.file, beginning};
  if (const auto known = known_.find(key); known != known_.end()) return &known->second;
  if (!take(3 * kOfAnEntry + key.path.size() + key.file.size() + key.beginning.size())) return nullptr;
  return &known_[std::move(key)];
}

void ModuleCache::keep(KnownModule& module, std::uint64_t address, const CallFrame& row) {
  std::size_t bytes = kOfAnEntry + sizeof row + row.expression.size();
  for (const RegisterRule& rule : row.rules) bytes += rule.expression.size();
  if (take(bytes)) module.rows.emplace(address, row);
}

void ModuleCache::keep(KnownModule& module, std::uint64_t address, const std::string& name) {
  if (take(kOfAnEntry + name.size())) module.names.emplace(address, name);
}

void ModuleCache::forget_some() {
  if (bytes_ <= most_ / 2) return;
  known_.clear();
  bytes_ = 0;
}

Caller Modules::caller_of(const ReadMemory& stack, const Registers& frame, std::uint64_t pc) {
  Module* module = at(pc);
  if (module == nullptr || !module->readable) return {};
  const std::uint64_t address = pc - module->bias;
  if (module->known != nullptr) {
    const auto known = module->known->rows.find(address);
    if (known != module->known->rows.end()) return stacks::caller_of(stack, known->second, frame);
  }
  const auto row = row_at(*module, pc);
  if (!row) return {};  // the budget may have ended the read
  if (module->known != nullptr) cache_.keep(*module->known, address, *row);
  return stacks::caller_of(stack, *row, frame);
}

std::optional<CallFrame> Modules::row_at(Module& module, std::uint64_t pc) {
  if (!module.table) module.table = UnwindTable::at(read_, module.first->start);
  if (module.table) return module.table->row_at(read_, pc);
  if (!module.entries) {
    const FunctionNames* file = names_.of(pid_, *module.first, module.beginning, budget_);
    const auto section = file != nullptr ? file->section(".eh_frame") : std::nullopt;
    module.entries =
        section ? FrameEntries(read_, section->first + module.bias, section->second, budget_) : FrameEntries();
  }
  const auto entry = module.entries->entry_of(pc);
  return entry ? call_frame_at(read_, *entry, pc) : std::nullopt;
}

std::string Modules::function_at(std::uint64_t pc) {
  Module& module = *at(pc);
  const std::uint64_t address = pc - module.bias;
  if (!module.readable) return hexadecimal(address);
  if (module.known != nullptr) {
    const auto known = module.known->names.find(address);
    if (known != module.known->names.end()) return known->second;
  }
  const FunctionNames* names = names_.of(pid_, *module.first, module.beginning, budget_);
  std::string name = names != nullptr ? names->at(address) : "";
  if (name.empty()) name = hexadecimal(address);
  if (names != nullptr && module.known != nullptr) cache_.keep(*module.known, address, name);
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
  if (!budget_.keep(sizeof(Module) + kOfAnEntry + kBeginning)) return;
  module.beginning = bytes_at(read_, start, kBeginning);
  if (module.beginning.empty()) return;
  const auto file = MappedElf::at(reader_over(module.beginning, start, read_), start);
  if (!file) return;
  module.bias = file->bias();
  module.readable = true;
  module.known = cache_.of(*module.first, module.beginning);
}

}  // namespace dlaunch::stacks
