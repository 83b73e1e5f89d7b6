#include <re2/re2.h>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/operators/text/full_match.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMostMemory = 8 << 20;  // bytes of a compiled pattern and of what a match remembers

}  // namespace

std::vector<std::uint8_t> full_matches(std::string_view op, const std::string& pattern, const Strings& words) {
  RE2::Options options;
  options.set_max_mem(kMostMemory);
  options.set_log_errors(false);
  options.set_never_capture(true);
  const RE2 regex(pattern, options);
  require<ArgumentError>(regex.ok(), op, ": RE2 does not take the pattern '", shown(pattern),
                         "': ", shown(regex.error()));
  std::vector<std::uint8_t> matches;
  for (const std::string& word : words) matches.push_back(RE2::FullMatch(word, regex));
  return matches;
}

}  // namespace kiln::onnx
