# Options that turn a memory error into a clean exit instead of an exploit. Sanitizers have their own checks. FORTIFY
# requires optimization. bench/results/hardening.md has the cost.

add_library(dlaunch_hardening INTERFACE)
if(NOT DLAUNCH_SANITIZE)
  target_compile_options(dlaunch_hardening INTERFACE -fPIE -fstack-protector-strong
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=full>
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},aarch64>:-mbranch-protection=standard>)
  target_compile_definitions(dlaunch_hardening INTERFACE _GLIBCXX_ASSERTIONS
    $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
  target_link_options(dlaunch_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
