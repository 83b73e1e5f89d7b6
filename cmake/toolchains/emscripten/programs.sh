#!/usr/bin/env bash
# programs.sh FOLDER: writes FOLDER/bin, in which em++ and emar of the packages unpacked in FOLDER run by this system's Python,
# clang and node; Debian 13's wasm-opt gets Debian 13's C library. `./dev` calls it.
set -euo pipefail
folder=$(cd "$1" && pwd)
library=$(dirname "$(find "$folder/usr/lib" -name 'libstdc++.so.6' -print -quit)")
loader=$(find "$folder/usr/lib64" "$folder/usr/lib" -name 'ld-linux-*.so.*' -print -quit)
mkdir -p "$folder/bin" "$folder/binaryen/bin"
ln -sfn ../nodejs "$folder/usr/share/emscripten/node_modules"

for program in "$folder"/usr/bin/wasm-*; do
  printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "'$loader'" "'$library:$library/binaryen'" "'$program'" \
    >"$folder/binaryen/bin/${program##*/}"
done
mkdir -p "$folder/llvm"
ln -sfn /usr/bin/clang*-19 /usr/bin/llvm-*-19 "$folder/llvm"
cp "$(dirname "${BASH_SOURCE[0]}")/wasm_ld.py" "$folder/llvm/wasm-ld-19"
chmod +x "$folder/llvm/wasm-ld-19"
cat >"$folder/config" <<END
LLVM_ROOT = '$folder/llvm'
LLVM_ADD_VERSION = '19'
CLANG_ADD_VERSION = '19'
BINARYEN_ROOT = '$folder/binaryen'
NODE_JS = '$(command -v node)'
CACHE = '$folder/usr/share/emscripten/cache'
FROZEN_CACHE = True
END
for program in emcc em++ emar emranlib; do
  printf '#!/bin/sh\nexport EM_CONFIG=%s\nexec python3 -E %s "$@"\n' "'$folder/config'" \
    "'$folder/usr/share/emscripten/$program.py'" >"$folder/bin/$program"
done
chmod +x "$folder"/bin/* "$folder"/binaryen/bin/*
