#include "kiln/autodiff/backward.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "kiln/autodiff/finality.hpp"
#include "kiln/autodiff/rematerialisation.hpp"
#include "kiln/autodiff/slices.hpp"
#include "kiln/core/setting/setting.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/scope/beside.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/view/another_view.hpp"
#include "kiln/ops/view/view.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace {

// Records whose gradients are being summed, latest first: creation order is a topological order, so that all gradients
// of a record's results have arrived when its turn comes.
struct Pending {
  Ref<Record> record;
  SpareValues grads;                        // per result
  std::map<int, SliceGradients> of_slices;  // of results that were read in slices

  void settle() {
    for (auto& [slot, slices] : of_slices) settle(slot, slices);
    of_slices.clear();
  }
  void settle(int slot, SliceGradients& slices) {
    Value& grad = grads[static_cast<std::size_t>(slot)];
    grad = slices.sum(std::move(grad), record->results[static_cast<std::size_t>(slot)], record->device);
  }
};

class Pass {
 public:
  /// `finality` tracks the leaves; null where the caller does not ask when they are final.
  explicit Pass(Finality* finality = nullptr) : finality_(finality) {}

  void add(const Value& to, Value grad) {
    if (grad.empty() || !to.tracked()) return;
    Value& slot = pending(to).grads[static_cast<std::size_t>(to.slot())];
    const Desc& desc = to.tape()->results[static_cast<std::size_t>(to.slot())];
    grad = fit(std::move(grad), desc, to.tape()->device);
    slot = slot.empty() ? std::move(grad) : slot + grad;
  }

  void add_slice(const Value& to, const op::Slice& slice, Value grad) {
    if (grad.empty() || !to.tracked()) return;
    Pending& target = pending(to);
    SliceGradients& slices = target.of_slices[to.slot()];
    slices.add(slice, std::move(grad));
    if (slices.exceed(to.tape()->results[static_cast<std::size_t>(to.slot())])) target.settle(to.slot(), slices);
  }

  /// The order of the next record; 0 where none is left.
  std::uint64_t next() const { return pending_.empty() ? 0 : pending_.rbegin()->first; }
  /// Removes the record of that order and returns its gradients, so that it is not visited; nothing where no gradient
  /// has reached it.
  std::optional<Pending> take(std::uint64_t order) {
    const auto entry = pending_.find(order);
    if (entry == pending_.end()) return std::nullopt;
    std::optional<Pending> taken = std::move(entry->second);
    pending_.erase(entry);
    taken->settle();
    return taken;
  }

  /// Passes each pending record to `visit`, the latest first, until none is left.
  template <class F>
  void run(F visit) {
    while (!pending_.empty()) {
      Pending last = std::move(pending_.rbegin()->second);
      pending_.erase(std::prev(pending_.end()));
      last.settle();
      visit(last);
    }
  }

  void pull_back(Pending& at) {
    if (at.record->recompute) return run_again(at);
    if (const auto* slice = std::get_if<op::Slice>(&at.record->op->is))
      return add_slice(at.record->in[0], *slice, std::move(at.grads[0]));
    const auto own = op::precision_of(*at.record->op);
    const Float32Precision as_before(own == Float32Precision::OfDevice ? at.record->precision : own);
    Backward backward = rematerialisations_.backward(at.record, std::move(at.grads));
    const Beside where(at.record->device.place());
    op::visit(*at.record->op, [&](const auto& op) { op.vjp(backward); });
    for (int i = 0; i < backward.arity(); ++i)
      add(at.record->in[static_cast<std::size_t>(i)], std::move(backward.into()[static_cast<std::size_t>(i)]));
    rematerialisations_.forget(*at.record);
  }

 private:
  Pending& pending(const Value& to) {
    auto [entry, fresh] = pending_.try_emplace(to.tape()->order);
    if (fresh) entry->second = {to.tape(), SpareValues(to.tape()->results.size()), {}};
    return entry->second;
  }

  // The records of the results are newer than any other, so the traversal continues with them.
  void run_again(const Pending& at) {
    const Values results = at.record->recompute->run();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (finality_) finality_->reach(results[i]);
      add(results[i], at.grads[i]);
    }
  }

  // A vjp may return a gradient in the shape that its operand broadcast to, as a plain number, or in another float
  // type.
  static Value fit(Value grad, const Desc& desc, const Device& device) {
    if (grad.is_scalar()) return full(desc.shape, grad.scalar(), device, desc.dtype);
    if (grad.node()->desc == desc) return grad;
    return cast(sum_to(grad, desc.shape), desc.dtype);
  }

  using Slot = std::pair<const std::uint64_t, Pending>;
  std::map<std::uint64_t, Pending, std::less<>, SpareAllocator<Slot>> pending_;
  Rematerialisations rematerialisations_;
  Finality* const finality_;
};

Value seed_of(const Value& output, const Value& seed) {
  if (seed.empty()) return ones_like(output);
  require<ShapeError>(seed.is_scalar() || seed.shape() == output.shape(), "grad: seed ", seed.shape(),
                      " does not have the shape of output ", output.shape());
  if (seed.is_scalar()) return seed;
  return another_view(seed, seed.device());  // the view fails if the output fails
}

void require_tracked(const Value& loss) {
  if (loss.tracked()) return;
  require<AutodiffError>(grad_enabled(), "backward: NoGrad is on, so nothing is recorded");
  require<AutodiffError>(!loss.node() || !loss.device().is_autodiff(),
                         "backward: the loss does not depend on anything tracked; it was made from constants, from "
                         "detached tensors, or under NoGrad");
  fail<AutodiffError>(
      "backward: nothing here is tracked; make the parameters on device.autodiff() or call require_grad() on a leaf");
}

/// The output of KILN_LOG=autodiff for one traversal: each visited operation with its results, as
/// "  matmul: float32 [2, 4]", the latest first, and the memory that they hold.
class WalkLog {
 public:
  explicit WalkLog(const Value& loss) : wanted_(is_logged("autodiff")) {
    if (wanted_) text_ = text("backward of ", loss, ":\n");
  }
  ~WalkLog() {
    if (!wanted_) return;
    std::fputs(text(text_, "  ", operations_, " operations, ", leaves_, " leaves; ", held_, " bytes of ", saved_.size(),
                    " tensors were kept for it\n")
                   .c_str(),
               stderr);
  }
  void visit(const Record& record) {
    if (!wanted_) return;
    ++(record.is_leaf() ? leaves_ : operations_);
    text_ += text("  ", record.op ? op::function_name(*record.op) : record.is_leaf() ? "leaf" : "checkpoint");
    for (std::size_t i = 0; i < record.results.size(); ++i)
      text_ += text(i ? ", " : ": ", record.results[i].dtype, ' ', record.results[i].shape);
    text_ += '\n';
    for (const Value& value : record.in) keep(value);
    for (const Value& value : record.out) keep(value);
  }

 private:
  void keep(const Value& value) {
    if (!value.node() || !value.node()->storage || !saved_.insert(value.node()->storage.get()).second) return;
    held_ += value.numel() * static_cast<std::int64_t>(size_of(value.dtype()));
  }

  bool wanted_;
  std::string text_;
  std::set<const Storage*> saved_;
  std::int64_t operations_ = 0, leaves_ = 0, held_ = 0;
};

bool before(const Gradients::Entry& entry, const Record* leaf) { return entry.leaf->order < leaf->order; }

template <class Entries>
auto find_entry(Entries& entries, const Value& leaf) {
  const auto entry = std::lower_bound(entries.begin(), entries.end(), leaf.tape().get(), before);
  return entry != entries.end() && entry->leaf == leaf.tape() ? entry : entries.end();
}

}  // namespace

std::optional<Value> Gradients::find(const Value& leaf) const {
  if (!leaf.tracked()) return std::nullopt;
  const auto entry = find_entry(entries_, leaf);
  if (entry == entries_.end()) return std::nullopt;
  return entry->grad;
}

Value Gradients::of(const Value& leaf) const {
  require<AutodiffError>(leaf.tracked(), "gradients: ", leaf, " is not tracked; call require_grad() on it first");
  require<AutodiffError>(leaf.tape()->is_leaf(), "gradients: ", leaf,
                         " is the result of an operation; grad(loss, ...) differentiates by those");
  if (auto found = find(leaf)) return *found;
  fail<AutodiffError>("gradients: ", leaf, " took no part in the loss");
}

void Gradients::set(const Value& leaf, Value grad) {
  const auto entry = leaf.tracked() ? find_entry(entries_, leaf) : entries_.end();
  require<AutodiffError>(entry != entries_.end(), "gradients: ", leaf, " took no part in the loss");
  require<ShapeError>(grad.shape() == leaf.shape(), "gradients: ", grad, " does not have the shape of ", leaf);
  entry->grad = std::move(grad);
}

Value Gradients::pop(const Value& leaf) {
  Value grad = of(leaf);
  entries_.erase(find_entry(entries_, leaf));
  return grad;
}

namespace {

Gradients walk(const Value& loss, const OnFinal* on_final, const BackwardOptions& options) {
  require_tracked(loss);
  const NoGrad pause(!options.create_graph);
  const Autocast off(DType::F32);  // each op's gradient is in the types that the op had
  const FailsWith scope({&loss, 1});
  Gradients result;
  Finality finality;
  Pass pass(on_final ? &finality : nullptr);
  pass.add(loss, ones_like(loss));
  WalkLog log(loss);
  const auto finish = [&](Pending& leaf) {
    log.visit(*leaf.record);
    Gradients::Entry entry{std::move(leaf.record), std::move(leaf.grads[0])};
    if (on_final) (*on_final)(entry);
    if (!entry.grad.empty()) result.entries().push_back(std::move(entry));
  };
  if (on_final) finality.reach(loss);
  pass.run([&](Pending& at) {
    if (at.record->is_leaf()) return finish(at);
    log.visit(*at.record);
    pass.pull_back(at);
    if (!on_final) return;
    finality.visited(*at.record);
    finality.advance(pass.next(), [&](std::uint64_t order) {
      if (std::optional<Pending> leaf = pass.take(order)) finish(*leaf);
    });
  });
  std::ranges::sort(result.entries(), {}, [](const Gradients::Entry& entry) { return entry.leaf->order; });
  return result;
}

}  // namespace

Gradients backward(const Value& loss, const BackwardOptions& options) { return walk(loss, nullptr, options); }
Gradients backward(const Value& loss, OnFinal on_final, const BackwardOptions& options) {
  return walk(loss, &on_final, options);
}

namespace {

[[maybe_unused]] const bool kKnownToOps = [] {
  slope_on_tape = [](const Value& x, const Value& along, const Ref<Record>& record, int slot) -> Value {
    const Desc& desc = record->results[static_cast<std::size_t>(slot)];
    if (x.tape()->order < record->order) return zeros(desc.shape, record->device, desc.dtype);
    const NoGrad pause;
    Value result;
    Pass pass;
    pass.add(x, along);
    pass.run([&](Pending& at) {
      if (at.record == record) result = at.grads[static_cast<std::size_t>(slot)];
      else if (!at.record->is_leaf() && at.record->order > record->order) pass.pull_back(at);
    });
    return result.empty() ? zeros(desc.shape, record->device, desc.dtype) : result;
  };
  return true;
}();

}  // namespace

Values grad(Inputs outputs, Inputs seeds, Inputs wrt, const BackwardOptions& options) {
  require<ArgumentError>(outputs.size() == seeds.size(), "grad: ", outputs.size(), " outputs and ", seeds.size(),
                         " seeds");
  const NoGrad pause(!options.create_graph);
  const Autocast off(DType::F32);
  const FailsWith scope(outputs);
  std::uint64_t earliest = ~std::uint64_t{0};  // nothing created before the first of `wrt` depends on one
  for (const Value& value : wrt) {
    require<AutodiffError>(value.tracked(), "grad: ", value, " is not tracked; call require_grad() on it first");
    earliest = std::min(earliest, value.tape()->order);
  }
  Values result(wrt.size());
  Pass pass;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    require<AutodiffError>(outputs[i].tracked(), "grad: output ", outputs[i], " is not tracked");
    pass.add(outputs[i], seed_of(outputs[i], seeds[i]));
  }
  pass.run([&](Pending& at) {
    for (std::size_t i = 0; i < wrt.size(); ++i)
      if (wrt[i].tape() == at.record) result[i] = at.grads[static_cast<std::size_t>(wrt[i].slot())];
    if (!at.record->is_leaf() && at.record->order > earliest) pass.pull_back(at);
  });
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (result[i].empty()) result[i] = zeros_like(wrt[i]);
  return result;
}

}  // namespace kiln
