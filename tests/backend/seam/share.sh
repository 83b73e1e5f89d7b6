#!/usr/bin/env bash
# share.sh PART OF PROGRAM [ARGS]: runs a part of the program's tests, or all of them where KILN_TEST_LONG=1; ten times as
# many random programs as KILN_PROGRAMS says then.
set -euo pipefail
part=$1 of=$2
shift 2
if [[ ${KILN_TEST_LONG-} == 1 ]]; then
  [[ -z ${KILN_PROGRAMS-} ]] || export KILN_PROGRAMS=$((KILN_PROGRAMS * 10))
else
  export GTEST_TOTAL_SHARDS=$of GTEST_SHARD_INDEX=$part
fi
exec "$@"
