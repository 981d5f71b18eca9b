# shellcheck shell=bash
# Sourced by the scripts of this folder: steps, errors, common options.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
install=yes
steps=0 # number of steps of the script, which sets it
step_number=0
# Tests run in parallel, so waiting threads must not occupy cores.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

# Announces the next step and its starting time: step "what is done". tools/times reads the durations.
step() {
  end_of_step
  step_begin=$SECONDS step_name=$1
  step_number=$((step_number + 1))
  printf '\n[%s, %d s] %s\n' "$step_number/$steps" "$SECONDS" "$1"
}

# Records the duration of the current step. Call it before a script with its own steps.
end_of_step() {
  [[ -n ${step_name:-} ]] || return 0
  mkdir -p "$(dirname "$MYRIAD_TIMES")"
  printf '%s\t%d\t%s\n' "$(basename "$0")" "$((SECONDS - step_begin))" "$step_name" >>"$MYRIAD_TIMES"
  step_name=
}

# Saves the times of the outermost script, including those of scripts that it runs. Failed runs leave none.
keep_times() {
  end_of_step
  [[ ! -f $MYRIAD_TIMES ]] || mv -f "$MYRIAD_TIMES" "$repository/build/times/$(basename "$0").tsv"
}
at_exit() {
  local status=$?
  if ((status == 0)); then keep_times; else rm -f "$MYRIAD_TIMES"; fi
}
if [[ -z ${MYRIAD_TIMES:-} ]]; then
  export MYRIAD_TIMES=$repository/build/times/steps.$$
  trap at_exit EXIT
else
  trap end_of_step EXIT
fi

# Ends the script: fail "what is wrong and what to do"
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit 1
}

install_dependencies() {
  if [[ $install == yes ]]; then
    step 'Installing what is missing'
    "$repository/tools/install-dependencies"
  else
    step 'Installing nothing (--no-install)'
  fi
  local tool
  for tool in cmake ninja g++; do
    command -v "$tool" >/dev/null || fail "$tool is missing; run tools/install-dependencies, or install the packages named in tools/dependencies.txt"
  done
}

# draw_seed sets the seed of tests; test_sizes prints the CMake option with the kernel sizes that a build for this seed instantiates.
draw_seed() {
  export MYRIAD_TEST_SEED=${MYRIAD_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
}
test_sizes() {
  draw_seed
  printf -- '-DMYRIAD_TEST_SIZES=%s' "$([[ ${MYRIAD_TEST_THOROUGH:-} == 1 ]] && echo all || echo $((10#$MYRIAD_TEST_SEED % 18)))"
}

# Runs the tests of a build: run_tests PRESET [CTEST-ARGUMENT...]. Prints their seed.
run_tests() {
  local preset=$1
  shift
  draw_seed
  step "Testing build/$preset${MYRIAD_SIMD:+ by $MYRIAD_SIMD}; MYRIAD_TEST_SEED=$MYRIAD_TEST_SEED"
  ctest --test-dir "$repository/build/$preset" --output-on-failure --no-tests=error -j "$jobs" --output-junit "$repository/build/times/tests-$preset${MYRIAD_SIMD:+-$MYRIAD_SIMD}.xml" "$@"
}

# configure_and_build PRESET [-DNAME=VALUE...] [-- TARGET...]
configure_and_build() {
  local preset=$1
  shift
  local options=()
  while (($#)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  (($#)) && shift
  local targets=()
  (($#)) && targets=(--target "$@")
  step "Configuring build/$preset"
  (cd "$repository" && cmake --preset "$preset" "${options[@]}") || fail "configuring build/$preset failed; the reason is above"
  step "Building build/$preset with $jobs jobs"
  (cd "$repository" && cmake --build --preset "$preset" -j "$jobs" "${targets[@]}") || fail "building build/$preset failed; the reason is above"
}

# Makes the virtual environment build/python-venv with the packages of python/requirements.txt, and sets `python` to its interpreter.
# MYRIAD_PYTHON: the interpreter to make it from.
prepare_python() {
  step 'Preparing build/python-venv'
  local venv=$repository/build/python-venv requirements=$repository/python/requirements.txt
  python=$venv/bin/python
  if cmp -s "$requirements" "$venv/requirements.txt"; then return; fi
  [[ $install == yes ]] || fail "build/python-venv is missing or older than python/requirements.txt; run tools/python-test without --no-install"
  "${MYRIAD_PYTHON:-python3}" -m venv "$venv" || fail 'no virtual environment; tools/install-dependencies --group python'
  "$python" -m pip install -q -r "$requirements" || fail 'pip failed, see above. Is the package index within reach?'
  cp "$requirements" "$venv/requirements.txt"
}

# Builds the extension module of the Python package against the static library of build/release, and further targets: build_python [TARGET...]
build_python() {
  step 'Building the extension module'
  local release=$repository/build/release
  [[ -f $release/build.ninja ]] || (cd "$repository" && cmake --preset release)
  cmake --build "$release" -j "$jobs" --target myriad_static "$@"
  cmake -S "$repository/python" -B "$repository/build/python" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DMYRIAD_BUILD=$release" \
    "-DPython_EXECUTABLE=$python" >/dev/null
  cmake --build "$repository/build/python" -j "$jobs"
}
