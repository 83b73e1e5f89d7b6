#include "kiln/store/load/options.hpp"

namespace kiln {

void append(std::string& out, const LoadReport& report) {
  out += text(report.loaded.size(), " loaded\n");
  for (const auto& sentence : report.missing) out += text(sentence, '\n');
  for (const auto& sentence : report.mismatched) out += text(sentence, '\n');
  for (const auto& name : report.unused) out += text('\'', name, "' is in the file and not used\n");
  for (const auto& sentence : report.warnings) out += text("warning: ", sentence, '\n');
}

TensorSource edited(TensorSource source, const LoadOptions& options, std::string_view file) {
  if (!options.under.empty()) source = under(source, options.under, file);
  if (!options.split.empty()) source = split(source, options.split, file);
  if (!options.rename.empty()) source = renamed(source, options.rename);
  if (!options.only.empty() || !options.except.empty()) source = filtered(source, options.only, options.except);
  for (const Layout& layout : options.layouts) source = laid_out(source, layout);
  return source;
}

}  // namespace kiln
