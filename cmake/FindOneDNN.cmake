# OneDNN::OneDNN: Intel's deep neural network library, 2.6 or later, and the OpenMP runtime that it uses itself.
# Not its own package configuration: Debian's insists on OpenCL's headers, which are for GPUs.
find_path(OneDNN_INCLUDE_DIR dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
# By its run-time name: clang brings another.
find_library(OneDNN_OPENMP NAMES libgomp.so.1 gomp)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY OneDNN_OPENMP)

if(OneDNN_INCLUDE_DIR)
  foreach(header oneapi/dnnl/dnnl_version.h dnnl_version.h)
    if(EXISTS ${OneDNN_INCLUDE_DIR}/${header} AND NOT OneDNN_VERSION)
      file(STRINGS ${OneDNN_INCLUDE_DIR}/${header} lines REGEX "DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      string(REGEX REPLACE "[^0-9]+" "." OneDNN_VERSION "${lines}")
      string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" OneDNN_VERSION "${OneDNN_VERSION}")
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR OneDNN_OPENMP
  VERSION_VAR OneDNN_VERSION)
if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${OneDNN_OPENMP})
endif()
