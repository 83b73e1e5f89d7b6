# nlohmann_json::nlohmann_json for WebAssembly, which is headers alone.
if(NOT TARGET nlohmann_json::nlohmann_json)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${KILN_EMSCRIPTEN}/usr/include)
endif()
set(nlohmann_json_FOUND TRUE)
