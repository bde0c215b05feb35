// A range of TCP ports.
#pragma once

namespace dlaunch {

inline constexpr int kMostPort = 65535;

/// 0 to 0 means any port.
struct PortRange {
  int first = 0;
  int last = 0;
  bool operator==(const PortRange&) const = default;
};

}  // namespace dlaunch
