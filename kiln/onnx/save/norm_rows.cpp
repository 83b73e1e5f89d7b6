// Normalisations.
#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

AttributeProto epsilon_of(const WriterStep& s, int i) { return attribute("epsilon", s.value(i)); }

std::string filled(const WriterStep& s, std::int64_t count, double value) {
  const std::vector<float> numbers(static_cast<std::size_t>(count), static_cast<float>(value));
  return s.out.constant(TensorData::of<float>({count}, std::span(numbers)).to(s.result_desc().dtype),
                        value == 0 ? "zeros" : "ones");
}

/// The result of a normalisation of x by weight and bias, which may be empty. ONNX's rule rounds halves before weight
/// and bias as well (stash_type), Kiln only the result: so that of floats is written, between two casts.
void normalised(const WriterStep& s, const char* name, const std::string& weight, const std::string& bias,
                const NamedAttributes& attributes) {
  const DType own = s.result_desc().dtype, wide = size_of(own) == 2 ? DType::F32 : own;
  const auto widened = [&](const std::string& x) { return x.empty() ? x : cast_name(s.out, x, own, wide); };
  Strings inputs{widened(s.in(0)), widened(weight)};
  if (!bias.empty()) inputs.push_back(widened(bias));
  s.result(cast_name(s.out, s.one(name, inputs, attributes), wide, own));
}

void layer_norm_row(const op::LayerNorm&, const WriterStep& s) {
  normalised(s, "LayerNormalization", s.in(1), s.get(2), {attribute("axis", -s.rank(1)), epsilon_of(s, 3)});
}

// Rows of one group that keep their mean are an RMS norm.
void group_norm_row(const op::GroupNorm& op, const WriterStep& s) {
  const std::int64_t channels = s.desc(0).shape[1];
  const std::string weight = s.has(1) ? s.in(1) : filled(s, channels, 1);
  if (!op.centred) return normalised(s, "RMSNormalization", weight, "", {epsilon_of(s, 3)});
  const std::string bias = s.has(2) ? s.in(2) : filled(s, channels, 0);
  const bool each = s.out.opset() < 21;  // where GroupNormalization has a weight a group, not a channel
  NamedAttributes attributes{epsilon_of(s, 3)};
  if (!each) attributes.push_back(attribute("num_groups", op.groups));
  normalised(s, each ? "InstanceNormalization" : "GroupNormalization", weight, bias, attributes);
}
std::string group_norm_refused(const op::GroupNorm& op, const Program& p, const Program::Line& line, int opset) {
  const Shape& x = p.desc(line.in[0]).shape;
  if (!op.centred) {
    const bool rows = x.size() == 2 && op.groups == 1 && !line.has(2);
    return rows && opset >= 23 ? "" : "as what it is made of";
  }
  return opset >= 21 || (op.groups == x[1] && x.size() > 2) ? "" : "as what it is made of";
}

constexpr SaveRow kNormSaveRows[] = {
    save_row<op::LayerNorm, layer_norm_row>(),
    save_row<op::GroupNorm, group_norm_row, group_norm_refused>(),
};

}  // namespace

std::span<const SaveRow> norm_save_rows() { return kNormSaveRows; }

}  // namespace kiln::onnx
