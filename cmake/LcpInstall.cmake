# What `cmake --install` leaves: the program, the static libraries with their headers, a CMake package, a .pc file, and the
# stream as a shared library with its Python module.
include(CMakePackageConfigHelpers)
set(LCP_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lcp)

install(TARGETS lcp lcp_costmodel EXPORT lcpTargets ARCHIVE FILE_SET HEADERS)
install(TARGETS lcplan)
install(TARGETS lcp_shared LIBRARY)
install(EXPORT lcpTargets NAMESPACE lcp:: DESTINATION ${LCP_PACKAGE_DIR})

configure_package_config_file(cmake/lcpConfig.cmake.in lcpConfig.cmake INSTALL_DESTINATION ${LCP_PACKAGE_DIR})
write_basic_package_version_file(lcpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lcpConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/lcpConfigVersion.cmake
              cmake/FindGLPK.cmake DESTINATION ${LCP_PACKAGE_DIR})

# The prefix is known only at install time (cmake --install --prefix), so the file is made there.
install(CODE "set(PROJECT_VERSION \"${PROJECT_VERSION}\")
set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
set(CMAKE_INSTALL_FULL_INCLUDEDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
set(CMAKE_INSTALL_FULL_LIBDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")
configure_file(\"${PROJECT_SOURCE_DIR}/cmake/lcp.pc.in\" \"${CMAKE_CURRENT_BINARY_DIR}/lcp.pc\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lcp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES docs/lcplan.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY python/lcplan DESTINATION ${CMAKE_INSTALL_DATADIR}/lcplan/python PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/lcplan)
install(DIRECTORY examples/models examples/clusters examples/workloads
        DESTINATION ${CMAKE_INSTALL_DATADIR}/lcplan/examples)
