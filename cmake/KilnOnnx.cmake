# kiln_add_onnx(NAME model.onnx [SIZES batch=8 ...] [UNTRIED]): the library NAME, C++ that `kiln import` makes of the file
# when it is built. Programs that link it include "NAME.hpp", and find the weights at NAME_WEIGHTS (in capitals):
#
#   kiln_add_onnx(resnet50 models/resnet50.onnx)
#   target_link_libraries(app PRIVATE resnet50)      # resnet50::load_resnet50(RESNET50_WEIGHTS, device)
#
# NAME is in small letters, as the namespace of the code is. SIZES are of free dimensions of the example that the importer
# runs the model on. A model that throws on the example is an error of the build, unless it is UNTRIED.
function(kiln_add_onnx name model)
  cmake_parse_arguments(ARG "UNTRIED" "" "SIZES" ${ARGN})
  if(NOT TARGET kiln::program)
    message(FATAL_ERROR "kiln_add_onnx: this build of Kiln has no program kiln; it needs CLI11")
  endif()
  if(NOT name MATCHES "^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
    message(FATAL_ERROR "kiln_add_onnx: '${name}' is no name of a namespace: small letters, digits and single _")
  endif()
  get_filename_component(model "${model}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(options)
  foreach(size IN LISTS ARG_SIZES)
    list(APPEND options --size "${size}")
  endforeach()
  if(ARG_UNTRIED)
    list(APPEND options --untried)
  endif()
  add_custom_command(OUTPUT "${directory}/${name}.cpp" "${directory}/${name}.hpp"
    COMMAND kiln::program import "${model}" -o "${directory}" --name ${name} --force ${options}
    DEPENDS "${model}" kiln::program VERBATIM COMMENT "Writing ${name} as C++")
  add_library(${name} STATIC "${directory}/${name}.cpp" "${directory}/${name}.hpp")
  target_include_directories(${name} PUBLIC "${directory}")
  target_link_libraries(${name} PUBLIC kiln::kiln)
  string(TOUPPER ${name} upper)
  target_compile_definitions(${name} INTERFACE ${upper}_WEIGHTS="${directory}/${name}.safetensors")
endfunction()
