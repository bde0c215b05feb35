// Faults of a network interface of this machine, in this process's network namespace. They are the kernel's, so they
// outlive who made them, and are undone by bring_up() and speed_up().
#pragma once

#include <string>

#include "chaos/fault.h"

namespace dlaunch::chaos {

/// Why the fault cannot be done to its interface; empty: it can. Changes nothing.
std::string why_not_to_interface(const Fault& fault);

/// Empty when it was done; otherwise why not.
std::string break_interface(const Fault& fault);

/// An interface that was cut goes up, and one that was slowed sends as before; the other does nothing.
void bring_up(const std::string& name);
void speed_up(const std::string& name);

}  // namespace dlaunch::chaos
