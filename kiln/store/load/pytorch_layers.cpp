#include "kiln/store/load/pytorch_layers.hpp"

#include <span>
#include <utility>

#include "kiln/core/regex/regex.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln {
namespace {

using Names = std::span<const std::pair<std::string_view, std::string_view>>;

constexpr std::pair<std::string_view, std::string_view> kAttention[] = {{"out_proj.", "output."},
                                                                        {"q_proj_weight", "query.weight"},
                                                                        {"k_proj_weight", "key.weight"},
                                                                        {"v_proj_weight", "value.weight"}};
constexpr std::pair<std::string_view, std::string_view> kEncoderLayer[] = {{"self_attn.", "attention."},
                                                                           {"linear1.", "feed_forward.inner."},
                                                                           {"linear2.", "feed_forward.outer."},
                                                                           {"norm1.", "attention_norm."},
                                                                           {"norm2.", "feed_forward_norm."}};
constexpr std::pair<std::string_view, std::string_view> kDecoderLayer[] = {
    {"self_attn.", "attention."},        {"multihead_attn.", "cross_attention."}, {"linear1.", "feed_forward.inner."},
    {"linear2.", "feed_forward.outer."}, {"norm1.", "attention_norm."},           {"norm2.", "cross_attention_norm."},
    {"norm3.", "feed_forward_norm."}};
const std::vector<TensorSplit>& attention_parts() {
  static const std::vector<TensorSplit> kParts = {
      {R"((^|\.)in_proj_(weight|bias)$)", {"$1query.$2", "$1key.$2", "$1value.$2"}}};
  return kParts;
}
constexpr std::string_view kBatches = "num_batches_tracked";

bool is_count_of_batches(std::string_view name) {
  return name.ends_with(kBatches) && (name.size() == kBatches.size() || name[name.size() - kBatches.size() - 1] == '.');
}

/// Replaces the first of `names` that follows `prefix` in `name`.
std::string replaced(const std::string& name, std::size_t prefix, Names names) {
  const std::string_view rest = std::string_view(name).substr(prefix);
  for (const auto& [theirs, ours] : names)
    if (rest.starts_with(theirs)) return text(name.substr(0, prefix), ours, rest.substr(theirs.size()));
  return name;
}

class Layers {
 public:
  explicit Layers(const TensorSource& source) : source_(source) {}

  std::string renamed(std::string name) const {
    // This goes from the innermost module outwards, so that the names before each module are still those of the file.
    for (std::size_t end = name.size(); end != 0;) {
      const std::size_t dot = name.rfind('.', end - 1);
      end = dot == name.npos ? 0 : dot;
      const std::size_t begin = dot == name.npos ? 0 : dot + 1;
      const std::string module = name.substr(0, begin);
      const Names names = names_in(module);
      name = replaced(name, begin, names);
      if (begin && !names.empty() && !is_attention(module)) name = listed(std::move(name), dot);
    }
    return recurrent(name);
  }

 private:
  bool has(const std::string& name) const { return source_.tensors.contains(name); }
  bool is_attention(const std::string& prefix) const {
    return has(prefix + "in_proj_weight") || (has(prefix + "q_proj_weight") && has(prefix + "out_proj.weight"));
  }
  bool is_encoder_layer(const std::string& prefix) const {
    return is_attention(prefix + "self_attn.") && has(prefix + "linear1.weight");
  }
  bool is_decoder_layer(const std::string& prefix) const {
    return is_encoder_layer(prefix) && is_attention(prefix + "multihead_attn.");
  }
  /// Returns the names in the module with that prefix, if it is one of PyTorch's modules.
  Names names_in(const std::string& prefix) const {
    if (is_attention(prefix)) return kAttention;
    if (is_decoder_layer(prefix)) return kDecoderLayer;
    if (is_encoder_layer(prefix)) return kEncoderLayer;
    return {};
  }
  /// The layer whose name ends at `end` may be an element of a list, "layers.3".
  static std::string listed(std::string name, std::size_t end) {
    constexpr std::string_view kList = "layers";
    const std::size_t number = end ? name.rfind('.', end - 1) : name.npos;
    if (number == name.npos || number < kList.size()) return name;
    const std::size_t start = number - kList.size();
    if (name.compare(start, kList.size(), kList) == 0 && (start == 0 || name[start - 1] == '.'))
      name.replace(start, kList.size(), "blocks");
    return name;
  }
  static std::string recurrent(std::string name) {
    static const std::pair<Regex, std::string_view> kRules[] = {
        {Regex(R"((^|\.)((weight|bias)_(ih|hh))$)"), "$1layer.$2"},
        {Regex(R"((^|\.)((weight|bias)_(ih|hh|hr))_l(\d+)$)"), "$1layers.$5.$2"},
        {Regex(R"((^|\.)((weight|bias)_(ih|hh|hr))_l(\d+)_reverse$)"), "$1reversed.$5.$2"}};
    for (const auto& [pattern, replacement] : kRules)
      if (pattern.search(name)) return pattern.replace(name, replacement);
    return name;
  }

  const TensorSource& source_;
};

}  // namespace

TensorSource with_pytorch_layers(const TensorSource& source, std::string_view file) {
  const Layers layers(source);
  TensorSource result{.tensors = {}, .metadata = source.metadata, .format = source.format};
  result.left_out = source.left_out;
  for (const auto& [name, tensor] : source.tensors)
    if (!is_count_of_batches(name)) result.tensors.emplace(layers.renamed(name), tensor);
  return split(result, attention_parts(), file);
}

bool has_pytorch_layers(const TensorSource& source) {
  const Layers layers(source);
  for (const auto& [name, tensor] : source.tensors)
    if (is_count_of_batches(name) || layers.renamed(name) != name || name.ends_with("in_proj_weight")) return true;
  return false;
}

}  // namespace kiln
