# A static library per module. The linker and tests/layers enforce the direction of dependencies.

add_library(dlaunch_flags INTERFACE)
target_include_directories(dlaunch_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(dlaunch_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  # False warnings of g++ 12 with optimization: operator+ of std::string (GCC bug 105651), and default members
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>
  $<$<BOOL:${DLAUNCH_WERROR}>:-Werror>
  -ffunction-sections -fdata-sections)  # --gc-sections then removes unused functions
include(Hardening)
include(OldGlibc)
if(DLAUNCH_SANITIZE)
  # Without these checks compiling takes half the time. AddressSanitizer finds most of the same errors.
  target_compile_options(dlaunch_flags INTERFACE -fsanitize=${DLAUNCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,alignment,vptr,object-size>)
  target_link_options(dlaunch_flags INTERFACE -fsanitize=${DLAUNCH_SANITIZE})
  set(sanitizer_reports ${PROJECT_BINARY_DIR}/sanitizer-reports)
  file(MAKE_DIRECTORY ${sanitizer_reports})
  add_library(dlaunch_sanitizer_options OBJECT ${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp)
  target_compile_definitions(dlaunch_sanitizer_options PRIVATE DLAUNCH_SANITIZER_REPORTS="${sanitizer_reports}")
endif()

# dlaunch_layer(NAME SOURCES a.cpp … PUBLIC b … DEPS base wire …): the sources, their headers, and the public headers
# include/dlaunch/b.h may include only headers of their own directory and of DEPS. tests/layers checks the includes.
function(dlaunch_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;PUBLIC;DEPS" ${ARGN})
  list(TRANSFORM LAYER_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM LAYER_PUBLIC REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/include/dlaunch/\\1.h")
  set_property(GLOBAL APPEND_STRING PROPERTY DLAUNCH_LAYERS "${name}|${LAYER_SOURCES}|${LAYER_PUBLIC}|${LAYER_DEPS}\n")
endfunction()

# dlaunch_module(NAME [PUBLIC c …] SOURCES a.cpp … [ALONE b.cpp …] DEPS base wire …)
# PUBLIC: headers of include/dlaunch with functions of this module.
# ALONE: sources that CMAKE_UNITY_BUILD (set by the release preset) must not compile together with other sources.
# Reasons: a file-local name also exists in another source, the source uses functions that the static agent must not
# link, or the simulator (tests/sim) links another implementation.
function(dlaunch_module name)
  cmake_parse_arguments(MODULE "" "" "PUBLIC;SOURCES;ALONE;DEPS;LIBS" ${ARGN})
  add_library(dlaunch_${name} STATIC ${MODULE_SOURCES} ${MODULE_ALONE})
  dlaunch_layer(${name} SOURCES ${MODULE_SOURCES} ${MODULE_ALONE} PUBLIC ${MODULE_PUBLIC} DEPS ${MODULE_DEPS})
  if(MODULE_ALONE)
    set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  list(TRANSFORM MODULE_DEPS PREPEND dlaunch_)
  target_link_libraries(dlaunch_${name} PUBLIC dlaunch_flags ${MODULE_DEPS} ${MODULE_LIBS} PRIVATE dlaunch_hardening)
  set_property(GLOBAL APPEND PROPERTY DLAUNCH_MODULES dlaunch_${name})
endfunction()

# The event loop: Asio without Boost, compiled once, without sockets and name resolution. dlaunch does not use these parts,
# and getaddrinfo would require plug-ins of the C library in the static agent.
find_path(ASIO_INCLUDE asio.hpp REQUIRED)
file(STRINGS ${ASIO_INCLUDE}/asio/impl/src.hpp asio_parts REGEX "^#include")
list(FILTER asio_parts EXCLUDE REGEX "socket|resolve|/ip/|win|generic/|local/|serial|connect_pipe|select_reactor")
list(JOIN asio_parts "\n" asio_source)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/asio_impl.cpp CONTENT "@asio_source@\n" @ONLY)
add_library(dlaunch_asio STATIC ${PROJECT_BINARY_DIR}/asio_impl.cpp)
target_include_directories(dlaunch_asio SYSTEM PUBLIC ${ASIO_INCLUDE})
# Asio uses std::aligned_alloc only if a source includes certain headers first. Memory from one source is freed in another,
# so all sources must do the same.
target_compile_definitions(dlaunch_asio PUBLIC ASIO_STANDALONE ASIO_SEPARATE_COMPILATION ASIO_NO_DEPRECATED
  ASIO_DISABLE_STD_ALIGNED_ALLOC)
if(DLAUNCH_SANITIZE)
  target_compile_options(dlaunch_asio PRIVATE -fsanitize=${DLAUNCH_SANITIZE})
  if(DLAUNCH_SANITIZE MATCHES thread) # ThreadSanitizer does not support fences; the loop's mutex is enough
    target_compile_definitions(dlaunch_asio PUBLIC ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
find_package(Threads REQUIRED)
target_link_libraries(dlaunch_asio PUBLIC Threads::Threads)

# The logger. All sources that include it must have the same definitions.
find_path(SPDLOG_INCLUDE spdlog/spdlog.h REQUIRED)
find_path(FMT_INCLUDE fmt/core.h REQUIRED)
add_library(dlaunch_spdlog STATIC ${CMAKE_CURRENT_LIST_DIR}/spdlog.cpp)
target_include_directories(dlaunch_spdlog SYSTEM PUBLIC ${SPDLOG_INCLUDE} ${FMT_INCLUDE})
target_compile_definitions(dlaunch_spdlog PUBLIC SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SPDLOG_NO_THREAD_ID SPDLOG_NO_TLS)
target_compile_options(dlaunch_spdlog PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(dlaunch_spdlog PRIVATE dlaunch_hardening)
if(DLAUNCH_SANITIZE)
  target_compile_options(dlaunch_spdlog PRIVATE -fsanitize=${DLAUNCH_SANITIZE})
endif()
