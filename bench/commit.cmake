# Writes the current commit to a header if it has changed.
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define MYRIAD_COMMIT \"${commit}\"\n")
