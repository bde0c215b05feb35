// Faults of a network interface of this machine, in this process's network namespace. They are the kernel's, so they
// outlive who made them, and are undone by bring_up() and speed_up().
#pragma once

#include <string>

#include "chaos/fault.h"

namespace dlaunch::chaos {

/// Why the fault cannot be done to its interface; empty: it can. Changes nothing.
std::string why_not_to_interface(const Fault& fault);

/// Whether it is cut already, so that who did that is to undo it.
bool is_broken(const Fault& fault);

/// Of a queueing discipline, by which it is told from those of others, another dlaunch chaos included: "3f2a:".
std::string draw_handle();

/// Empty when it was done; otherwise why not. `handle`: of what slows it.
std::string break_interface(const Fault& fault, const std::string& handle);

/// An interface that was cut goes up, and one that was slowed with that handle sends as before; the other does nothing.
void bring_up(const std::string& name);
void speed_up(const std::string& name, const std::string& handle);

}  // namespace dlaunch::chaos
