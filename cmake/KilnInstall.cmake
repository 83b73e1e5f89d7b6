# What `cmake --install` and `cpack` put where: libraries, headers, a package for find_package and one for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(KILN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kiln)

# Libraries that were built with another second number of a version are others while the first is 0.
set(KILN_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Parts that few programs link, and that bring large libraries of others: each has a CMake file and packages of its own, and
# whoever wants one names it in find_package().
set(KILN_SEPARATE_PARTS libtorch mpi)

# kiln_install_library(NAME [pattern ...]): kiln_NAME is a part of the package, as kiln::NAME. Parts are named from the bottom
# up. Patterns are the names that it shows to others, of those with kiln:: in them; where there are none, all of those.
function(kiln_install_library name)
  set_target_properties(kiln_${name} PROPERTIES EXPORT_NAME ${name})
  get_target_property(type kiln_${name} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    set_target_properties(kiln_${name} PROPERTIES
      VERSION ${PROJECT_VERSION} SOVERSION ${KILN_SOVERSION} INSTALL_RPATH "$ORIGIN")
    if(KILN_TESTS)
      set(ARGN "")  # they look inside
    endif()
    set(shown ${CMAKE_CURRENT_BINARY_DIR}/kiln_${name}.map)
    kiln_write_exports(${shown} ${ARGN})
    target_link_options(kiln_${name} PRIVATE LINKER:--version-script=${shown})
    set_property(TARGET kiln_${name} APPEND PROPERTY LINK_DEPENDS ${shown})
  endif()
  set_property(GLOBAL APPEND PROPERTY KILN_PARTS ${name})
  if(KILN_INSTALL)
    set(targets kiln-targets)
    set(runtime runtime)
    set(development dev)
    if(name IN_LIST KILN_SEPARATE_PARTS)
      set(targets kiln-${name}-targets)
      set(runtime ${name})
      set(development ${name}_dev)
    endif()
    install(TARGETS kiln_${name} EXPORT ${targets}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime} NAMELINK_COMPONENT ${development}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${development})
  endif()
endfunction()

# kiln_separate_parts(VARIABLE): those that this build has.
function(kiln_separate_parts variable)
  get_property(parts GLOBAL PROPERTY KILN_PARTS)
  set(separate ${KILN_SEPARATE_PARTS})
  foreach(part IN LISTS KILN_SEPARATE_PARTS)
    if(NOT part IN_LIST parts)
      list(REMOVE_ITEM separate ${part})
    endif()
  endforeach()
  set(${variable} ${separate} PARENT_SCOPE)
endfunction()

# kiln_write_exports(FILE [pattern ...]): a linker's list of what a shared library shows: these names of C++, and kiln_* of C.
# What it contains of others (Highway's templates, libbacktrace) is nobody else's.
function(kiln_write_exports file)
  set(patterns ${ARGN})
  if(NOT patterns)
    set(patterns "*kiln::*")
  endif()
  set(shown "")
  foreach(pattern IN LISTS patterns)
    string(APPEND shown " ${pattern};")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "{
  global: kiln_*; extern \"C++\" {@shown@ };
  local: *;
};
" @ONLY)
endfunction()

# kiln_always_linked(TARGET SYMBOL): programs that link the library get it though they do not name anything in it.
# An archive gives up the file that has the symbol, and a linker that leaves out libraries without use is told not to.
function(kiln_always_linked target symbol)
  set(options LINKER:--undefined=${symbol})
  if(EMSCRIPTEN)  # a module may do without it (kiln_web_module), as its size is what a page waits for
    set(options "$<$<NOT:$<IN_LIST:${target},$<TARGET_PROPERTY:KILN_LEAVES_OUT>>>:${options}>")
  endif()
  if(BUILD_SHARED_LIBS)
    list(PREPEND options LINKER:--no-as-needed)
  endif()
  target_link_options(${target} INTERFACE ${options})
  set_property(GLOBAL APPEND PROPERTY KILN_ALWAYS_LINKED ${symbol})
endfunction()

# kiln.pc: all of Kiln. Archives do not know what they need, so their file names it.
function(kiln_write_pkg_config)
  get_property(parts GLOBAL PROPERTY KILN_PARTS)
  get_property(symbols GLOBAL PROPERTY KILN_ALWAYS_LINKED)
  # Who wants these names them: MPI too, or -lkiln_models before the rest. Those of browsers are for pages.
  list(REMOVE_ITEM parts models browser browser_models ${KILN_SEPARATE_PARTS})
  list(REMOVE_ITEM symbols kiln_libtorch_devices)
  list(TRANSFORM symbols PREPEND -Wl,--undefined=)
  set(libraries)
  foreach(part IN LISTS parts)
    get_target_property(type kiln_${part} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(PREPEND libraries -lkiln_${part})  # who needs others stands before them
    endif()
  endforeach()
  set(KILN_PC_REQUIRES fmt)
  if(BUILD_SHARED_LIBS)
    list(PREPEND libraries -Wl,--push-state,--no-as-needed)
    list(APPEND libraries -Wl,--pop-state)
  else()
    list(APPEND KILN_PC_REQUIRES zlib)
    if(KILN_HIGHWAY STREQUAL "hwy::hwy")
      list(APPEND KILN_PC_REQUIRES libhwy)
    endif()
    foreach(library IN LISTS KILN_PICTURE_LIBRARIES)  # libpng of PNG::PNG
      string(REGEX REPLACE "::.*" "" library ${library})
      string(TOLOWER lib${library} library)
      list(APPEND KILN_PC_REQUIRES ${library})
    endforeach()
    if(KILN_HAS_NET)
      list(APPEND KILN_PC_REQUIRES openssl)
    endif()
    if(KILN_RE2_LIBRARY)
      list(APPEND KILN_PC_REQUIRES re2)
    endif()
    get_property(others GLOBAL PROPERTY KILN_SYSTEM_LIBRARIES)
    list(APPEND libraries ${others} -ldl -pthread)
  endif()
  file(RELATIVE_PATH KILN_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(JOIN KILN_PC_REQUIRES ", " KILN_PC_REQUIRES)
  list(JOIN symbols " " symbols)
  list(JOIN libraries " " libraries)
  set(KILN_PC_LIBS "${symbols} ${libraries}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/kiln.pc.in ${PROJECT_BINARY_DIR}/kiln.pc @ONLY)
endfunction()

# After all parts are there.
function(kiln_install_package)
  get_property(parts GLOBAL PROPERTY KILN_PARTS)
  list(REMOVE_ITEM parts cpu_kernel cpu_reference cpu_simd cpu_amx cpu_conv cpu_integer)  # of cpu
  set(KILN_COMPONENTS)
  foreach(part IN LISTS parts)
    get_target_property(component kiln_${part} EXPORT_NAME)
    list(APPEND KILN_COMPONENTS ${component})
  endforeach()
  kiln_separate_parts(KILN_SEPARATE)
  set_target_properties(kiln PROPERTIES EXPORT_NAME kiln)
  install(TARGETS kiln EXPORT kiln-targets)
  install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION ${KILN_PACKAGE_DIR} COMPONENT dev)
  foreach(part IN LISTS KILN_SEPARATE)
    install(EXPORT kiln-${part}-targets NAMESPACE kiln:: DESTINATION ${KILN_PACKAGE_DIR} COMPONENT ${part}_dev)
  endforeach()
  configure_package_config_file(cmake/kiln-config.cmake.in ${PROJECT_BINARY_DIR}/kiln-config.cmake
    INSTALL_DESTINATION ${KILN_PACKAGE_DIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/kiln-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/kiln-config.cmake ${PROJECT_BINARY_DIR}/kiln-config-version.cmake
    cmake/FindLibTorch.cmake cmake/FindOneDNN.cmake cmake/FindRE2.cmake cmake/KilnOnnx.cmake DESTINATION ${KILN_PACKAGE_DIR} COMPONENT dev)
  kiln_write_pkg_config()
  install(FILES ${PROJECT_BINARY_DIR}/kiln.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  install(DIRECTORY kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN *.hpp PATTERN *.def
    PATTERN backend/cpu/* EXCLUDE PATTERN backend/libtorch/* EXCLUDE)  # kernels, which nobody else includes
  if(TARGET kiln_libtorch)
    install(FILES kiln/backend/libtorch/runs.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kiln/backend/libtorch
      COMPONENT libtorch_dev)
  endif()
  kiln_install_documents()
endfunction()

# What is read: pages beside each other as they are in the tree, so that links between them hold; the site where it was built
# (`./dev docs`); examples, which a project of their own builds, with a link to them from the pages' folder.
function(kiln_install_documents)
  # Two packages may not have one file.
  install(FILES LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kiln-dev COMPONENT dev)
  install(FILES README.md ARCHITECTURE.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE DESTINATION ${CMAKE_INSTALL_DOCDIR}
    COMPONENT doc)
  foreach(folder IN ITEMS docs book)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
      install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc PATTERN Doxyfile EXCLUDE)
    endif()
  endforeach()
  install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench COMPONENT doc OPTIONAL)
  install(DIRECTORY bench/results/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench/results COMPONENT doc OPTIONAL)
  install(DIRECTORY build/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html COMPONENT doc OPTIONAL)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/kiln COMPONENT doc)
  file(RELATIVE_PATH examples /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_DATADIR}/kiln/examples)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/links)
  file(CREATE_LINK ${examples} ${PROJECT_BINARY_DIR}/links/examples SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/links/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
endfunction()
