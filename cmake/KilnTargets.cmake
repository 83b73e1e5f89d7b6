# How every target of the project is built: language level, warnings, and one helper per kind of target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

add_library(kiln_warnings INTERFACE)
target_compile_options(kiln_warnings INTERFACE -Wall -Wextra -Werror)

# kiln_library(NAME SOURCES a.cpp ... LINKS target ... PRIVATE_LINKS target ...): the target kiln_NAME of one folder.
function(kiln_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(kiln_${name} STATIC ${ARG_SOURCES})
  target_include_directories(kiln_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(kiln_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS} $<BUILD_INTERFACE:kiln_warnings>)
endfunction()

# kiln_test(NAME SOURCES a.cpp ... LINKS target ...): a GoogleTest program whose cases ctest lists one by one.
function(kiln_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_LINKS} GTest::gtest_main kiln_warnings)
  gtest_discover_tests(test_${name} PROPERTIES TIMEOUT 600 DISCOVERY_TIMEOUT 60)
endfunction()
