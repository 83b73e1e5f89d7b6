# GTest::gtest_main and GTest::gmock for WebAssembly, compiled from their sources.
if(NOT TARGET GTest::gtest_main)
  set(sources ${KILN_EMSCRIPTEN}/usr/src/googletest)
  add_library(kiln_wasm_gtest STATIC ${sources}/googletest/src/gtest-all.cc ${sources}/googlemock/src/gmock-all.cc
    ${sources}/googlemock/src/gmock_main.cc)
  target_include_directories(kiln_wasm_gtest SYSTEM PUBLIC ${sources}/googletest/include ${sources}/googlemock/include)
  target_include_directories(kiln_wasm_gtest PRIVATE ${sources}/googletest ${sources}/googlemock)
  target_compile_options(kiln_wasm_gtest PRIVATE -w)
  foreach(name gtest gtest_main gmock gmock_main)
    add_library(GTest::${name} ALIAS kiln_wasm_gtest)
  endforeach()
endif()
set(GTest_FOUND TRUE)
