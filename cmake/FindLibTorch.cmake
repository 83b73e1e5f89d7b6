# LibTorch::LibTorch: the C++ library of PyTorch, 1.13 or later, below LibTorch_ROOT, or else Debian's (libtorch-dev), or else
# that of PyPI's wheel where the Python has one that KILN_PEERS_PYTHON of the environment names.
# Not its own package configuration: that looks for CUDA, protobuf and compilers of its own, and sets flags of all targets.
set(LibTorch_wheel)
if(DEFINED ENV{KILN_PEERS_PYTHON})
  execute_process(COMMAND $ENV{KILN_PEERS_PYTHON} -c
      "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE LibTorch_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(LibTorch_INCLUDE_DIR ATen/ATen.h PATHS ${LibTorch_wheel}/include)
find_library(LibTorch_LIBRARY torch_cpu PATHS ${LibTorch_wheel}/lib)
find_library(LibTorch_CORE c10 PATHS ${LibTorch_wheel}/lib)
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_LIBRARY LibTorch_CORE)

if(LibTorch_INCLUDE_DIR AND EXISTS ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h)
  file(STRINGS ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h lines
    REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9]+" "." LibTorch_VERSION "${lines}")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LibTorch_VERSION "${LibTorch_VERSION}")
endif()
# Older wheels have std::string of before C++11, with which nothing else links.
set(LibTorch_HAS_STRINGS TRUE)
if(LibTorch_LIBRARY)
  get_filename_component(LibTorch_folder ${LibTorch_LIBRARY} DIRECTORY)
  foreach(config ${LibTorch_folder}/../share/cmake/Torch/TorchConfig.cmake ${LibTorch_folder}/cmake/Torch/TorchConfig.cmake)
    if(EXISTS ${config})
      file(STRINGS ${config} old REGEX "_GLIBCXX_USE_CXX11_ABI=0")
      if(old)
        set(LibTorch_HAS_STRINGS FALSE)
      endif()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_LIBRARY LibTorch_CORE LibTorch_INCLUDE_DIR LibTorch_HAS_STRINGS VERSION_VAR LibTorch_VERSION)
if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch UNKNOWN IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    IMPORTED_LOCATION ${LibTorch_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LibTorch_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${LibTorch_CORE})
endif()
