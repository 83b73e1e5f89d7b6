#include <algorithm>

#include "cli/commands.hpp"
#include "cli/selected.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/gguf/gguf.hpp"
#include "kiln/store/load/options.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/store/safetensors/sharded.hpp"

namespace kiln::cli {
namespace {

Rename rename_of(const std::string& rule) {
  const std::size_t equals = rule.rfind('=');
  require<ArgumentError>(equals != rule.npos, "--rename '", shown(rule), "': write 'pattern=replacement'");
  return {rule.substr(0, equals), rule.substr(equals + 1)};
}

DType dtype_of_name(const std::string& wanted) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
  fail<ArgumentError>("--floats '", shown(wanted), "' is not an element type");
}

void write(const TensorSource& source, const ConvertOptions& options) {
  require<ArgumentError>(options.quantise.empty() || options.to.ends_with(".gguf"), "--quantise: only .gguf files");
  if (options.shard_bytes > 0) return write_sharded(source, options.to, options.shard_bytes);
  if (!options.compress) return write_tensors(source, options.to);
  require<ArgumentError>(options.to.ends_with(".kiln"), "--compress: only .kiln files are compressed");
  write_file_atomically(options.to, [&](FileReplacement& file) {
    write_record(source, [&](std::span<const std::byte> piece) { file.write(piece); }, {.compress = true});
  });
}

}  // namespace

std::string convert(const ConvertOptions& options) {
  LoadOptions edits{.under = options.under, .pytorch_layers = options.pytorch_layers};
  for (const std::string& rule : options.rename) edits.rename.push_back(rename_of(rule));
  TensorSource source = edited(open_tensors(options.from), edits, options.from);
  source = selected(source, options.only, options.except);
  if (!options.quantise.empty()) source = quantised_for_gguf(source, options.quantise);
  if (!options.floats.empty()) source = with_floats(source, dtype_of_name(options.floats));
  write(source, options);
  std::string out = text(shown(options.to), ": ", source.tensors.size(), " tensors\n");
  for (const auto& [name, reason] : source.left_out) out += text("left out: '", shown(name), "' ", reason, '\n');
  return out;
}

}  // namespace kiln::cli
