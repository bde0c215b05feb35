# libdlaunch.a, for other programs: the modules for dlaunch/run.h, including the agent. The CMake package and the
# pkg-config file are relocatable.
include(CMakePackageConfigHelpers)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)

set(library_modules asio ascend_tables base dialback dialback_node dialback_protocol hangs hosts job launcher link machine
  mpi net output place place_table plan pmi pmix report session settle_hosts spdlog sys transport transport_parsers wire)
list(TRANSFORM library_modules REPLACE "(.+)" "$<TARGET_OBJECTS:dlaunch_\\1>" OUTPUT_VARIABLE library_objects)
add_library(libdlaunch STATIC ${library_objects})
set_target_properties(libdlaunch PROPERTIES OUTPUT_NAME dlaunch EXPORT_NAME dlaunch LINKER_LANGUAGE CXX)
target_compile_features(libdlaunch INTERFACE cxx_std_20)
target_include_directories(libdlaunch INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(libdlaunch INTERFACE tl::expected Threads::Threads nettle sodium)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/dlaunch)
set(pc_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_PREFIX}/${pc_directory} ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/dlaunch.pc.in ${PROJECT_BINARY_DIR}/dlaunch.pc @ONLY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dlaunchConfig.cmake.in ${PROJECT_BINARY_DIR}/dlaunchConfig.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dlaunchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS libdlaunch EXPORT dlaunchTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel)
install(EXPORT dlaunchTargets NAMESPACE dlaunch:: DESTINATION ${package_directory} COMPONENT devel)
install(FILES ${PROJECT_BINARY_DIR}/dlaunchConfig.cmake ${PROJECT_BINARY_DIR}/dlaunchConfigVersion.cmake
  DESTINATION ${package_directory} COMPONENT devel)
install(FILES ${PROJECT_BINARY_DIR}/dlaunch.pc DESTINATION ${pc_directory} COMPONENT devel)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dlaunch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
