# Programs for pages, not for node (tests/CMakeLists.txt).
set_property(DIRECTORY PROPERTY LINK_OPTIONS "")

# kiln_page_program(NAME SOURCES a.cpp ... LINKS target ...): two programs for pages of the same sources, page_NAME, whose only
# thread waits for the GPU by JSPI, and page_NAME_threads, which runs in a thread of a page that is cross-origin isolated.
function(kiln_page_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(page_${name}_objects OBJECT ${ARG_SOURCES})
  target_link_libraries(page_${name}_objects PUBLIC ${ARG_LINKS} GTest::gtest_main kiln_warnings)
  foreach(program page_${name} page_${name}_threads)
    add_executable(${program})
    target_link_libraries(${program} PRIVATE page_${name}_objects)
    target_link_options(${program} PRIVATE ${KILN_WASM_LINK} -sENVIRONMENT=web,worker
      -sEXPORTED_RUNTIME_METHODS=stringToNewUTF8,ENV,FS,HEAPU32 -sFORCE_FILESYSTEM -sEXPORTED_FUNCTIONS=_main,_malloc)
  endforeach()
  target_link_options(page_${name} PRIVATE -sINVOKE_RUN=0 -sEXIT_RUNTIME=0)
  target_link_options(page_${name}_threads PRIVATE ${KILN_WASM_THREADS} -sPROXY_TO_PTHREAD -sEXIT_RUNTIME=1
    -sPTHREAD_POOL_SIZE=4)
endfunction()

# kiln_page_test(NAME PROGRAM program [FLAGS ...] [ARGUMENTS ...]): runs a page's program in headless Chromium.
find_program(KILN_NODE node REQUIRED)
function(kiln_page_test name)
  cmake_parse_arguments(ARG "" "PROGRAM" "FLAGS;ARGUMENTS" ${ARGN})
  add_test(NAME page.${name} COMMAND ${KILN_NODE} ${PROJECT_SOURCE_DIR}/tests/browser/pages/run_page.mjs ${ARG_FLAGS}
    $<TARGET_FILE:${ARG_PROGRAM}> --gtest_brief=1 ${ARG_ARGUMENTS})
  set_tests_properties(page.${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

kiln_page_program(webgpu SOURCES driver_test.cpp text_test.cpp LINKS kiln_webgpu kiln_cpu)
kiln_page_program(webgpu_models SOURCES models_test.cpp LINKS kiln_fusion kiln_optim kiln_cpu kiln_webgpu)
# A share of the op rows (tests/ops): values and gradients.
set(rows ${PROJECT_SOURCE_DIR}/tests/ops)
kiln_page_program(webgpu_rows
  SOURCES page_devices.cpp ${rows}/harness.cpp ${rows}/op_values.cpp ${rows}/matrices.cpp ${rows}/rows/activation.cpp
    ${rows}/rows/conv.cpp ${rows}/rows/index.cpp ${rows}/rows/matmul.cpp ${rows}/rows/normalization.cpp ${rows}/rows/pool.cpp
    ${rows}/rows/reduce.cpp ${rows}/rows/view.cpp
  LINKS kiln_autodiff kiln_config kiln_wire kiln_fusion kiln_cpu kiln_webgpu)
kiln_page_test(webgpu_rows PROGRAM page_webgpu_rows ARGUMENTS --gtest_filter=Rows/OpRow.HasTheValues*:Rows/OpRow.HasTheGradient*)
kiln_page_test(webgpu PROGRAM page_webgpu)
kiln_page_test(webgpu_in_a_thread PROGRAM page_webgpu_threads FLAGS --isolated --no-jspi)
kiln_page_test(webgpu_models PROGRAM page_webgpu_models)
kiln_page_test(webgpu_models_in_a_thread PROGRAM page_webgpu_models_threads FLAGS --isolated --no-jspi)

# What a page is told where something is missing.
function(kiln_page_sentence name sentence)
  kiln_page_test(${name} PROGRAM page_webgpu FLAGS ${ARGN} ARGUMENTS --gtest_filter=WebgpuDriver.SaysWhatTheDeviceHas)
  set_tests_properties(page.${name} PROPERTIES PASS_REGULAR_EXPRESSION "no device: DeviceError: webgpu: ${sentence}")
endfunction()
kiln_page_sentence(webgpu_without_jspi "the browser's answer cannot be waited for here" --no-jspi)
kiln_page_sentence(webgpu_without_gpu "the browser finds no GPU; the browser lends no GPU" --no-gpu)
kiln_page_sentence(webgpu_without_webgpu "this browser has no WebGPU" --no-webgpu)

# run_page.mjs --env=KILN_DEVICE=webgpu --file=guide.onnx page_bench.js 1 guide.onnx: times in a page.
set(bench ${PROJECT_SOURCE_DIR}/bench/wasm)
kiln_page_program(bench SOURCES ${bench}/main.cpp ${bench}/vectors_wasm.cpp LINKS kiln_onnx kiln_fusion kiln_cpu kiln_webgpu)
set_target_properties(page_bench page_bench_threads PROPERTIES EXCLUDE_FROM_ALL TRUE)
