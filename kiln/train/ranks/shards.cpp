#include "kiln/train/ranks/shards.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/collective/host.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/train/ranks/state_parts.hpp"

namespace kiln::training {
namespace {

/// A zero of the type of the norm of all gradients.
Value zero_for(const Layout& layout) {
  DType dtype = DType::F32;
  for (const Layout::Param& param : layout.params) dtype = promote(dtype, param.sent);
  return zeros({}, layout.params.at(0).device, dtype);
}

std::map<std::string, Value> values_of(const nn::ModuleView& model) {
  std::map<std::string, Value> values;
  visit_params(model,
               [&](const std::string& path, const nn::AnyLeaf& param) { values[path] = param.value().detach(); });
  return values;
}

}  // namespace

Shards::Shards(Ranks among, OptimizerState& state, const nn::ModuleView& model)
    : among_(std::move(among)), state_(state) {
  nn::require_trainable("training", model);
  const NoGrad pause;
  layout_ = std::make_shared<const Layout>(
      Layout::sharded(model, among_->size(), [&](const std::string& path) { return state_.needs_whole(path); }));
  ParamParts parts = layout_->parts(among_->rank());
  // States of parameters that were frozen after the optimizer was created stay with rank 0, for checkpoints.
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    if (param.is_frozen() && among_->rank() == 0) parts.emplace(path, ParamPart{0, param.numel()});
  });
  state_.keep(parts, among_, zero_for(*layout_));
}

std::vector<NamedParam> Shards::parts(const nn::ModuleView& model) const {
  const std::map<std::string, Value> values = values_of(model);
  std::vector<NamedParam> parts;
  for (const Layout::Bucket& bucket : layout_->buckets)
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
      const std::string& path = layout_->params[i].path;
      if (const auto own = layout_->part(bucket, layout_->params[i], among_->rank()))
        parts.push_back({path, part_of(values.at(path), *own)});
    }
  std::ranges::reverse(parts);
  return parts;
}

void Shards::step(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads) {
  const NoGrad pause;
  gather(model, state_.step_parts(rates.size() == 1 ? state_.rates(rates[0]) : rates, parts(model), grads));
}

void Shards::put_averages(const nn::ModuleRef& model) const {
  if (!state_.averages()) return;
  const NoGrad pause;
  std::map<std::string, Value> averages;
  for (const NamedParam& part : parts(model)) averages[part.path] = state_.averaged(part);
  gather(model, averages);
}

/// Sends each parameter of a bucket from the rank that has it. A gathered bucket would have the gaps of all ranks.
void Shards::gather_whole(const Layout::Bucket& bucket, const std::map<std::string, Value>& before,
                          const std::map<std::string, Value>& own, std::map<std::string, Value>& after,
                          Values& pending) const {
  for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
    const Layout::Param& param = layout_->params[i];
    int owner = 0;
    while (owner + 1 < among_->size() && !layout_->part(bucket, param, owner)) ++owner;
    const auto updated = own.find(param.path);
    pending.push_back(broadcast(updated != own.end() ? updated->second : before.at(param.path), among_, owner));
    after[param.path] = pending.back();
  }
}

void Shards::gather(const nn::ModuleRef& model, const std::map<std::string, Value>& own) const {
  const std::map<std::string, Value> before = values_of(model);
  std::map<std::string, Value> after;
  Values pending;
  for (const Layout::Bucket& bucket : layout_->buckets) {
    if (state_.needs_whole(layout_->params[bucket.begin].path)) {
      gather_whole(bucket, before, own, after, pending);
      continue;
    }
    const DType dtype = layout_->params[bucket.begin].dtype;
    const Value slice = layout_->joined_slice(bucket, among_->rank(), dtype, [&](std::size_t i, const ParamPart& part) {
      const std::string& path = layout_->params[i].path;
      const auto updated = own.find(path);
      return updated != own.end() ? updated->second : part_of(before.at(path), part);
    });
    pending.push_back(all_gather(slice, among_));
    for (std::size_t i = bucket.begin; i < bucket.end; ++i)
      after[layout_->params[i].path] = layout_->taken(pending.back(), i);
  }
  run_pending(pending);  // errors of other ranks occur here, before the model has changed
  nn::ParamChanges(model, after).put();
}

std::map<std::string, ParamState> Shards::gathered_states() const {
  const auto descriptions = described_states(*among_, state_.states());
  std::map<std::string, ParamState> whole;
  if (among_->rank() == 0) whole = state_.states();  // what no other rank has a part of stays
  for (const Layout::Param& param : layout_->params) {
    const auto state = state_.states().find(param.path);
    const ParamState* const own = state != state_.states().end() ? &state->second : nullptr;
    if (auto joined = joined_state(*among_, param.path, param.shape, own, descriptions))
      whole[param.path] = std::move(*joined);
  }
  return whole;
}

void Shards::with_whole_state(FunctionRef<void()> f) {
  std::map<std::string, ParamState> whole = gathered_states();
  if (among_->rank() != 0) return f();
  struct Exchange {
    OptimizerState& state;
    std::map<std::string, ParamState> parts;
    ~Exchange() { state.exchange_states(std::move(parts)); }
  } const exchange{state_, state_.exchange_states(std::move(whole))};
  f();
}

}  // namespace kiln::training
