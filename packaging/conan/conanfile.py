"""conan create packaging/conan: builds and packs the tree that the recipe lies in."""
import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

ROOT = pathlib.Path(__file__).parent.parent.parent


class Kiln(ConanFile):
    name = "kiln"
    description = "A tensor library and deep-learning framework"
    license = "MIT OR Apache-2.0"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "curl": [True, False], "lapack": [True, False], "net": [True, False], "onednn": [True, False],
               "pcre2": [True, False], "pictures": [True, False], "re2": [True, False], "sqlite": [True, False]}
    default_options = {"shared": False, "curl": False, "lapack": True, "net": False, "onednn": False,
                       "pcre2": False, "pictures": False, "re2": False, "sqlite": False}

    def set_version(self):
        self.version = re.search(r'KILN_VERSION "([\d.]+)"', (ROOT / "kiln/version.hpp").read_text())[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "*.md", "LICENSE-*", "cmake/*", "cli/*", "docs/*", "examples/*", "kiln/*", "models/*"):
            copy(self, pattern, ROOT, self.export_sources_folder)

    def requirements(self):
        self.requires("fmt/[>=9 <12]", transitive_headers=True)
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("zlib/[>=1.2.13 <2]")
        if self.options.curl:
            self.requires("libcurl/[>=8 <9]")
        if self.options.lapack:
            self.requires("openblas/[>=0.3.20 <1]", options={"build_lapack": True})
        if self.options.net:
            self.requires("boost/[>=1.74 <2]", options={"header_only": True})
            self.requires("openssl/[>=3 <4]")
        if self.options.onednn:
            self.requires("onednn/[>=2.6 <4]")
        if self.options.pcre2:
            self.requires("pcre2/[>=10.42 <11]")
        if self.options.pictures:
            self.requires("libjpeg-turbo/[>=2.1 <4]")
            self.requires("libpng/[>=1.6 <2]")
        if self.options.re2:
            self.requires("re2/[>=20230301]")
        if self.options.sqlite:
            self.requires("sqlite3/[>=3.40 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        packages = CMakeDeps(self)
        packages.set_property("highway", "cmake_file_name", "HWY")  # as Highway's own package is called
        packages.set_property("highway::hwy", "cmake_target_name", "hwy::hwy")
        packages.generate()
        toolchain = CMakeToolchain(self)
        for library in ("curl", "lapack", "net", "onednn", "pcre2", "pictures", "re2", "sqlite"):
            toolchain.cache_variables[f"KILN_{library.upper()}"] = bool(self.options.get_safe(library))
        for part in ("MPI", "TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"KILN_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # Kiln's own package has the components
        self.cpp_info.builddirs = ["lib/cmake/kiln"]
