# One function for each kind of target. Sources are listed, never globbed.

# How many sources are compiled as one (KILN_UNITY). What they all instantiate is compiled once: three times as many take a
# fifth less time.
set(KILN_UNITY_BATCH 12)

# What a program with a model includes: of these headers none changes when the model does.
set(kiln_model_headers kiln/kiln.hpp kiln/nn.hpp kiln/data/loader.hpp kiln/optim.hpp kiln/train.hpp)
list(TRANSFORM kiln_model_headers PREPEND "${PROJECT_SOURCE_DIR}/")

# kiln_library(NAME [SEPARATE] SOURCES a.cpp ... HOST_SOURCES b.cpp ... PORTABLE_SOURCES c.cpp ... LINKS target ... PRIVATE_LINKS target ...
#   SHOWS pattern ...)
# The target kiln_NAME of one folder; headers alone make an interface target.
#   SOURCES           build everywhere: without exceptions, RTTI, threads, files and streams
#   HOST_SOURCES      need one of those; a portable build (KILN_PORTABLE) leaves them out
#   PORTABLE_SOURCES  take their place in a portable build
#   SEPARATE          no two sources are compiled as one (KILN_UNITY)
#   SHOWS             names that others need of a shared library whose other names are nobody's business
# A portable build also leaves out links to targets that it lacks.
function(kiln_library name)
  cmake_parse_arguments(ARG "SEPARATE" "" "SOURCES;HOST_SOURCES;PORTABLE_SOURCES;LINKS;PRIVATE_LINKS;SHOWS" ${ARGN})
  if(KILN_PORTABLE)
    if(ARG_HOST_SOURCES AND NOT ARG_SOURCES AND NOT ARG_PORTABLE_SOURCES)
      return()
    endif()
    set(sources ${ARG_SOURCES} ${ARG_PORTABLE_SOURCES})
    kiln_keep_targets(ARG_LINKS)
    kiln_keep_targets(ARG_PRIVATE_LINKS)
  else()
    set(sources ${ARG_SOURCES} ${ARG_HOST_SOURCES})
  endif()

  if(sources)
    add_library(kiln_${name} ${sources})  # an archive, or shared where BUILD_SHARED_LIBS says so
    target_link_libraries(kiln_${name} PRIVATE ${ARG_PRIVATE_LINKS} $<BUILD_INTERFACE:kiln_warnings>)
    if(KILN_UNITY AND NOT ARG_SEPARATE)
      set_target_properties(kiln_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${KILN_UNITY_BATCH})
    endif()
    if(KILN_PRECOMPILE)
      target_precompile_headers(kiln_${name} REUSE_FROM ${kiln_library_headers})
    endif()
    set(scope PUBLIC)
  else()
    add_library(kiln_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(kiln_${name} ${scope} cxx_std_20)
  target_include_directories(kiln_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(kiln_${name} ${scope} ${ARG_LINKS})
  kiln_install_library(${name} ${ARG_SHOWS})
endfunction()

# Drops the names in the list `variable` that are no targets of this build.
function(kiln_keep_targets variable)
  set(kept)
  foreach(link IN LISTS ${variable})
    if(TARGET ${link})
      list(APPEND kept ${link})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# kiln_compile_alone(a.cpp ...): these of this folder are not compiled as one with others (KILN_UNITY), as they have names that
# others have too, or a type of theirs contains one of an anonymous namespace.
function(kiln_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# kiln_test(NAME SOURCES a.cpp ... [ALONE b.cpp ...] LINKS target ... [SHARDS n] [PRECOMPILED target]): a GoogleTest program
# whose cases ctest lists one by one; or in n parts, where starting a process for each of thousands of cases would take longer than the cases. Case i
# goes to part i mod n, and parametrised cases of a kind follow each other at regular distances: n should be prime.
# PRECOMPILED names the target with the headers that it shares, test_headers where absent. Those ALONE are further sources, for
# kiln_compile_alone.
function(kiln_test name)
  cmake_parse_arguments(ARG "" "SHARDS;PRECOMPILED" "SOURCES;ALONE;LINKS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES} ${ARG_ALONE})
  kiln_compile_alone(${ARG_ALONE})
  target_link_libraries(test_${name} PRIVATE ${ARG_LINKS} GTest::gtest_main kiln_warnings)
  set_target_properties(test_${name} PROPERTIES UNITY_BUILD ${KILN_UNITY} UNITY_BUILD_BATCH_SIZE ${KILN_UNITY_BATCH})
  if(KILN_PRECOMPILE)
    if(NOT ARG_PRECOMPILED)
      set(ARG_PRECOMPILED test_headers)
    endif()
    target_precompile_headers(test_${name} REUSE_FROM ${ARG_PRECOMPILED})
  endif()
  set(suppressions LSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp)
  if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG}" MATCHES "-fsanitize=thread")  # gtest_discover_tests hands on one value
    set(suppressions TSAN_OPTIONS=set:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp)
  endif()
  if(NOT ARG_SHARDS)
    gtest_discover_tests(test_${name} TEST_FILTER -*.DISABLED_* DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT 600 ENVIRONMENT KILN_POISON=1 ENVIRONMENT_MODIFICATION ${suppressions})
    return()
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.part_${shard} COMMAND test_${name} --gtest_brief=1)
    set_tests_properties(${name}.part_${shard} PROPERTIES TIMEOUT 1200 LABELS sharded
      ENVIRONMENT_MODIFICATION ${suppressions}
      ENVIRONMENT "KILN_POISON=1;GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# Examples (-O1) are compiled more often than they run, and the library, which does their work, is compiled as users get it.
function(kiln_compile_quickly target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()

# kiln_compile_as_example(TARGET): a program that links all of Kiln.
function(kiln_compile_as_example target)
  kiln_compile_quickly(${target} -O1)
  if(KILN_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM program_headers)
  endif()
endfunction()

# kiln_precompile(NAME LIBRARY|PROGRAM|TEST header ...): a target for others of its kind to reuse the headers from.
function(kiln_precompile name kind)
  if(kind STREQUAL "LIBRARY")
    add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  elseif(kind STREQUAL "TEST")
    add_executable(${name} ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  else()
    add_executable(${name} ${PROJECT_SOURCE_DIR}/cmake/precompiled_program.cpp)
  endif()
  target_link_libraries(${name} PRIVATE kiln_warnings)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# kiln_example(NAME SOURCES a.cpp ... LINKS target ...): the program bin/NAME, which `./dev run NAME` runs.
function(kiln_example name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  kiln_program(${name} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS})
  kiln_compile_as_example(${name})
endfunction()

# kiln_part_of_programs(TARGET): an archive that only programs link, compiled as examples are.
function(kiln_part_of_programs target)
  kiln_compile_as_example(${target})
  if(KILN_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fPIE)  # as programs are, or g++ refuses their headers
  endif()
endfunction()

# kiln_bench(NAME SOURCES a.cpp ... LINKS target ...): the program bin/bench_NAME, which `./dev bench` runs.
function(kiln_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  kiln_program(bench_${name} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS} benchmark::benchmark)
  add_dependencies(benches bench_${name})
endfunction()

function(kiln_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} kiln_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()
