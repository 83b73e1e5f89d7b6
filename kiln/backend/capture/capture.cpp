// The recording decorator: a device whose values are placeholders.
#include <algorithm>
#include <map>

#include "kiln/backend/capture/body.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/checkpointing.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// The number of a recorded value, in place of memory.
struct Placeholder : Storage {
  explicit Placeholder(std::int32_t id) : id(id) {}
  std::int32_t id;
};

/// Runs nothing: its values are its own, and it accesses the device that it represents only explicitly.
class RecordingBackend final : public LeafBackend {
 public:
  RecordingBackend(const Device& inner, const CaptureOptions& options)
      : inner_(inner.inner()), expands_(options.expands) {
    body_.device = inner_;
    if (options.random) seed(inner_.backend().next_key().bits);
    set_float32_precision(inner_.backend().float32_precision());
  }

  std::string name() const override { return "capture of " + inner_.name(); }
  void sync() override {}
  bool accepts(const Device& other) const override { return other == inner_; }
  bool has_kernel(const op::Op& op) const override {
    const bool has_expansion = is_composite(op) || is_planned(op);
    return !expands_ || !has_expansion || !expands_(op);
  }
  MemoryStatistics memory() const override { return inner_.backend().memory(); }

  void run(const op::Op& op, Call call) override {
    require<DeviceError>(!ended_, name(op), ": its operand belongs to a capture that has ended");
    GraphStep step{.op = op, .in = {}, .results = {}, .first = 0, .recorded = grad_enabled()};
    for (const Value& value : call.in) step.in.push_back(operand(value));
    for (const FailsWith* scope = FailsWith::innermost(); scope; scope = scope->outer())
      for (const Value& cause : scope->causes())
        if (cause.node() && &cause.device().backend() == this) step.causes.push_back(operand(cause));
    step.first = body_.count;  // operands may have been new constants
    for (Value& value : call.out) {
      step.results.push_back(value.node()->desc);
      value.node()->storage = make_ref<Placeholder>(body_.count++);
    }
    body_.steps.push_back(std::move(step));
  }

  Ref<Node> upload(TensorData data, const Device& device) override {
    const Value constant(inner_.backend().upload(std::move(data), inner_));
    return placeholder(constant.node()->desc, device, add_constant(constant));
  }
  TensorData download(const Value& value) override {
    fail<DeviceError>("capture: ", value, " was recorded, not computed: it can be read when the graph is replayed");
  }

  /// Returns a new input like `example`.
  Value input(const Value& example, const Device& device) {
    const Desc desc{example.shape(), example.dtype()};
    body_.inputs.push_back(desc);
    Ref<Node> node = placeholder(desc, device, body_.count++);
    return example.tracked() ? Value(node, make_leaf(desc, device)) : Value(node);
  }

  GraphBody finish(const Values& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      require<ArgumentError>(results[i] && !results[i].is_scalar(), "capture: result ", i, " of the function is ",
                             results[i], ", not a tensor");
      body_.outputs.push_back(operand(results[i]));
      body_.output_descs.push_back({results[i].shape(), results[i].dtype()});
    }
    ended_ = true;
    constant_ids_.clear();
    return ordered(std::move(body_));
  }

 private:
  static std::string name(const op::Op& op) { return std::string(op::function_name(op)); }

  static Ref<Node> placeholder(const Desc& desc, const Device& device, std::int32_t id) {
    auto node = make_ref<Node>(desc, device);
    node->storage = make_ref<Placeholder>(id);
    return node;
  }

  std::int32_t add_constant(const Value& value) {
    const auto [entry, fresh] = constant_ids_.try_emplace(value.node().get(), body_.count);
    if (fresh) {
      constant_numbers_.push_back(body_.count++);
      body_.constants.push_back(value);  // keeps the node alive, so that its address stays unique
    }
    return entry->second;
  }

  GraphOperand operand(const Value& value) {
    GraphOperand result;
    if (value.empty()) return result;
    if (value.is_scalar()) {
      result.id = GraphOperand::kNumber;
      result.number = value.scalar();
      return result;
    }
    result.tracked = value.tracked();
    // Every value on this backend was created here.
    if (&value.device().backend() == this) result.id = static_cast<const Placeholder&>(*value.node()->storage).id;
    else result.id = add_constant(value);
    return result;
  }

  /// Drops steps that lead to no output, and numbers values as GraphBody says.
  GraphBody ordered(GraphBody all) const {
    std::vector<char> used(static_cast<std::size_t>(all.count));
    const auto use = [&](const std::vector<GraphOperand>& operands) {
      for (const auto& operand : operands)
        if (operand.id >= 0) used[static_cast<std::size_t>(operand.id)] = 1;
    };
    const auto is_used = [&](std::int32_t id) { return used[static_cast<std::size_t>(id)] != 0; };
    use(all.outputs);
    std::vector<char> live(all.steps.size());
    for (std::size_t i = all.steps.size(); i-- > 0;) {
      const GraphStep& step = all.steps[i];
      for (std::int32_t k = 0; k < step.results.size(); ++k) live[i] |= is_used(step.first + k);
      if (!live[i]) continue;
      use(step.in);
      use(step.causes);
    }

    GraphBody kept;
    kept.device = all.device;
    kept.inputs = all.inputs;
    kept.outputs = all.outputs;
    kept.output_descs = all.output_descs;
    kept.count = static_cast<std::int32_t>(all.inputs.size());
    std::vector<std::int32_t> number(used.size());
    for (std::size_t i = 0; i < all.inputs.size(); ++i) number[i] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < all.constants.size(); ++i) {
      if (!is_used(constant_numbers_[i])) continue;
      number[static_cast<std::size_t>(constant_numbers_[i])] = kept.count++;
      kept.constants.push_back(all.constants[i]);
    }
    const auto renumber = [&](std::vector<GraphOperand>& operands) {
      for (auto& operand : operands)
        if (operand.id >= 0) operand.id = number[static_cast<std::size_t>(operand.id)];
    };
    for (std::size_t i = 0; i < all.steps.size(); ++i) {
      if (!live[i]) continue;
      GraphStep step = std::move(all.steps[i]);
      renumber(step.in);
      renumber(step.causes);
      for (std::int32_t k = 0; k < step.results.size(); ++k)
        number[static_cast<std::size_t>(step.first + k)] = kept.count + k;
      step.first = kept.count;
      kept.count += step.results.size();
      kept.steps.push_back(std::move(step));
    }
    renumber(kept.outputs);
    return kept;
  }

  Device inner_;
  bool (*expands_)(const op::Op&);
  GraphBody body_;
  std::map<const Node*, std::int32_t> constant_ids_;
  std::vector<std::int32_t> constant_numbers_;
  bool ended_ = false;
};

}  // namespace

void retain(const GraphBody* body) { body->add_owner(); }
void release(const GraphBody* body) {
  if (body->drop_owner()) delete body;
}

Graph capture_graph(FunctionRef<Values(const Values&)> function, Inputs examples, const CaptureOptions& options) {
  Device device;
  for (const Value& example : examples) {
    require<ArgumentError>(example && !example.is_scalar(), "capture: an example must be a tensor, got ", example);
    require<DeviceError>(!device || device == example.device(), "capture: examples on ", device, " and ",
                         example.device(), "; move one with to_device()");
    if (!device || example.device().is_autodiff()) device = example.device();
  }
  if (!device) device = Device::best();
  const auto recording = make_ref<RecordingBackend>(device, options);
  Values inputs;
  for (const Value& example : examples)
    inputs.push_back(recording->input(example, Device(recording, example.device().is_autodiff())));
  const Checkpointing plain(Checkpointing::Never);
  const Values results = function(inputs);
  return Graph(make_ref<const GraphBody>(recording->finish(results)));
}

}  // namespace kiln
