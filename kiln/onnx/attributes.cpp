#include "kiln/onnx/attributes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {
namespace {

using Type = AttributeProto::Type;

// Almost every name has one type, whatever the operator.
constexpr struct {
  Type type;
  const char* names;
} kNames[] = {
    {Type::Float,
     "alpha beta bias clip cubic_coeff_a decay_factor default_float epsilon extrapolation_value gamma "
     "height_scale high lambd low mask_filter_value max mean min momentum norm_coefficient "
     "norm_coefficient_post ratio replaced_value_float scale seed softcap spatial_scale threshold value_float "
     "width_scale"},
    {Type::Int,
     "accuracy_level align_corners allowzero antialias axis batch_axis batch_dims bits block_size blocksize "
     "broadcast causal ceil_mode center_point_box channels_last chunk_size count_include_pad default_int64 "
     "detect_negative detect_positive do_rotary dtype end exclude_outside exclusive fmod group hidden_size "
     "ignore_index input_forget interleaved inverse is_case_sensitive is_causal is_packed_batching is_test k K "
     "keepdims kv_num_heads largest layout left_window_size linear_before_reset local_window_size "
     "max_gram_length max_map max_skip_count maxsplit min_gram_length multi_class N n_supports n_targets "
     "new_axis noop_with_empty_axes num_groups num_heads num_outputs num_scan_inputs offset_group one_class "
     "onesided opset output_datatype output_dtype output_height output_sequence output_width p "
     "past_present_share_buffer periodic precision q_num_heads qk_matmul_output_mode qk_output "
     "replaced_value_int64 reverse right_window_size rotary_embedding_dim rotary_interleaved sample_size "
     "sampling_ratio saturate select_last_index size smooth_softmax softmax_precision sorted spatial start "
     "stash_type storage_order targets time_axis to training_mode transA transB transBatchA transBatchB "
     "unidirectional upper value_int zeros"},
    {Type::String,
     "activation aggregate_function approximate auto_pad case_change_action cast_to "
     "coordinate_transformation_mode default_string delimiter direction equation k_quant_type "
     "keep_aspect_ratio_policy kernel_type locale map_form mode nearest_mode norm padding_mode pattern "
     "pixel_format post_transform reduction round_mode update_rule v_quant_type value_string y"},
    {Type::Tensor,
     "base_values_as_tensor class_weights_as_tensor default_tensor keys_tensor leaf_weights membership_values "
     "nodes_hitrates_as_tensor nodes_splits nodes_values_as_tensor target_weights_as_tensor value "
     "values_tensor"},
    {Type::Graph, "body else_branch prob_mod score_mod then_branch"},
    {Type::Floats,
     "activation_alpha activation_beta activation_params base_values class_weights coefficients "
     "imputed_value_floats intercepts kernel_params keys_floats nodes_hitrates nodes_values offset prob_a "
     "prob_b rho scales support_vectors target_weights value_floats values_floats weights"},
    {Type::Ints,
     "axes cats_int64s class_ids class_nodeids class_treeids classlabels_int64s classlabels_ints "
     "consumed_inputs dilations directions ends imputed_value_int64s inputdimensions int64_vocabulary "
     "kernel_shape keys_int64s leaf_targetids ngram_counts ngram_indexes nodes_falseleafs nodes_falsenodeids "
     "nodes_featureids nodes_missing_value_tracks_true nodes_nodeids nodes_treeids nodes_trueleafs "
     "nodes_truenodeids output_padding output_shape paddings pads perm pool_int64s pooled_shape "
     "qkv_hidden_sizes scan_input_axes scan_input_directions scan_output_axes scan_output_directions shape "
     "split starts strides target_ids target_nodeids target_treeids tree_roots value_ints values_int64s "
     "vectors_per_class"},
    {Type::Strings,
     "activations cats_strings classes_strings classlabels_strings keys_strings nodes_modes pool_strings "
     "stopwords string_vocabulary value_strings values_strings xs zs"},
    {Type::SparseTensor, "sparse_value"},
    {Type::Type, "type"},
};

// Those that differ from operator to operator, or from version to version.
constexpr struct {
  std::string_view name, domain, op;
  Type type;
  std::int64_t until = 1'000'000;  // the last version of the operator set
} kOthers[] = {
    {"activation_alpha", "com.microsoft", "FusedGemm", Type::Float},
    {"activation_beta", "com.microsoft", "FusedGemm", Type::Float},
    {"activation_gamma", "com.microsoft", "FusedGemm", Type::Float},
    {"aggregate_function", "ai.onnx.ml", "TreeEnsemble", Type::Int},
    {"nodes_hitrates", "ai.onnx.ml", "TreeEnsemble", Type::Tensor},
    {"nodes_modes", "ai.onnx.ml", "TreeEnsemble", Type::Tensor},
    {"p", "", "GlobalLpPool", Type::Float, 1},
    {"p", "", "LpPool", Type::Float, 1},
    {"post_transform", "ai.onnx.ml", "TreeEnsemble", Type::Int},
    {"scale", "ai.onnx.ml", "Scaler", Type::Floats},
    {"seed", "", "Dropout", Type::Int},
    {"to", "", "Cast", Type::String, 5},
    {"value", "", "Pad", Type::Float},
};

// Sizes, counts, indices and flags have at most 32 bits, whatever the operator, so that sums of them and products of
// two of them have at most 64. Integers that are data, or ends of slices, have no limit.
constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1, kLeast = -kMost - 1;
struct IntRange {
  std::int64_t least = kLeast, most = kMost;
};
constexpr IntRange kAny{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
constexpr struct {
  IntRange range;
  const char* names;
} kRanges[] = {
    {kAny,
     "cats_int64s classlabels_int64s classlabels_ints default_int64 end ends ignore_index imputed_value_int64s "
     "int64_vocabulary keys_int64s maxsplit pool_int64s replaced_value_int64 seed shape start starts value_int "
     "value_ints "
     "values_int64s"},
    {{0, kMost},
     "block_size consumed_inputs hidden_size kv_num_heads max_skip_count num_heads output_padding output_shape "
     "q_num_heads "
     "rotary_embedding_dim split"},
    {{1, kMost},
     "K N blocksize dilations group kernel_shape max_gram_length min_gram_length num_groups num_outputs "
     "num_scan_inputs offset_group output_height output_width pooled_shape sample_size size strides"},
    {{kLeast, 1 << 12}, "sampling_ratio"},  // its square is the number of samples
    {{0, 1 << 8}, "dtype output_datatype output_dtype precision softmax_precision to"},  // element types
};
// The description that the rows of a table give of each of their words.
template <class Fact, class Row, std::size_t count>
std::map<std::string, Fact, std::less<>> facts_of(const Row (&table)[count]) {
  std::map<std::string, Fact, std::less<>> all;
  for (const auto& [fact, names] : table) {
    std::istringstream words(names);
    for (std::string word; words >> word;) all.emplace(word, fact);
  }
  return all;
}
const std::map<std::string, Type, std::less<>>& usual_types() {
  static const auto types = facts_of<Type>(kNames);
  return types;
}
IntRange range_of_attribute(std::string_view name) {
  static const auto ranges = facts_of<IntRange>(kRanges);
  const auto found = ranges.find(name);
  return found == ranges.end() ? IntRange{} : found->second;
}

// Undefined where no operator has an attribute of that name.
Type attribute_type(const Node& node, std::string_view name) {
  for (const auto& other : kOthers)
    if (other.name == name && other.domain == node.domain && other.op == node.op && node.version <= other.until)
      return other.type;
  const auto found = usual_types().find(name);
  return found == usual_types().end() ? Type::Undefined : found->second;
}

}  // namespace

std::string wrong_attribute(const Node& node) {
  for (const auto& [name, attribute] : node.attributes) {
    const Type expected = attribute_type(node, name);
    if (expected != Type::Undefined && attribute.type != expected)
      return text("attribute '", shown(name), "' is ", type_name(attribute.type), ", not ", type_name(expected));
    if (expected == Type::Undefined) continue;
    const IntRange range = range_of_attribute(name);
    const auto is_wrong = [&](std::int64_t number) { return number < range.least || number > range.most; };
    std::optional<std::int64_t> wrong;
    if (attribute.type == Type::Int && is_wrong(attribute.i)) wrong = attribute.i;
    if (attribute.type == Type::Ints)
      if (const auto found = std::ranges::find_if(attribute.ints, is_wrong); found != attribute.ints.end())
        wrong = *found;
    if (wrong)
      return text("attribute '", shown(name), "' ", attribute.type == Type::Ints ? "holds " : "is ", *wrong, ", not ",
                  range.least, " to ", range.most);
  }
  return "";
}

std::vector<std::pair<std::string, Type>> integer_attributes() {
  std::vector<std::pair<std::string, Type>> list;
  for (const auto& [name, type] : usual_types())
    if (type == Type::Int || type == Type::Ints) list.emplace_back(name, type);
  return list;
}

std::string type_name(Type type) {
  static constexpr const char* kWords[] = {"nothing", "a float",         "an integer",     "a string", "a tensor",
                                           "a graph", "floats",          "integers",       "strings",  "tensors",
                                           "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(kWords) ? kWords[number] : text("something of type ", number);
}

}  // namespace kiln::onnx
