# How programs and modules of WebAssembly are linked (preset wasm). One compilation serves both kinds: a module without threads
# runs in every page, and one with threads where the page is isolated from other origins (docs/browser.md).

# What both have: memory that grows, malloc that answers null where there is no more, 64-bit numbers as BigInt.
set(KILN_WASM_LINK -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sABORTING_MALLOC=0 -sSTACK_SIZE=2MB -sWASM_BIGINT)
# What one with threads has besides.
set(KILN_WASM_THREADS -pthread -Wno-pthreads-mem-growth -sDEFAULT_PTHREAD_STACK_SIZE=2MB)
# A module for pages (KilnWeb.cmake), and for node, where the package is tested. -O3 would rename the exports that webgpu.js calls.
set(KILN_WASM_MODULE ${KILN_WASM_LINK} -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker,node -sEXPORTED_RUNTIME_METHODS=wasmMemory
  -sEXPORTED_FUNCTIONS=_main,_kiln_call,_kiln_allocate,_kiln_free)
# One with threads: its workers start with it, as later ones would wait for the event loop that a call keeps from running; where
# they are all taken, starting another is an error, which Kiln copes with. One more than there are processors: a call that waits
# for a GPU has one.
set(KILN_WASM_MODULE_WITH_THREADS ${KILN_WASM_MODULE} ${KILN_WASM_THREADS} -sPTHREAD_POOL_SIZE_STRICT=2
  -sDEFAULT_LIBRARY_FUNCS_TO_INCLUDE=kiln_watch_threads  # of kiln/browser/imports.js
  "-sPTHREAD_POOL_SIZE=(globalThis.navigator?.hardwareConcurrency??4)+1")
# A program for node, with its files, environment and exit status. With threads main() runs in one of its own, so that others
# can start while it waits for them.
set(KILN_WASM_PROGRAM_WITHOUT_THREADS ${KILN_WASM_LINK} -sEXIT_RUNTIME -sNODERAWFS -sENVIRONMENT=node,worker
  --pre-js ${CMAKE_CURRENT_LIST_DIR}/emscripten/environment.js)
set(KILN_WASM_PROGRAM ${KILN_WASM_PROGRAM_WITHOUT_THREADS} ${KILN_WASM_THREADS} -sPROXY_TO_PTHREAD)
