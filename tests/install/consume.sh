#!/usr/bin/env bash
# consume.sh CMAKE BUILD COMPILER FLAGS VERSION: installs what lies in BUILD into a temporary folder, or copies BUILD there
# if it is an installed Kiln, and builds and runs what a user would: a CMake project, and a program by pkg-config.
set -euo pipefail
cmake=$1 build=$2 compiler=$3 flags=$4 version=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() { echo "$*"; exit 1; }
# prints NUMBER PROGRAM: the program's only line.
prints() {
  local line
  line=$("$2") || fail "$2 failed"
  [[ $line == "$1" ]] || fail "$2 printed '$line' instead of $1"
}

if [[ -e $build/CMakeCache.txt ]]; then
  "$cmake" --install "$build" --prefix "$place/kiln" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
else
  cp -r "$build" "$place/kiln"
fi

# ONNX files: y = relu(x [[1, 3], [2, 4]] + [0.5, -20]), and one of names and strings with quotes, comments, keywords,
# zeros and bytes that are no UTF-8.
mkdir "$place/build"
base64 -d >"$place/build/small.onnx" <<'EOF'
CAgSADq9AQo5CgF4CglmYy53ZWlnaHQKB2ZjLmJpYXMSAWEaCC9mYy9HZW1tIgRHZW1tKg0KBnRyYW5zQhgBoAECChMKAWESAXkaBS9SZWx1IgRSZWx1
EgFnKiMIAggCEAFCCWZjLndlaWdodEoQAACAPwAAAEAAAEBAAACAQCoXCAIQAUIHZmMuYmlhc0oIAAAAPwAAoMFaFAoBeBIPCg0IARIJCgMSAW4KAggC
YhQKAXkSDwoNCAESCQoDEgFuCgIIAkIECgAQEQ==
EOF
base64 -d >"$place/build/hostile.onnx" <<'EOF'
CAgSADqsBApDCh14Iik7IHN0ZDo6YWJvcnQoKTsgLy8KI2Vycm9yIAoFY2xhc3MSA2ludBoRL29wZXJhdG9yL2EuYiJjL1wiA0FkZAonCgNpbnQKA2Eu
YhIDYV9iGhEvbmFtZXNwYWNlL2ludC8uLiIDTXVsCh4KA2FfYgoDYS9iEgNhIGIaCCovIH0gPz8vIgNBZGQKHwoFd29yZHMSBW91dAAiGgXDvOS4rSII
SWRlbnRpdHkKjgEKBGZsYWcSB2ZvcndhcmQaAmlmIgJJZio5CgtlbHNlX2JyYW5jaDInCg0KA2EgYhIBZSIDQWJzEgRlbHNlYhAKAWUSCwoJCAESBQoD
EgFuoAEFKjoKC3RoZW5fYnJhbmNoMigKDQoDYSBiEgF0IgNOZWcSBXRoZW4iYhAKAXQSCwoJCAESBQoDEgFuoAEFEgdtYWluKCl7KhUIAhABQgVjbGFz
c0oIAACAPwAAAEAqEwgCEAFCA2EuYkoIAAAAQAAAAEAqEwgCEAFCA2EvYkoIAABAQAAAQEAqMwgCEAgyGSIpOyBzdGQ6OmFib3J0KCk7IC8vCj8/L1wy
C251bAAgJXMg/ykiQgV3b3Jkc1ouCh14Iik7IHN0ZDo6YWJvcnQoKTsgLy8KI2Vycm9yIBINCgsIARIHCgUSA24qL1oOCgRmbGFnEgYKBAgJEgBiFgoH
Zm9yd2FyZBILCgkIARIFCgMSAW5iEwoFb3V0ACISCgoICAgSBAoCCAJCBAoAEBE=
EOF

# Elsewhere than it was installed: nothing may say where that was.
mv "$place/kiln" "$place/moved"
"$cmake" -S "$here/consumer" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/moved" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" -DKILN_EXPECTED="$version" >"$place/log" 2>&1 ||
  fail "$(cat "$place/log")"
"$cmake" --build "$place/build" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
prints 0.625 "$place/build/train"
prints 12 "$place/build/infer"
prints "1 4" "$place/build/model"
[[ ! -x $place/build/ranks ]] || prints "0 of 1" "$place/build/ranks"
if [[ -x $place/moved/bin/kiln ]]; then
  prints "3.5 true -18 11" "$place/build/imported"
fi
# project NAME TEMPLATE [TARGET]: the program writes it, it is built, and its test passes.
project() {
  (cd "$place" && moved/bin/kiln new "$1" --template "$2") >"$place/log" 2>&1 || fail "$(cat "$place/log")"
  "$cmake" -S "$place/$1" -B "$place/$1/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/moved" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
  "$cmake" --build "$place/$1/build" --target "${3-all}" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
  "$place/$1/build/$1_test" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
}
if [[ -x $place/moved/bin/kiln ]]; then
  project prices regression
  (cd "$place/prices" && build/prices --plain --epochs 1 && test -s model.safetensors) >"$place/log" 2>&1 || fail "$(cat "$place/log")"
  [[ ! -d $place/moved/include/kiln_models ]] || project pictures transfer pictures_test  # which links kiln::models too
fi
if [[ -d $place/moved/share/doc/kiln ]] && command -v python3 >/dev/null; then  # the pages' links, where they lie now
  python3 -B "$here/documents.py" "$here/../.." "$place/moved/share/doc/kiln" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
fi
needed=$(ldd "$place/build/infer")
for library in curl dnnl openblas lapack ssl torch; do
  ! grep -q "lib$library" <<<"$needed" || fail "a program that only infers loads $library: $needed"
done

# Debian's fmt is a shared library to CMake: a static program is told which archives it lacks, before it links.
if "$cmake" -S "$here/consumer" -B "$place/static" -G Ninja -DCMAKE_PREFIX_PATH="$place/moved" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_EXE_LINKER_FLAGS=-static -DKILN_EXPECTED="$version" >"$place/log" 2>&1; then
  fail "a program was configured with -static"
fi
tr -s ' \n' '  ' <"$place/log" | grep -q "Kiln cannot be linked with -static: an archive is needed in place of [^ ]*libfmt.so" ||
  fail "-static: $(cat "$place/log")"

if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$place/moved" -name kiln.pc)")
  export PKG_CONFIG_PATH
  [[ $(pkg-config --modversion kiln) == "$version" ]] || fail "kiln.pc has another version than $version"
  # The linker that leaves out what is not used, as some systems have it.
  "$compiler" $flags $(pkg-config --cflags kiln) "$here/consumer/train.cpp" -o "$place/by_pkg_config" -Wl,--as-needed \
    $(pkg-config --libs kiln) -Wl,-rpath,"$(pkg-config --variable=libdir kiln)" >"$place/log" 2>&1 || fail "$(cat "$place/log")"
  prints 0.625 "$place/by_pkg_config"
fi

# As packages have it (cmake/KilnPack.cmake): the parts that are packages of their own are not there. Kiln is found without them,
# and says which one a program lacks.
find "$place/moved" \( -name 'libkiln_libtorch.*' -o -name 'kiln-libtorch-targets*' -o -name 'libkiln_mpi.*' -o -name 'kiln-mpi-targets*' \) -delete
"$cmake" -S "$here/without_parts" -B "$place/parts" -G Ninja -DCMAKE_PREFIX_PATH="$place/moved" -DCMAKE_CXX_COMPILER="$compiler" \
  >"$place/log" 2>&1 || fail "$(cat "$place/log")"
if "$cmake" "$place/parts" -DREQUIRED_PART=mpi >"$place/log" 2>&1; then fail "a package was found that is not there"; fi
tr -s ' \n' '  ' <"$place/log" | grep -q "Kiln's component mpi is a package of its own, which is not installed: libkiln-mpi-dev" ||
  fail "without the package of MPI: $(cat "$place/log")"
