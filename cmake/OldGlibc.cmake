# Programs for an older glibc than the build machine's: -DDLAUNCH_GLIBC=DIR links with the glibc in DIR
# (packaging/old-glibc makes DIR from Debian packages). The compiler, the headers and all other libraries are the build
# machine's. A function that the older glibc lacks is an error of the linker; old_glibc.cpp has these functions.

set(DLAUNCH_GLIBC "" CACHE PATH "A directory tree with an older glibc (lib and usr/lib) to link with")
add_library(dlaunch_glibc INTERFACE)
if(DLAUNCH_GLIBC)
  add_library(dlaunch_old_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/old_glibc.cpp)
  target_link_libraries(dlaunch_old_glibc PRIVATE dlaunch_flags dlaunch_hardening)
  set(libraries ${DLAUNCH_GLIBC}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  # The compiler searches its own directories before the sysroot. Before glibc 2.34, threads are a library of their own.
  target_link_options(dlaunch_glibc INTERFACE --sysroot=${DLAUNCH_GLIBC} -B${libraries} -L${libraries})
  target_link_libraries(dlaunch_glibc INTERFACE $<TARGET_OBJECTS:dlaunch_old_glibc> -lpthread -ldl -lrt)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # An older glibc links such relocations, but its programs crash at the start.
  target_link_options(dlaunch_glibc INTERFACE -Wl,-z,pack-relative-relocs)
endif()
