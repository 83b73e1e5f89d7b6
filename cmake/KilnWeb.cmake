# kiln_web_module(NAME SOURCES a.cpp ... LINKS target ...): web/NAME.js, a module for pages (packaging/npm) with web/NAME.wasm beside
# it, and NAME.threads.js and NAME.threads.wasm for pages that are isolated; of C++ whose main() offers functions
# (kiln/browser/function.hpp). Where KILN_WEBGPU is on, they have the device "webgpu".
function(kiln_web_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(imports ${PROJECT_SOURCE_DIR}/kiln/browser/imports.js)
  add_library(web_${name}_objects OBJECT ${ARG_SOURCES})
  target_link_libraries(web_${name}_objects PUBLIC kiln_browser ${ARG_LINKS} kiln_cpu kiln_fusion
    $<TARGET_NAME_IF_EXISTS:kiln_webgpu> PRIVATE kiln_warnings)
  foreach(threads IN ITEMS "" threads)
    set(module web_${name})
    set(output ${name})
    set(options ${KILN_WASM_MODULE})
    if(threads)
      set(module web_${name}_threads)
      set(output ${name}.threads)
      set(options ${KILN_WASM_MODULE_WITH_THREADS})
    endif()
    add_executable(${module})
    target_link_libraries(${module} PRIVATE web_${name}_objects)
    set_target_properties(${module} PROPERTIES OUTPUT_NAME ${output} SUFFIX .js LINK_DEPENDS ${imports}
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/web)
    target_link_options(${module} PRIVATE ${options} --js-library=${imports})
    add_dependencies(web_modules ${module})
  endforeach()
endfunction()

# All of them, for ./dev run web.
add_custom_target(web_modules)
