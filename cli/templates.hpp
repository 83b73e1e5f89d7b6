// The projects that `kiln new` writes: the folders of cli/templates, which the build puts into the program.
// The files of the folder `common` belong to each of them. A template's file `links` is not written: it names the libraries
// of Kiln that its CMakeLists.txt links, where those are not kiln::kiln alone.
#pragma once
#include <span>
#include <string_view>

namespace kiln::cli {

/// In every file, the word kiln_project stands for the project's name, and kiln_links for the libraries.
struct TemplateFile {
  std::string_view project, file, text;  // "regression", "main.cpp", what is in it
};
std::span<const TemplateFile> template_files();

}  // namespace kiln::cli
