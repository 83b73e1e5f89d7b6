#!/usr/bin/env bash
# generated.sh CMAKE BUILD KNOWN BODIES ARCHIVE: installs what lies in BUILD into a temporary folder, and runs tests through
# the C++ that `kiln import` writes: the models that the program BODIES writes, and the standard's (those in
# $KILN_ONNX_TESTS, or in the archive, if there are any): one in thirty, or all of them where KILN_TEST_LONG=1. Those listed
# in KNOWN and in `only_here` do not pass; any other that fails is an error. Exits with 77, which ctest shows as skipped,
# where the models of BODIES pass, and there is nothing else.
set -euo pipefail
cmake=$1 build=$2 known=$3 bodies=$4 archive=$5
only_here='test_gradient_of_add|test_gradient_of_add_and_mul'  # Gradient goes through the graph, which code has not
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$bodies" "$place/bodies"
tests=${KILN_ONNX_TESTS-}
if [[ -z $tests ]]; then
  mkdir "$place/tests"
  tests=$place/tests
  [[ ! -f $archive ]] || tar xzf "$archive" -C "$tests"
fi
step=30
[[ ${KILN_TEST_LONG-} != 1 ]] || step=1
mapfile -t chosen < <(find "$tests" -name model.onnx -printf '%h\n' | LC_ALL=C sort | awk "NR % $step == 0")
standard=${#chosen[@]}
chosen+=("$place/bodies")

"$cmake" --install "$build" --prefix "$place/kiln" >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
"$place/kiln/bin/kiln" onnx test --generated --work "$place/work" "${chosen[@]}" >"$place/said" || true
tail -1 "$place/said" | grep -q '^passed [0-9]* of [0-9]*$' || { cat "$place/said"; exit 1; }
failed=$(grep '^failed ' "$place/said" || true)
listed=$(sed -n 's/.*{"\(test_[a-z0-9_]*\)".*/\1/p' "$known" | paste -sd '|')
wrong=$(grep -Ev "/($listed|$only_here):|this Kiln was built without lib" <<<"$failed" || true)
tail -1 "$place/said"
[[ -z $wrong ]] || { echo "$wrong"; exit 1; }
((standard > 0)) || { echo "KILN_ONNX_TESTS names no directory of tests, and there is no $archive"; exit 77; }
