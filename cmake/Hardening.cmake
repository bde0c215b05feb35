# What makes a fault of memory a clean end and not a way in. Sanitizers bring their own; fortify needs optimising.
# What it costs stands in docs/performance.md.

add_library(dlaunch_hardening INTERFACE)
if(NOT DLAUNCH_SANITIZE)
  target_compile_options(dlaunch_hardening INTERFACE -fPIE -fstack-protector-strong
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=full>)
  target_compile_definitions(dlaunch_hardening INTERFACE _GLIBCXX_ASSERTIONS
    $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
  target_link_options(dlaunch_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
