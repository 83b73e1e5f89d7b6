#include "cli/sizes.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::cli {

std::map<std::string, std::int64_t, std::less<>> sizes_of(const std::vector<std::string>& words,
                                                          const std::string& command) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const std::string& each : words) {
    const std::size_t equals = each.rfind('=');
    const std::string digits = equals == std::string::npos ? "" : each.substr(equals + 1);
    const bool number =
        !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
    require<ArgumentError>(number, command, ": --size takes 'name=number', got '", shown(each), "'");
    sizes[each.substr(0, equals)] = std::stoll(digits);
  }
  return sizes;
}

}  // namespace kiln::cli
