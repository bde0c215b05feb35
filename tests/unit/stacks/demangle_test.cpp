#include "stacks/demangle.h"

#include <gtest/gtest.h>

namespace dlaunch::stacks {
namespace {

TEST(Demangle, ReturnsTheNameOfAFunction) {
  const std::pair<const char*, const char*> kNames[] = {
      {"_Z4stepv", "step"},
      {"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EE", "torch::autograd::Engine::execute"},
      {"_ZNK3c104Type4kindEv", "c10::Type::kind"},
      {"_ZNKR3a.1bEv", "_ZNKR3a.1bEv"},
      {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<…>::push_back"},
      {"_ZNSsC1Ev", "std::string::string"},
      {"_ZNSt6vectorIiSaIiEEC2ERKS1_", "std::vector<…>::vector"},
      {"_ZN2ns4ListIiED0Ev", "ns::List<…>::~List"},
      {"_ZN2ns4ListcvbEv", "ns::List::operator …"},
      {"_ZN2nspLERKNS_1AES2_", "ns::operator+="},
      {"_ZN2ns1AnwEm", "ns::A::operator new"},
      {"_ZN12_GLOBAL__N_13runEi", "(anonymous namespace)::run"},
      {"_ZL3runi", "run"},
      {"_Z3maxIiET_S0_S0_", "max<…>"},
      {"_ZN1a1fIXsr1bE1cEEEvv", "_ZN1a1fIXsr1bE1cEEEvv"},  // an expression in the arguments
      {"_ZZN1a1bEiENKUlvE_clEv", "a::b::{lambda#1}::operator()"},
      {"_ZZ4mainENKUlRKSt6vectorIiSaIiEEE0_clES3_", "main::{lambda#2}::operator()"},
      {"_ZThn16_N1a1bEv", "thunk to a::b"},
      {"_ZTv0_n24_NSoD1Ev", "thunk to std::ostream::~ostream"},
      {"_ZN1aB5cxx11Ev", "a[abi:cxx11]"},
      {"_ZN2ns3runEi.isra.0", "ns::run"},
      {"_ZN2ns1fIJiNS_1BIcEELi5ELb1EEEEvv", "ns::f<…>"},
      {"_ZN2ns1fIPFviEM1AFviEA4_iDpT_EEvv", "ns::f<…>"},
      {"_ZN5alloc3vec17h0123456789abcdefE", "alloc::vec::h0123456789abcdef"},  // of Rust
      {"main", "main"},
      {"", ""},
      {"_Z", "_Z"},
      {"_ZN", "_ZN"},
      {"_ZN99999a", "_ZN99999a"},
  };
  for (const auto& [mangled, plain] : kNames) EXPECT_EQ(demangled(mangled), plain);
}

/// The first name has 23 arguments, each with two copies of the one before: its whole form has gigabytes.
TEST(Demangle, IsLimitedForNamesThatExplode) {
  std::string name = "_Z1f1aIccE";
  const std::string digits = "_0123456789ABCDEFGHIJKLMNOPQRSTUV";
  for (const char digit : digits) {
    const std::string before = digit == '_' ? "S_" : std::string("S") + digit + '_';
    name += "S_I" + before + before + "E";
  }
  EXPECT_EQ(demangled(name), "f");
  EXPECT_EQ(demangled(name.substr(0, name.find("S_I") + 3)), "f");
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  for (const std::string& deep :
       {"_Z1f" + repeated("I", 900), "_ZN1a" + repeated("I1aI", 200), "_Z" + repeated("Z", 900),
        "_ZN1fI" + repeated("M", 900), "_ZN1fI" + repeated("FA", 400), "_Z" + repeated("Th0_", 200),
        "_ZN" + repeated("1a", 400) + "Ev", "_ZN1fI" + repeated("L_Z1fI", 150), "_ZN1f" + std::string(5000, 'I')}) {
    EXPECT_EQ(demangled(deep), deep);
  }
}

TEST(Demangle, AcceptsEachPartOfAName) {
  const std::string name = "_ZZN1a1bIN2ns4ListIiEEJLi5EPFviEM1AFviEEEEiENKUlRKSt6vectorIiSaIiEEE0_clES3_.isra.0";
  for (std::size_t i = 0; i <= name.size(); ++i) EXPECT_LT(demangled(name.substr(0, i)).size(), 512u);
}

}  // namespace
}  // namespace dlaunch::stacks
