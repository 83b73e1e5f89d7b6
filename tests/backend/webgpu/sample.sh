#!/usr/bin/env bash
# sample.sh TEST_WEBGPU PART OF PROGRAM [ARGS]: runs a part of the program's tests, or all of them where KILN_TEST_LONG=1;
# 77, which ctest takes for skipped, where there is no library of WebGPU or no adapter.
set -euo pipefail
probe=$1 part=$2 of=$3
shift 3
if "$probe" --gtest_filter=WebgpuDriver.SaysWhatTheDeviceHas 2>&1 | grep 'no device: '; then exit 77; fi
[[ ${KILN_TEST_LONG-} == 1 ]] || export GTEST_TOTAL_SHARDS=$of GTEST_SHARD_INDEX=$part
exec "$@"
