# kiln_web_module(NAME SOURCES a.cpp ... LINKS target ...): web/NAME.js, a module for pages (packaging/npm), and web/NAME.wasm beside
# it, of C++ whose main() offers functions (kiln/browser/function.hpp). Where KILN_WEBGPU is on, it has the device "webgpu".
function(kiln_web_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  set(imports ${PROJECT_SOURCE_DIR}/kiln/browser/imports.js)
  add_executable(web_${name} ${ARG_SOURCES})
  target_link_libraries(web_${name} PRIVATE kiln_browser ${ARG_LINKS} kiln_cpu kiln_fusion
    $<TARGET_NAME_IF_EXISTS:kiln_webgpu> kiln_warnings)
  set_target_properties(web_${name} PROPERTIES OUTPUT_NAME ${name} SUFFIX .js LINK_DEPENDS ${imports}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/web)
  target_link_options(web_${name} PRIVATE ${KILN_WASM_MODULE} --js-library=${imports})
  add_dependencies(web_modules web_${name})
endfunction()

# All of them, for ./dev run web.
add_custom_target(web_modules)
