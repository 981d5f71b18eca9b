# Checks which calls of cuBLAS and cuSOLVER the benchmark measures for a routine, on a fake GPU with libraries that do nothing (fake_peers.c): results are wrong.
set(ENV{LD_LIBRARY_PATH} "${FAKE_DRIVER}:${FAKE_PEERS}")
set(ENV{MYRIAD_NVRTC} "${FAKE_NVRTC}")
set(ENV{MYRIAD_CACHE_DIR} off)
set(expected_7
    "gemm: cuBLAS gemmBatched, cuBLAS gemmGroupedBatchedEx, cuBLAS gemmStridedBatched, cuBLAS gemmStridedBatchedEx"
    "symm: cuBLAS gemmBatched, cuBLAS gemmGroupedBatchedEx, cuBLAS gemmStridedBatched, cuBLAS gemmStridedBatchedEx"
    "syrk: cuBLAS gemmBatched, cuBLAS gemmGroupedBatchedEx, cuBLAS gemmStridedBatched, cuBLAS gemmStridedBatchedEx"
    "trmm: cuBLAS gemmBatched, cuBLAS gemmGroupedBatchedEx, cuBLAS gemmStridedBatched, cuBLAS gemmStridedBatchedEx"
    "gemv: cuBLAS gemvStridedBatched"
    "ger: cuBLAS gemmStridedBatched"
    "trsm: cuBLAS trsmBatched"
    "trsm-square: cuBLAS trsmBatched"
    "getrf: cuBLAS getrfBatched"
    "det: cuBLAS getrfBatched"
    "getrs: cuBLAS getrsBatched"
    "gesv: cuBLAS getrfBatched, getrsBatched"
    "solve: cuBLAS getrfBatched, getrsBatched"
    "inverse: cuBLAS getrfBatched, getriBatched, cuBLAS matinvBatched"
    "geqrf: cuBLAS geqrfBatched"
    "gels: cuBLAS gelsBatched"
    "potrf: cuSOLVER potrfBatched"
    "potrs: cuSOLVER potrsBatched"
    "posv: cuSOLVER potrfBatched, potrsBatched"
    "solve_positive_definite: cuSOLVER potrfBatched, potrsBatched"
    "trtri: "
    "gesvd: cuSOLVER gesvdjBatched"
)
set(expected_1
    "symv: cuBLAS gemvStridedBatched, all of A, cuBLAS symv"
    "hemv: cuBLAS gemvStridedBatched, all of A, cuBLAS symv"
    "trmv: cuBLAS gemvStridedBatched, all of A, cuBLAS trmv"
    "trsv: cuBLAS trsmBatched, cuBLAS trsv"
    "syevd: cuSOLVER XsyevBatched, cuSOLVER Xsyevd, cuSOLVER syevjBatched"
    "sytrd: cuSOLVER sytrd"
    "orgtr: cuSOLVER orgtr"
    "ormtr: cuSOLVER ormtr"
)
foreach(count IN ITEMS 1 7) # matrices
  list(TRANSFORM expected_${count} REPLACE ":.*" "" OUTPUT_VARIABLE routines)
  list(JOIN routines "," routines)
  set(file "${FOLDER}/peers.json")
  execute_process(COMMAND "${GPU_BENCH}" --routine ${routines} --dtype s --n 8 --count ${count} --repeats 1 --json "${file}" RESULT_VARIABLE status OUTPUT_VARIABLE said
                  ERROR_VARIABLE said)
  if(NOT status EQUAL 1)
    message(FATAL_ERROR "status ${status}: ${said}")
  endif()
  file(READ "${file}" results)
  set(row 0)
  foreach(expected IN LISTS expected_${count})
    string(JSON routine GET "${results}" rows ${row} routine)
    string(JSON number LENGTH "${results}" rows ${row} peers)
    set(names "")
    set(i 0)
    while(i LESS number)
      string(JSON name MEMBER "${results}" rows ${row} peers ${i})
      list(APPEND names "${name}")
      math(EXPR i "${i} + 1")
    endwhile()
    list(JOIN names ", " names)
    if(NOT "${routine}: ${names}" STREQUAL expected)
      message(FATAL_ERROR "peers of ${routine}: ${names}; expected ${expected}")
    endif()
    math(EXPR row "${row} + 1")
  endforeach()
endforeach()
# Singular value decompositions of tall matrices: the peer's result is checked before it is timed.
foreach(how IN ITEMS nothing wrong right)
  if(NOT how STREQUAL "nothing")
    set(ENV{FAKE_GESVDA} ${how})
  endif()
  execute_process(COMMAND "${GPU_BENCH}" --routine gesvd --dtype d --n 40 --k 5 --count 7 --repeats 1 --json "${FOLDER}/gesvda.json" OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX MATCH "cuSOLVER gesvdaStridedBatched of 7 matrices of 40 rows is not measured: its result is wrong" refused "${said}")
  file(READ "${FOLDER}/gesvda.json" results)
  string(JSON peers GET "${results}" rows 0 peers)
  if(how STREQUAL "right")
    if(refused OR NOT peers MATCHES "cuSOLVER gesvdaStridedBatched")
      message(FATAL_ERROR "gesvdaStridedBatched with a right result is not measured: ${said}")
    endif()
  elseif(NOT refused OR peers MATCHES "gesvdaStridedBatched")
    message(FATAL_ERROR "gesvdaStridedBatched, ${how}: ${said}")
  endif()
endforeach()
