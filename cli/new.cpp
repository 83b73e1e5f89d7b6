#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.hpp"
#include "cli/templates.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/file.hpp"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

/// Targets and folders that CMake, CTest or Kiln's package make, which no program may be called.
constexpr std::string_view kReserved[] = {
    "all",        "ALL_BUILD",      "clean",      "CMakeFiles",    "depend",
    "edit_cache", "help",           "install",    "kiln",          "list_install_components",
    "package",    "package_source", "preinstall", "rebuild_cache", "RUN_TESTS",
    "test",       "Testing",        "ZERO_CHECK"};

/// The template whose files belong to every project.
constexpr std::string_view kCommon = "common";
/// The file of a template that names the libraries which it links.
constexpr std::string_view kLinks = "links";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void require_target_name(const std::string& name) {
  const bool sound = !name.empty() && name.size() <= 64 && is_letter(name[0]) && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-';
  });
  require<ArgumentError>(sound, "new: '", shown(name),
                         "' cannot be the name of a CMake target: use at most 64 letters (a to z), digits, _ and -, "
                         "and begin with a letter");
  require<ArgumentError>(std::ranges::find(kReserved, name) == std::end(kReserved),
                         "new: CMake or Kiln uses the name '", name, "' already: choose another one");
}

std::string replaced(std::string_view text, std::string_view word, std::string_view by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(word, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += by;
    at = found + word.size();
  }
  return out;
}

/// The libraries that a template links.
std::string_view links_of(std::string_view project) {
  for (const TemplateFile& file : template_files())
    if (file.project == project && file.file == kLinks) return file.text.substr(0, file.text.find('\n'));
  return "kiln::kiln";
}

void write_files(const fs::path& folder, const NewOptions& options) {
  const std::string_view links = links_of(options.project);
  for (const TemplateFile& file : template_files()) {
    if ((file.project != options.project && file.project != kCommon) || file.file == kLinks) continue;
    const std::string name = file.file == "gitignore" ? ".gitignore" : std::string(file.file);
    write_file_atomically((folder / name).string(),
                          replaced(replaced(file.text, "kiln_links", links), "kiln_project", options.name));
  }
}

}  // namespace

std::vector<std::string> project_templates() {
  std::set<std::string> names;
  for (const TemplateFile& file : template_files())
    if (file.project != kCommon) names.emplace(file.project);
  return {names.begin(), names.end()};
}

std::string new_project(const NewOptions& options) {
  require_target_name(options.name);
  const std::vector<std::string> known = project_templates();
  if (std::ranges::find(known, options.project) == known.end()) {
    std::string all;
    for (const std::string& name : known) all += text(all.empty() ? "" : ", ", name);
    fail<ArgumentError>("new: there is no template '", shown(options.project), '\'',
                        did_you_mean(options.project, std::vector<std::string_view>(known.begin(), known.end())),
                        "; the templates are ", all);
  }
  const fs::path folder = options.name;
  std::error_code problem;
  const bool made = fs::create_directory(folder, problem);  // false where the folder exists
  require<ArgumentError>(made || (problem && problem != std::errc::file_exists), "new: '", options.name,
                         "' exists already: choose another name, or remove it");
  require<IoError>(!problem, "new: the folder '", options.name, "' cannot be made: ", problem.message());
  try {
    write_files(folder, options);
  } catch (...) {
    fs::remove_all(folder, problem);
    throw;
  }
  return text("wrote ", options.name, "/ (", options.project, "). Next:\n  cd ", options.name,
              "\n  cmake -B build -G Ninja && cmake --build build\n  build/", options.name,
              "\n  ctest --test-dir build\n");
}

}  // namespace kiln::cli
