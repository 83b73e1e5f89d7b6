#!/usr/bin/env bash
# What ./dev gpu-bundle puts beside its pieces as `run`: unpacks them and runs what is in them on this machine's GPU.
#
#   run OUT [PROGRAM...]    all, or these; logs and figures in the folder OUT
#
# GTEST_FILTER says which tests, WORKLOADS (a regular expression) which of the suite, LIMIT how many seconds a program has
# (300), SECONDS_EACH how long a workload is measured (1).
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
(($#)) || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit
shift
place=${PLACE:-/tmp/kiln-gpu}
rm -rf "$place" && mkdir -p "$place" && cat "$here"/kiln-gpu.tar.xz.* | tar -xJ -C "$place" || exit
export LD_LIBRARY_PATH=$place/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} KILN_CACHE=${KILN_CACHE:-/tmp/kiln-cache}
limit=${LIMIT:-300}
failed=0

# What a program says in the end, and what it says of failures.
report() {
  local name=$1 status=$2
  ((status)) && failed=1
  grep -E '^\[  (PASSED|FAILED|SKIPPED) |^\[==========\] .* ran' "$out/$name.log" | sort | uniq -c | sort -rn | head -n 30
  echo "$name: $( ((status == 124)) && echo "ran out of its $limit seconds" || echo "exit status $status"), $3 s"
}

# run_test PROGRAM [WORD]: its log has the word in its name, where there is one.
# Programs of thousands of cases run in as many parts as there are processors, up to eight.
run_test() {
  local name=$1 log=$1${2+_$2} parts=1 status=0 start=$SECONDS pids=()
  [[ $name == test_cuda ]] || parts=$(($(nproc) < 8 ? $(nproc) : 8))
  for ((part = 0; part < parts; ++part)); do
    GTEST_TOTAL_SHARDS=$parts GTEST_SHARD_INDEX=$part KILN_TEST_DEVICES=${KILN_TEST_DEVICES:-cuda} \
      timeout "$limit" "$place/bin/$name" --gtest_brief=1 >"$place/$log.$part.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || { local code=$?; ((status == 124)) || status=$code; }; done
  tail -qc 1500000 "$place/$log".*.log >"$out/$log.log"
  report "$log" "$status" $((SECONDS - start))
}

# A line of JSON for each workload, in which one that fails has the reason.
run_suite() {
  local start=$SECONDS workload said
  "$place/bin/bench_suite" --device=cuda --list >"$place/workloads" || return
  sed -n 's/^{"name": "\([^"]*\)".*/\1/p' "$place/workloads" | grep -E -- "${WORKLOADS:-.}" | while read -r workload; do
    ((SECONDS - start < limit)) || { echo "bench_suite: ran out of its $limit seconds before $workload"; break; }
    if said=$(timeout 60 "$place/bin/bench_suite" --device=cuda "$workload" "${SECONDS_EACH:-1}" 2>"$place/errors" </dev/null); then
      echo "{\"name\": \"$workload\", ${said#\{}"
    else
      echo "{\"name\": \"$workload\", \"failed\": \"$(head -c 300 "$place/errors" | tr -d '"\\' | tr '\n' ' ')\"}"
    fi >>"$out/bench_suite.jsonl"
  done
  echo "bench_suite: $(grep -c samples "$out/bench_suite.jsonl") workloads measured, $((SECONDS - start)) s"
}

{ nvidia-smi; lscpu; cat /etc/os-release; } >"$out/machine.txt" 2>&1
programs=("$@")
((${#programs[@]})) || mapfile -t programs < <(ls "$place/bin")
rm -f "$out/bench_suite.jsonl"
for program in "${programs[@]}"; do
  case $program in
    test_cuda)
      # One of its tests loses the device for its process (tests/backend/cuda/CMakeLists.txt).
      loses=CudaRanks.AreToldOfOneThatGoesWhileTheirDeviceWaits
      GTEST_FILTER=${GTEST_FILTER:--$loses} run_test test_cuda
      [[ -n ${GTEST_FILTER-} ]] || GTEST_FILTER=$loses run_test test_cuda lost
      ;;
    test_*) run_test "$program" ;;
    bench_suite) run_suite ;;
    *) timeout "$limit" "$place/bin/$program" >"$out/$program.log" 2>&1; report "$program" $? 0 ;;
  esac
done
exit "$failed"
