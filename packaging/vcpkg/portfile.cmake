# An overlay port: vcpkg install kiln --overlay-ports=packaging/vcpkg. It builds the tree that it lies in.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
  curl KILN_CURL
  lapack KILN_LAPACK
  net KILN_NET
  onednn KILN_ONEDNN
  pcre2 KILN_PCRE2
  pictures KILN_PICTURES
  re2 KILN_RE2
  sqlite KILN_SQLITE)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DKILN_MPI=OFF -DKILN_LIBTORCH=OFF -DKILN_TESTS=OFF -DKILN_EXAMPLES=OFF -DKILN_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kiln)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
