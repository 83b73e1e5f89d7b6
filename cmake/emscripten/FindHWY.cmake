# hwy::hwy for WebAssembly: Highway's headers alone, as there is one instruction set to choose.
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy INTERFACE IMPORTED GLOBAL)
  target_include_directories(hwy::hwy INTERFACE ${KILN_EMSCRIPTEN}/usr/include)
  # The scan for supported targets stands in Highway's library.
  target_compile_definitions(hwy::hwy INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
set(HWY_FOUND TRUE)
