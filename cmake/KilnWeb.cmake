# kiln_web_module(NAME SOURCES a.cpp ... LINKS target ...): modules for pages (packaging/npm) of C++ whose main() offers functions
# (kiln/browser/function.hpp). They are links of the same objects, of which Kiln.start takes one: web/NAME.js with web/NAME.wasm beside
# it; NAME.threads.js for pages that are isolated; and, where KILN_WEBGPU is on, NAME.webgpu.js and NAME.webgpu.threads.js, which
# have the device "webgpu" and are larger. The targets are web_NAME, web_NAME_threads, web_NAME_webgpu and web_NAME_webgpu_threads.
function(kiln_web_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(imports ${PROJECT_SOURCE_DIR}/kiln/browser/imports.js)
  add_library(web_${name}_objects OBJECT ${ARG_SOURCES})
  target_link_libraries(web_${name}_objects PUBLIC kiln_browser ${ARG_LINKS} kiln_cpu kiln_fusion PRIVATE kiln_warnings)
  set(variants none threads)
  if(TARGET kiln_webgpu)
    list(APPEND variants webgpu webgpu_threads)
  endif()
  foreach(variant IN LISTS variants)
    set(module web_${name})
    set(output ${name})
    set(links web_${name}_objects)
    set(options ${KILN_WASM_MODULE})
    if(variant MATCHES webgpu)
      string(APPEND module _webgpu)
      string(APPEND output .webgpu)
      list(APPEND links kiln_webgpu)
    endif()
    if(variant MATCHES threads)
      string(APPEND module _threads)
      string(APPEND output .threads)
      set(options ${KILN_WASM_MODULE_WITH_THREADS})
    endif()
    add_executable(${module})
    target_link_libraries(${module} PRIVATE ${links})
    set_target_properties(${module} PROPERTIES OUTPUT_NAME ${output} SUFFIX .js LINK_DEPENDS ${imports}
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/web)
    target_link_options(${module} PRIVATE ${options} --js-library=${imports})
    add_dependencies(web_modules ${module})
  endforeach()
endfunction()

# All of them, for ./dev run web.
add_custom_target(web_modules)
