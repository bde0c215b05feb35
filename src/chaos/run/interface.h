// Faults of a network interface of this machine, in the network namespace of this process. The kernel keeps the faults
// after the end of this process; bring_up() and speed_up() undo them.
#pragma once

#include <string>

#include "chaos/fault.h"

namespace dlaunch::chaos {

/// The reason why the fault is not possible on its interface; empty: possible. Changes nothing.
std::string why_not_to_interface(const Fault& fault);

/// Returns true if the interface is already cut. Its cutter must undo that.
bool is_broken(const Fault& fault);

/// The handle of a queueing discipline, different from those of other programs and of other dlaunch chaos runs:
/// "3f2a:".
std::string draw_handle();

/// Empty: success; otherwise the reason. `handle`: of the discipline that slows the interface.
std::string break_interface(const Fault& fault, const std::string& handle);

/// bring_up() sets a cut interface up. speed_up() removes the discipline with that handle.
void bring_up(const std::string& name);
void speed_up(const std::string& name, const std::string& handle);

}  // namespace dlaunch::chaos
