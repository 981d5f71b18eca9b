# Runs the MPI example alone and on two ranks, and compares what they print after the first line, which has times.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{PRTE_MCA_rmaps_default_mapping_policy} :oversubscribe)
set(ENV{OMPI_MCA_plm} isolated) # needs no ssh
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none) # not allowed in containers
foreach(ranks IN ITEMS 1 2)
  execute_process(COMMAND "${MPIRUN}" -n ${ranks} "${PROGRAM}" 201 OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  if(NOT output MATCHES "201 cells on ${ranks} rank[^\n]*\n(.*error of the published cell .*, hash of all states .*)$")
    message(FATAL_ERROR "unexpected output of ${ranks} ranks: ${output}")
  endif()
  set(results_${ranks} "${CMAKE_MATCH_1}")
endforeach()
if(NOT results_1 STREQUAL results_2)
  message(FATAL_ERROR "one rank: ${results_1}two ranks: ${results_2}")
endif()
