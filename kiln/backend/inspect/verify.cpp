#include "kiln/backend/inspect/verify.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kiln/backend/inspect/cancelled.hpp"
#include "kiln/backend/inspect/verifying.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/precision.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln {
namespace {

/// The tolerated difference of two computations in a type, relative to the largest element; 0 for types that are no
/// floats.
double usual_share(DType dtype) {
  switch (dtype) {
    case DType::F64: return 1e-10;
    case DType::F32: return 1e-4;
    case DType::F16: return 1e-2;
    case DType::BF16: return 5e-2;
    default: return 0;
  }
}

/// A fraction of the largest element, which is taken as at least 1/100. Where terms cancel out, their magnitude `terms`
/// is used if it is known.
Tolerance usual_tolerance(const TensorData& expected, DType precision, double terms) {
  if (!is_float(expected.dtype())) return {.relative = 0, .absolute = 0};
  const double share = usual_share(precision);
  double largest = std::isfinite(terms) ? std::max(1e-2, terms) : 1e-2;
  for (std::int64_t i = 0; i < expected.numel(); ++i) {
    const double magnitude = std::abs(expected.at(i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return {.relative = share, .absolute = share * largest};
}

/// Whether it computes elements from others. Views and fills do not; operations that wait for other ranks may run only
/// once.
bool computes(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) {
    if constexpr (T::kTraits.may_fail == MayFail::WithRanks) return false;
    else return op::Composite<T> || (T::kTraits.pattern != Pattern::View && T::kTraits.pattern != Pattern::Creation);
  });
}

/// A device that runs the steps of planned ops one by one.
class Unfused final : public Decorator {
 public:
  using Decorator::Decorator;
  bool has_kernel(const op::Op& op) const override { return !is_planned(op) && inner_->has_kernel(op); }
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<Unfused>(inner_->with_core(wrap)); }
};

}  // namespace

std::optional<DType> coarser(std::optional<DType> rounded, DType dtype) {
  return is_float(dtype) && (!rounded || usual_share(dtype) > usual_share(*rounded)) ? dtype : rounded;
}

std::optional<DType> rounding_of(const op::Op& op) {
  if (op::precision_of(op) == Float32Precision::High) return DType::F16;
  return std::nullopt;
}

// A kernel for a composite op may round to half precision less often than the ops of the expansion.
static std::optional<DType> half_of(const op::Op& op, const Call& call) {
  std::optional<DType> half = rounding_of(op);
  const auto include = [&](DType dtype) {
    if (dtype == DType::F16 || dtype == DType::BF16) half = coarser(half, dtype);
  };
  for (const Value& value : call.in)
    if (value.node()) include(value.dtype());
  for (const Value& value : call.out) include(value.dtype());
  if (const auto* epilogue = std::get_if<op::Epilogue>(&op.is))
    for (const op::ProgramStep& step : epilogue->program->steps) include(step.dtype);
  return half;
}

std::string Comparison::differ(const TensorData& actual, const TensorData& expected, bool exact,
                               std::optional<DType> rounded, double terms) const {
  if (exact && rounded && !is_float(expected.dtype())) return {};
  ++count->compared;
  if (std::ranges::equal(actual.bytes(), expected.bytes()) && actual.dtype() == expected.dtype() &&
      actual.shape() == expected.shape())
    return {};
  if (options.tolerance) return difference(actual, expected, *options.tolerance);
  if (exact && !rounded) return difference(actual, expected, {.relative = 0, .absolute = 0});
  const DType precision = coarser(rounded, expected.dtype()).value_or(expected.dtype());
  return difference(actual, expected, usual_tolerance(expected, precision, terms));
}

// An asynchronous device does not tell the memory order of its results.
static bool shows_order(const Value& value) {
  return !value.node() || value.node()->strides.size() == value.node()->desc.shape.size();
}

// The copy keeps the visible memory order if there are no gaps, and repetitions stay repetitions: results take over the
// order of operands without gaps, and sums follow that order.
static Value copy_of(const Ref<Backend>& from, const Value& value, const Device& to) {
  if (!shows_order(value)) return Value(to.backend().upload(from->download(value), to));
  const Node& node = *value.node();
  const int rank = node.desc.shape.size();
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (strided::is_dense(node.desc.shape, node.strides))
    std::ranges::sort(order, {}, [&](int dim) { return std::pair(-node.strides[dim], dim); });
  auto once = make_ref<Node>(Desc{{}, node.desc.dtype}, node.device);
  for (const int dim : order) {
    once->desc.shape.push_back(node.strides[dim] == 0 ? std::min<std::int64_t>(1, node.desc.shape[dim])
                                                      : node.desc.shape[dim]);
    once->strides.push_back(node.strides[dim]);
  }
  once->storage = node.storage;
  once->offset = node.offset;
  const Ref<Node> copied = to.backend().upload(from->download(Value(std::move(once))), to);
  if (copied->strides.size() != rank) return Value(to.backend().upload(from->download(value), to));
  auto result = make_ref<Node>(node.desc, to);
  result->strides = node.strides;
  for (int i = 0; i < rank; ++i) {
    const int dim = order[static_cast<std::size_t>(i)];
    if (node.strides[dim] != 0) result->strides[dim] = copied->strides[i];
  }
  result->storage = copied->storage;
  result->offset = copied->offset;
  return Value(std::move(result));
}

Values copies(const Ref<Backend>& from, Inputs values, const Device& to) {
  Values result(values.begin(), values.end());
  for (Value& value : result)
    if (value.node()) value = copy_of(from, value, to);
  return result;
}

std::string described_call(const op::Op& op, Inputs in) {
  std::string out = op::display_name(op);
  for (std::size_t i = 0; i < in.size(); ++i) {
    out += i ? ", " : " of ";
    if (in[i].empty()) out += "nothing";
    else append(out, in[i]);
  }
  return out;
}

bool contracts(const Backend& backend) {
  const auto groups = backend.fusion_traits().groups;
  return groups && groups->contracts;
}

VerifiedKernels::VerifiedKernels(Ref<Backend> inner, Comparison comparison)
    : Decorator(std::move(inner)),
      comparison_(std::move(comparison)),
      contracts_(contracts(*inner_)),
      one_by_one_(make_ref<Unfused>(comparison_.options.reference ? comparison_.options.reference.handle() : inner_)) {}

// The kernel runs as it would without Verify: once, on the operands themselves with all that is cached for them, and in
// their memory where it may. The comparison uses copies that were made before, so it is independent of all that.
void VerifiedKernels::run(const op::Op& op, Call call) {
  const Device& reference = comparison_.options.reference;
  if (!reference && !computes(op)) return inner_->run(op, call);
  const Values in = copies(inner_, call.in, one_by_one_);
  inner_->run(op, call);
  // Errors of the kernel itself come first; errors of the comparison are not reported as errors of the program.
  std::vector<TensorData> found;
  for (const Value& value : call.out) found.push_back(inner_->download(value));
  const RequestedBy nobody(nullptr);
  if (reference && !is_planned(op)) {
    const NoGrad pause;
    const Autocast off(DType::F32);
    return compare(op, call, in, found, emit_all(one_by_one_, op, in), text("that of ", reference));
  }
  if (reference || is_composite(op))
    return compare(op, call, in, found, expansion(op, in, call.out),
                   reference ? text("that of ", reference) : "what it is made of");
  Values again;
  for (const Value& value : call.out) again.emplace_back(make_ref<Node>(value.node()->desc, Device(inner_)));
  inner_->run(op, {in, again});
  compare(op, call, in, found, again, "what it gives of copies of its operands");
}

void VerifiedKernels::compare(const op::Op& op, const Call& call, Inputs in, std::span<const TensorData> found,
                              Inputs expected, std::string_view what) {
  const auto* fused = comparison_.options.reference ? nullptr : std::get_if<op::Fused>(&op.is);
  std::optional<DType> usual = fused ? std::nullopt : half_of(op, call);
  if (fused && contracts_)
    for (const op::ProgramStep& step : fused->program->steps) usual = coarser(usual, step.dtype);
  const bool ordered = std::ranges::all_of(call.in, shows_order);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const bool sums_anyhow = fused && !ordered && i >= fused->program->outputs.size();
    const std::optional<DType> rounded = sums_anyhow ? coarser(usual, call.out[i].dtype()) : usual;
    const TensorData &actual = found[i], wanted = expected[i].data();
    std::string report = comparison_.differ(actual, wanted, fused, rounded);
    if (report.empty()) continue;
    if (const double terms = cancelled(op, in, i); terms > 0)
      report = comparison_.differ(actual, wanted, fused, rounded, terms);
    if (report.empty()) continue;
    const std::string step = fused ? first_wrong_step(*fused, in, usual) : std::string();
    fail<VerifyError>(inner_->name(), ": ", described_call(op, call.in), ": result ", i, ", ", call.out[i], ", is not ",
                      what, step, "\n  ", report);
  }
}

/// Runs the kernel again with every step as a result: ", first in step 2, exp -> float32 [4]". If the kernel is right
/// then, the fault is in a step that it does not store.
std::string VerifiedKernels::first_wrong_step(const op::Fused& fused, Inputs in, std::optional<DType> rounded) {
  const NoGrad pause;
  const Autocast off(DType::F32);
  auto open = std::make_shared<op::Program>();
  open->shape = fused.program->shape;
  open->inputs = fused.program->inputs;
  open->steps = fused.program->steps;
  open->outputs.resize(open->steps.size());
  std::iota(open->outputs.begin(), open->outputs.end(), std::uint16_t{0});
  const op::Fused all{std::move(open)};
  const Values expected = all.expand(in);
  Values actual;
  for (const Value& value : expected) actual.emplace_back(make_ref<Node>(value.node()->desc, value.device()));
  inner_->run(op::Op(all), {in, actual});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (comparison_.differ(actual[i].data(), expected[i].data(), true, rounded).empty()) continue;
    const std::string_view name =
        std::visit([](const auto& step) { return op::function_name(step); }, all.program->steps[i].op);
    return text(", first in step ", i, ", ", name, " -> ", actual[i]);
  }
  return {};
}

Verify::Verify(const Device& device, const VerifyOptions& options) : count_(std::make_shared<VerifyCount>()) {
  require<DeviceError>(!options.reference || !(options.reference == device), "Verify: ", device,
                       " cannot be its own reference");
  const Comparison comparison{.options = options, .count = count_};
  Ref<Backend> core, checked;
  Ref<Backend> whole = device.backend().with_core([&](Ref<Backend> inner) -> Ref<Backend> {
    core = inner;
    return checked = make_ref<VerifiedKernels>(std::move(inner), comparison);
  });
  if (whole != checked) whole = make_ref<VerifiedPlans>(whole, core, comparison);
  device_ = Device(std::move(whole), device.is_autodiff());
}

std::int64_t Verify::compared() const { return count_->compared; }

}  // namespace kiln
