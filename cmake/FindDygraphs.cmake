# DYGRAPHS_SCRIPT, DYGRAPHS_STYLE and DYGRAPHS_LICENCE: the files of dygraphs, a library of curves for pages (MIT; Debian:
# libjs-dygraphs), which the page of trainings embeds. DYGRAPHS_ROOT names a folder with its dist files.
find_file(DYGRAPHS_SCRIPT dygraph.min.js HINTS ${DYGRAPHS_ROOT} PATHS /usr/share/javascript/dygraphs
  /usr/share/nodejs/dygraphs/dist NO_CMAKE_FIND_ROOT_PATH)
find_file(DYGRAPHS_STYLE dygraph.min.css HINTS ${DYGRAPHS_ROOT} PATHS /usr/share/javascript/dygraphs
  /usr/share/nodejs/dygraphs/dist NO_CMAKE_FIND_ROOT_PATH)
find_file(DYGRAPHS_LICENCE NAMES copyright LICENSE.txt HINTS ${DYGRAPHS_ROOT} PATHS /usr/share/doc/libjs-dygraphs
  NO_DEFAULT_PATH)
mark_as_advanced(DYGRAPHS_SCRIPT DYGRAPHS_STYLE DYGRAPHS_LICENCE)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dygraphs REQUIRED_VARS DYGRAPHS_SCRIPT DYGRAPHS_STYLE DYGRAPHS_LICENCE)
