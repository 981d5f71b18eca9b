# LAPACKE and CBLAS on OpenBLAS. Defines the target LAPACKE::LAPACKE.
# MYRIAD_LAPACK=scipy-openblas32 takes them from the package of this name of the interpreter MYRIAD_LAPACK_PYTHON: an OpenBLAS with the
# prefix scipy_ on its names, which does not meet another OpenBLAS in a process.
include(FindPackageHandleStandardArgs)
if(MYRIAD_LAPACK STREQUAL "scipy-openblas32")
  set(MYRIAD_LAPACK_PYTHON "python3" CACHE STRING "Python interpreter that has scipy-openblas32")
  execute_process(COMMAND "${MYRIAD_LAPACK_PYTHON}" -c "import scipy_openblas32 as s; print(s.get_include_dir(), s.get_lib_dir(), sep=';', end='')"
                  OUTPUT_VARIABLE scipy_openblas COMMAND_ERROR_IS_FATAL ANY)
  list(GET scipy_openblas 0 LAPACKE_INCLUDE_DIR)
  set(LAPACKE_CBLAS_INCLUDE_DIR "${LAPACKE_INCLUDE_DIR}")
  list(GET scipy_openblas 1 scipy_openblas_library_dir)
  set(LAPACKE_LIBRARY "${scipy_openblas_library_dir}/libscipy_openblas.so")
  set(LAPACKE_OPENBLAS_LIBRARY "${LAPACKE_LIBRARY}")
  set(lapacke_definitions MYRIAD_LAPACK_PREFIX=scipy_ MYRIAD_LAPACK_IS_PRIVATE)
elseif(MYRIAD_LAPACK STREQUAL "system" OR NOT MYRIAD_LAPACK)
  find_path(LAPACKE_INCLUDE_DIR lapacke.h)
  find_path(LAPACKE_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
  find_library(LAPACKE_LIBRARY lapacke)
  find_library(LAPACKE_OPENBLAS_LIBRARY openblas)
  set(lapacke_definitions "")
else()
  message(FATAL_ERROR "MYRIAD_LAPACK is '${MYRIAD_LAPACK}'; it is one of system, scipy-openblas32")
endif()
find_package_handle_standard_args(LAPACKE REQUIRED_VARS LAPACKE_LIBRARY LAPACKE_OPENBLAS_LIBRARY LAPACKE_INCLUDE_DIR LAPACKE_CBLAS_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libopenblas-dev and liblapacke-dev")
if(LAPACKE_FOUND AND NOT TARGET LAPACKE::LAPACKE)
  add_library(LAPACKE::LAPACKE INTERFACE IMPORTED)
  set_target_properties(LAPACKE::LAPACKE PROPERTIES INTERFACE_LINK_LIBRARIES "${LAPACKE_LIBRARY};${LAPACKE_OPENBLAS_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${LAPACKE_INCLUDE_DIR};${LAPACKE_CBLAS_INCLUDE_DIR}"
                        INTERFACE_COMPILE_DEFINITIONS "${lapacke_definitions}")
endif()
