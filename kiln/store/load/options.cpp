#include "kiln/store/load/options.hpp"

namespace kiln {

void append(std::string& out, const LoadReport& report) {
  out += text(report.loaded.size(), " loaded\n");
  for (const auto& sentence : report.missing) out += text(sentence, '\n');
  for (const auto& sentence : report.mismatched) out += text(sentence, '\n');
  for (const auto& name : report.unused) out += text('\'', name, "' is in the file and not used\n");
  for (const auto& sentence : report.warnings) out += text("warning: ", sentence, '\n');
}

bool wants(const LoadOptions& options, const Candidate& candidate) {
  return options.only.matches(candidate) && !options.except.matches(candidate);
}
bool wants(const LoadOptions& options, std::string_view path) {
  return options.only.matches(path) && !options.except.matches(path);
}

}  // namespace kiln
