# Files that `cmake --install` puts in place: the libraries, headers, the program, and what find_package(myriad) and pkg-config read.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/myriad")

install(DIRECTORY include/myriad DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# Two export sets: only users of the static library need what it is linked with.
foreach(kind IN ITEMS shared static)
  install(TARGETS myriad_${kind} EXPORT myriad_${kind}_targets)
  install(EXPORT myriad_${kind}_targets FILE myriad-${kind}.cmake NAMESPACE myriad:: DESTINATION "${package_dir}")
endforeach()
if(TARGET myriad_lapack)
  install(TARGETS myriad_lapack EXPORT myriad_shared_targets)
endif()
if(MYRIAD_BUILD_CLI)
  install(TARGETS myriad_cli)
  if(TARGET myriad_mpi)
    install(TARGETS myriad_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endif()

configure_package_config_file(cmake/myriadConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/myriadConfig.cmake" INSTALL_DESTINATION "${package_dir}"
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/myriadConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/myriadConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/myriadConfigVersion.cmake" cmake/FindHighway.cmake
              cmake/FindLAPACKE.cmake DESTINATION "${package_dir}")

foreach(package IN ITEMS myriad myriad_lapack)
  configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
