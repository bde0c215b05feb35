# As a module: dlaunch_discover_suites(TARGET PREFIX [PROPERTIES…]) makes one test PREFIX.SUITE for each suite of a
# GoogleTest program after it was built. gtest_discover_tests() makes one test for each TEST(): the start of 2,900
# processes takes five times as long as their tests.
# As a script (-P): writes the file of tests. PROGRAM, PREFIX, PROPERTIES, FILE, EMULATOR (for another machine type).
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(DLAUNCH_SUITES_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
  function(dlaunch_discover_suites target prefix)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
    add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${file} VERBATIM
      COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D PREFIX=${prefix} -D "PROPERTIES=${ARGN}" -D FILE=${file}
              -D "EMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
              -P ${DLAUNCH_SUITES_SCRIPT})
    file(WRITE ${file}.include "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file}.include)
  endfunction()
  return()
endif()

execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[;[]" "" listed "${listed}")  # a value of a parameter may have characters that CMake lists reserve
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.(\n|  #)" suites "${listed}")
set(tests "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "\n?([^.\n]*)\\..*" "\\1" suite "${suite}")
  set(name ${PREFIX}.${suite})
  string(APPEND tests "add_test([=[${name}]=] ${EMULATOR} [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
                      "set_tests_properties([=[${name}]=] PROPERTIES ${PROPERTIES} SKIP_REGULAR_EXPRESSION [=[\\[  SKIPPED \\]]=])\n")
endforeach()
string(REPLACE ";" " " tests "${tests}")
file(WRITE ${FILE} "${tests}")
