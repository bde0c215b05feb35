# What `cmake --install` puts where, and the .deb that `cpack -G DEB` makes of it.

if(TARGET dlaunch)
  set_target_properties(dlaunch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS dlaunch)
  # One source for help text and man page: the program itself.
  set(man_page ${PROJECT_BINARY_DIR}/dlaunch.1)
  add_custom_command(OUTPUT ${man_page} COMMAND dlaunch --help-man > ${man_page} DEPENDS dlaunch VERBATIM)
  add_custom_target(man ALL DEPENDS ${man_page})
  install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)

set(CPACK_PACKAGE_NAME dlaunch)
set(CPACK_PACKAGE_CONTACT "The dlaunch authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Distributed process launcher")
set(CPACK_PACKAGE_DESCRIPTION "${PROJECT_DESCRIPTION}.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libssh-4 (>= 0.10)") # loaded at run time, so not found by its look at the program
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openssh-client") # for ProxyJump
include(CPack)
