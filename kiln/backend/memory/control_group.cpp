#include "kiln/backend/memory/control_group.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// A mounted hierarchy of groups: `root` is the group that is visible at `place`.
struct Mount {
  std::string root, place;
  bool first_version;
};

bool holds_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// A field of mountinfo, in which blanks are written as "\040".
std::string unescaped(std::string_view field) {
  std::string out;
  const auto digit = [&](std::size_t at) { return at < field.size() && field[at] >= '0' && field[at] <= '7'; };
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 3;
    } else out += field[i];
  }
  return out;
}

std::vector<Mount> mounts_of(const fs::path& process) {
  std::vector<Mount> mounts;
  std::ifstream file(process / "mountinfo");
  for (std::string line; std::getline(file, line);) {
    // number parent device ROOT PLACE options [tags...] - TYPE source OPTIONS
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream before(line.substr(0, dash)), behind(line.substr(dash + 3));
    std::string skipped, root, place, type, options;
    if (!(before >> skipped >> skipped >> skipped >> root >> place) || !(behind >> type >> skipped >> options))
      continue;
    const bool first = type == "cgroup" && holds_word(options, "memory");
    if (first || type == "cgroup2") mounts.push_back({unescaped(root), unescaped(place), first});
  }
  return mounts;
}

std::optional<std::size_t> limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  const bool is_number = error == std::errc() && end == word.data() + word.size();  // elsewhere "max"
  return is_number ? std::optional(bytes) : std::nullopt;
}

/// The path of `group` below `root`, which a container sees as its own "/". Empty for the root itself, and where the
/// group is outside: then only the root is visible.
fs::path below(const std::string& group, const std::string& root) {
  fs::path way = fs::path(group).lexically_normal().lexically_relative(root);
  if (way.empty() || way == "." || *way.begin() == "..") return {};
  return way;
}

}  // namespace

std::optional<std::size_t> control_group_memory(const fs::path& process) {
  std::optional<std::size_t> least;
  const std::vector<Mount> mounts = mounts_of(process);
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    // hierarchy:controllers:group, with hierarchy 0 and no controllers in version 2
    const std::size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const bool is_second = controllers.empty();
    if (!is_second && !holds_word(controllers, "memory")) continue;
    for (const Mount& mount : mounts) {
      if (mount.first_version == is_second) continue;
      for (fs::path way = below(group, mount.root);; way = way.parent_path()) {
        const auto limit = limit_in(fs::path(mount.place) / way / (is_second ? "memory.max" : "memory.limit_in_bytes"));
        if (limit && *limit > 0) least = std::min(least.value_or(*limit), *limit);
        if (way.empty()) break;
      }
    }
  }
  return least;
}

}  // namespace kiln
