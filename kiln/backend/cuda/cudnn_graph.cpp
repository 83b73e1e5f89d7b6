#include "kiln/backend/cuda/cudnn_graph.hpp"

#include <algorithm>
#include <array>

namespace kiln::cuda::cudnn {
namespace {

constexpr std::int64_t kAlignment = 256;  // alignment of tensors in a workspace

std::span<const std::int64_t> values(const auto& list) { return {list.begin(), static_cast<std::size_t>(list.size())}; }

}  // namespace

// ---- the graph -----------------------------------------------------------------------------------------------------

Graph::Tensor Graph::tensor(DataType type, const Shape& sizes, const Dims& strides, std::int64_t alignment,
                            std::initializer_list<Attribute> is) {
  Descriptor made(*api_, Kind::Tensor);
  made.set(Attribute::TensorUniqueId, next_id_++)
      .set(Attribute::TensorDataType, type)
      .set(Attribute::TensorByteAlignment, alignment)
      .set(Attribute::TensorDimensions, values(sizes))
      .set(Attribute::TensorStrides, values(strides));
  for (const Attribute attribute : is) made.set(attribute, true);
  parts_.push_back(std::move(made.finalize()));
  return {parts_.size() - 1, sizes, strides};
}

Graph::Tensor Graph::operand(DataType type, const Shape& sizes, const Dims& strides, std::int64_t alignment) {
  operands_.push_back(next_id_);
  return tensor(type, sizes, strides, alignment);
}

Graph::Tensor Graph::scratch(const Shape& sizes) {
  const std::int64_t bytes = numel(sizes) * static_cast<std::int64_t>(sizeof(float));
  scratch_.push_back({next_id_, scratch_bytes_});
  scratch_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return tensor(DataType::Float, sizes, contiguous_strides(sizes), 16);
}

Graph::Tensor Graph::between(DataType type, const Shape& sizes, const Dims& strides) {
  return tensor(type, sizes, strides.empty() ? contiguous_strides(sizes) : strides, 16, {Attribute::TensorIsVirtual});
}

Graph::Tensor Graph::number(DataType type, Number value) {
  of_numbers_.push_back(next_id_);
  numbers_.push_back(value);
  return tensor(type, {1, 1, 1, 1}, {1, 1, 1, 1}, 16, {Attribute::TensorIsByValue});
}
Graph::Tensor Graph::number(float value) { return number(DataType::Float, {.real = value}); }
Graph::Tensor Graph::number(std::int32_t value) { return number(DataType::Int32, {.integer = value}); }

void Graph::add_operation(Descriptor operation) {
  if (!status_) status_ = operation.status();
  operations_.push_back(add(std::move(operation)).handle());
}

Graph::Tensor Graph::pointwise(const Pointwise& how, std::initializer_list<Tensor> operands) {
  const Tensor& x = *operands.begin();
  const Tensor made = between(how.made, x.sizes, x.strides);
  pointwise(how, operands, made);
  return made;
}

void Graph::pointwise(const Pointwise& how, std::initializer_list<Tensor> operands, const Tensor& made) {
  constexpr std::array kSlots{Attribute::PointwiseX, Attribute::PointwiseB, Attribute::PointwiseT};
  Descriptor mode(*api_, Kind::Pointwise), operation(*api_, Kind::PointwiseOperation);
  mode.set(Attribute::PointwiseMode, how.mode).set(Attribute::PointwiseComputeType, how.computed);
  if (how.axis >= 0) mode.set(Attribute::PointwiseAxis, how.axis);
  operation.set(Attribute::PointwiseHow, add(std::move(mode.finalize())));
  for (std::size_t i = 0; i < operands.size(); ++i) operation.set(kSlots[i], (*this)[operands.begin()[i]]);
  operation.set(Attribute::PointwiseY, (*this)[made]);
  add_operation(std::move(operation.finalize()));
}

void Graph::multiply(const Tensor& a, const Tensor& b, const Tensor& made) {
  Descriptor how(*api_, Kind::Product), operation(*api_, Kind::ProductOperation);
  how.set(Attribute::ProductComputeType, DataType::Float).finalize();
  operation.set(Attribute::ProductHow, add(std::move(how)))
      .set(Attribute::ProductA, (*this)[a])
      .set(Attribute::ProductB, (*this)[b])
      .set(Attribute::ProductC, (*this)[made]);
  add_operation(std::move(operation.finalize()));
}

void Graph::reduce(ReduceBy how, const Tensor& x, const Tensor& made) {
  Descriptor mode(*api_, Kind::Reduction), operation(*api_, Kind::ReductionOperation);
  mode.set(Attribute::ReductionOperator, how).set(Attribute::ReductionComputeType, DataType::Float).finalize();
  operation.set(Attribute::ReductionHow, add(std::move(mode)))
      .set(Attribute::ReductionX, (*this)[x])
      .set(Attribute::ReductionY, (*this)[made]);
  add_operation(std::move(operation.finalize()));
}

void Graph::reshape(const Tensor& x, const Tensor& made) {
  Descriptor operation(*api_, Kind::ReshapeOperation);
  operation.set(Attribute::ReshapeX, (*this)[x]).set(Attribute::ReshapeY, (*this)[made]);
  add_operation(std::move(operation.finalize()));
}

// ---- a plan --------------------------------------------------------------------------------------------------------

Plan::Plan(Graph graph, Handle handle, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be)
    : graph_(std::move(graph)), handle_(handle), whole_(graph_.api(), Kind::Graph), plan_(graph_.api(), Kind::Plan) {
  if (graph_.status_ || graph_.operations_.empty()) return;
  whole_.set(Attribute::GraphHandle, handle_)
      .set(Attribute::GraphOperations, std::span<const DescriptorHandle>(graph_.operations_))
      .finalize();
  for (const auto mode : {HeuristicsMode::A, HeuristicsMode::Fallback})
    if (!known_) choose(mode, most_bytes - graph_.scratch_bytes_, may_be);
  ids_ = graph_.operands_;
  for (const Graph::Scratch& each : graph_.scratch_) ids_.push_back(each.id);
  ids_.insert(ids_.end(), graph_.of_numbers_.begin(), graph_.of_numbers_.end());
}

void Plan::choose(HeuristicsMode mode, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be) {
  Descriptor heuristics(graph_.api(), Kind::Heuristics);
  heuristics.set(Attribute::HeuristicsGraph, whole_).set(Attribute::HeuristicsMode, mode).finalize();
  const std::int64_t most = heuristics.get(Attribute::HeuristicsResults, std::span<DescriptorHandle>());
  std::vector<Descriptor> configs;
  std::vector<DescriptorHandle> handles;
  for (std::int64_t i = 0; i < most; ++i)
    handles.push_back(configs.emplace_back(graph_.api(), Kind::EngineConfig).handle());
  const std::int64_t count = heuristics.get(Attribute::HeuristicsResults, std::span(handles));
  for (std::int64_t i = 0; i < std::min(count, most) && !known_; ++i)
    consider(configs[static_cast<std::size_t>(i)], most_bytes, may_be);
}

void Plan::consider(Descriptor& config, std::int64_t most_bytes, FunctionRef<bool(std::span<const Note>)> may_be) {
  Descriptor engine(graph_.api(), Kind::Engine);
  DescriptorHandle handle = engine.handle();
  if (config.get(Attribute::ConfigEngine, std::span(&handle, 1)) != 1) return;
  std::array<Note, 32> notes;
  const std::int64_t count = engine.get(Attribute::EngineNumericalNotes, std::span<Note>(notes));
  if (count < 0 || count > std::ssize(notes)) return;
  if (!may_be(std::span(notes).first(static_cast<std::size_t>(count)))) return;

  Descriptor plan(graph_.api(), Kind::Plan);
  plan.set(Attribute::PlanHandle, handle_).set(Attribute::PlanConfig, config).finalize();
  std::int64_t bytes = 0;
  if (plan.get(Attribute::PlanWorkspaceSize, std::span(&bytes, 1)) != 1 || bytes > most_bytes) return;
  (void)engine.get(Attribute::EngineGlobalIndex, std::span(&engine_, 1));
  scratch_start_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  chosen_.push_back(std::move(config));
  plan_ = std::move(plan);
  known_ = true;
}

Status Plan::run(std::span<void* const> addresses, Address workspace) const {
  std::vector<void*> all(addresses.begin(), addresses.end());
  for (const Graph::Scratch& each : graph_.scratch_)
    all.push_back(reinterpret_cast<void*>(workspace + static_cast<Address>(scratch_start_ + each.offset)));
  for (const Graph::Number& number : graph_.numbers_) all.push_back(const_cast<Graph::Number*>(&number));
  Descriptor pack(graph_.api(), Kind::VariantPack);
  pack.set(Attribute::PackUniqueIds, std::span<const std::int64_t>(ids_))
      .set(Attribute::PackDataPointers, std::span<void* const>(all))
      .set(Attribute::PackWorkspace, reinterpret_cast<void*>(workspace))
      .finalize();
  return pack.sound() ? graph_.api().execute(handle_, plan_.handle(), pack.handle()) : pack.status();
}

}  // namespace kiln::cuda::cudnn
