# Language level, warnings, and the tools that make builds quicker where they are installed.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT EMSCRIPTEN)  # where it would make modules larger
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(kiln_warnings INTERFACE)
target_compile_options(kiln_warnings INTERFACE -Wall -Wextra $<$<BOOL:${KILN_WERROR}>:-Werror>)
# Tests call what throws, and benchmarks what takes time, without a use for its result: KILN_DROPS_RESULTS is set there.
define_property(TARGET PROPERTY KILN_DROPS_RESULTS INITIALIZE_FROM_VARIABLE KILN_DROPS_RESULTS)
target_compile_options(kiln_warnings INTERFACE $<$<BOOL:$<TARGET_PROPERTY:KILN_DROPS_RESULTS>>:-Wno-unused-result>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ guesses wrongly about inlined loops over short arrays, and from 12 on about strings that are put together; the
  # sanitizers and checked containers know.
  target_compile_options(kiln_warnings INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-maybe-uninitialized
                                                 -Wno-restrict)
else()
  # The C++ library of g++ 12 has deprecated what its own stable_sort calls, and clang says so to who calls that.
  target_compile_options(kiln_warnings INTERFACE -Wno-deprecated-declarations)
endif()

if(NOT KILN_PORTABLE)
  find_package(Threads REQUIRED)
endif()

# A product and the sum after it are rounded one by one on every processor, as they are on x86-64 without AVX2: results have
# the same bits.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|riscv64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(KILN_CCACHE ccache)
  if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${KILN_CCACHE})
  endif()
  # Precompiled headers save a third of the time; ccache saves nearly all of it, but shares nothing made with one. For arm64,
  # g++ breaks down at its own arm_sve.h after one.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT KILN_PORTABLE
     AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(KILN_PRECOMPILE ON)
  endif()
  # g++ looks for memory to free each time that 128 MB more are taken, through all of the precompiled headers too. Where it
  # begins at 1 GB, files take up to a fifth less time, and none as much memory.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1048576>")
  endif()
  find_program(KILN_MOLD mold)
  if(KILN_MOLD AND NOT KILN_PORTABLE AND NOT CMAKE_CROSSCOMPILING)  # whose compiler does not find it
    add_link_options(-fuse-ld=mold)
  endif()
endif()
