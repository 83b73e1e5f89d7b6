#!/usr/bin/env bash
# sample.sh PART OF PROGRAM [ARGS]: runs a part of the program's tests, or all of them where KILN_TEST_LONG=1.
set -euo pipefail
part=$1 of=$2
shift 2
[[ ${KILN_TEST_LONG-} == 1 ]] || export GTEST_TOTAL_SHARDS=$of GTEST_SHARD_INDEX=$part
exec "$@"
