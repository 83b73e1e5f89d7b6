#include "kiln/store/load/options.hpp"
#include "kiln/store/load/pytorch_layers.hpp"

namespace kiln {

TensorSource edited(TensorSource source, const LoadOptions& options, std::string_view file) {
  if (!options.under.empty()) source = under(source, options.under, file);
  if (options.pytorch_layers) source = with_pytorch_layers(source, file);
  if (!options.split.empty()) source = split(source, options.split, file);
  if (!options.rename.empty()) source = renamed(source, options.rename);
  if (options.close_gaps) source = renumbered(source);
  for (const auto& [name, other] : options.aliases)
    if (const auto found = source.tensors.find(other); found != source.tensors.end())
      source.tensors.emplace(name, found->second);
  for (const Layout& layout : options.layouts) source = with_layout(source, layout);
  return source;
}

}  // namespace kiln
