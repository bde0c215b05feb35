# One static library per module, so that the linker and the tests hold the direction of dependencies.

add_library(dlaunch_flags INTERFACE)
target_include_directories(dlaunch_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(dlaunch_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  # g++ 12 is wrong about std::string when optimising: about its operator+ (GCC bug 105651), and about what braces leave default
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>
  $<$<BOOL:${DLAUNCH_WERROR}>:-Werror>
  -ffunction-sections -fdata-sections)  # a program that is linked with --gc-sections has only what it calls
include(Hardening)
if(DLAUNCH_SANITIZE)
  # Without the checks of each pointer, of which AddressSanitizer sees the most, compiling takes half as long.
  target_compile_options(dlaunch_flags INTERFACE -fsanitize=${DLAUNCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,alignment,vptr,object-size>)
  target_link_options(dlaunch_flags INTERFACE -fsanitize=${DLAUNCH_SANITIZE})
  set(sanitizer_reports ${PROJECT_BINARY_DIR}/sanitizer-reports)
  file(MAKE_DIRECTORY ${sanitizer_reports})
  add_library(dlaunch_sanitizer_options OBJECT ${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp)
  target_compile_definitions(dlaunch_sanitizer_options PRIVATE DLAUNCH_SANITIZER_REPORTS="${sanitizer_reports}")
endif()

# dlaunch_layer(NAME SOURCES a.cpp … PUBLIC b … DEPS base wire …): these sources, the headers of their names, and the public
# headers include/dlaunch/b.h, include headers of their own directory and of DEPS only; tests/layers holds them to it.
function(dlaunch_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;PUBLIC;DEPS" ${ARGN})
  list(TRANSFORM LAYER_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM LAYER_PUBLIC REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/include/dlaunch/\\1.h")
  set_property(GLOBAL APPEND_STRING PROPERTY DLAUNCH_LAYERS "${name}|${LAYER_SOURCES}|${LAYER_PUBLIC}|${LAYER_DEPS}\n")
endfunction()

# dlaunch_module(NAME [PUBLIC c …] SOURCES a.cpp … [ALONE b.cpp …] DEPS base wire …)
# PUBLIC: headers of include/dlaunch that this module implements; it becomes part of libdlaunch.a.
# ALONE: sources that are never compiled together with others of the module (CMAKE_UNITY_BUILD, which the release preset
# sets): their file-local names stand in another source, too, or they need what the static agent must not link.
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

# The event loop: Asio without Boost, its implementation compiled once, less sockets and name resolution: nothing here
# uses them, and in the static agent they would drag in getaddrinfo and the C library's plug-ins.
find_path(ASIO_INCLUDE asio.hpp REQUIRED)
file(STRINGS ${ASIO_INCLUDE}/asio/impl/src.hpp asio_parts REGEX "^#include")
list(FILTER asio_parts EXCLUDE REGEX "socket|resolve|/ip/|win|generic/|local/|serial|connect_pipe|select_reactor")
list(JOIN asio_parts "\n" asio_source)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/asio_impl.cpp CONTENT "@asio_source@\n" @ONLY)
add_library(dlaunch_asio STATIC ${PROJECT_BINARY_DIR}/asio_impl.cpp)
target_include_directories(dlaunch_asio SYSTEM PUBLIC ${ASIO_INCLUDE})
# Whether Asio finds std::aligned_alloc depends on what a source includes before it; what one source allocates another
# frees, so none shall.
target_compile_definitions(dlaunch_asio PUBLIC ASIO_STANDALONE ASIO_SEPARATE_COMPILATION ASIO_NO_DEPRECATED
  ASIO_DISABLE_STD_ALIGNED_ALLOC)
if(DLAUNCH_SANITIZE)
  target_compile_options(dlaunch_asio PRIVATE -fsanitize=${DLAUNCH_SANITIZE})
  if(DLAUNCH_SANITIZE MATCHES thread) # it does not know fences; the loop's mutex orders what they order
    target_compile_definitions(dlaunch_asio PUBLIC ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
find_package(Threads REQUIRED)
target_link_libraries(dlaunch_asio PUBLIC Threads::Threads)

# The logger. All that include it must be compiled with the same definitions.
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
