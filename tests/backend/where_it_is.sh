#!/usr/bin/env bash
# where_it_is.sh PROBE TEST PROGRAM [ARGS]: runs the program; 77, which ctest takes for skipped, where that test of PROBE finds no device.
set -euo pipefail
probe=$1 test=$2
shift 2
if "$probe" --gtest_filter="$test" 2>&1 | grep 'no device: '; then exit 77; fi
exec "$@"
