// A user-defined operation: it passes through the tape and decorators like any other.
#pragma once
#include <string>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln {

/// The base class of user-defined operations. `infer` and `expand` suffice; `expand` is differentiated automatically
/// unless the class defines a vjp.
class CustomOp : public RefCounted {
 public:
  virtual std::string name() const = 0;
  /// Returns shape and dtype of the results, or throws.
  virtual Descs infer(Inputs in) const = 0;
  /// Computes the results from other operations.
  virtual Values expand(Inputs in) const = 0;
  virtual bool has_vjp() const { return false; }
  /// Returns the gradient of each operand (empty where there is none) from those of the results.
  virtual Values vjp(Inputs in, Inputs out, Inputs grad) const { return (void)in, (void)out, (void)grad, Values{}; }
  /// Runs a kernel for `backend` ("cpu"). Returns false where there is none, and the expansion runs.
  virtual bool run(std::string_view backend, Call call) const { return (void)backend, (void)call, false; }
  /// Appends words that identify the operation: two operations that append the same words may run in each other's
  /// place. By default it equals no other operation.
  virtual void identify(std::vector<std::uint64_t>& words) const {
    words.push_back(reinterpret_cast<std::uintptr_t>(this));
  }
};

namespace op {

struct Custom {
  static constexpr std::string_view kName = "custom";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  Ref<const CustomOp> op;
  Float32Precision::Level precision = Float32Precision::OfDevice;
  Descs infer(Inputs in) const { return op->infer(in); }
  Values expand(Inputs in) const { return op->expand(in); }
  Saves saves(std::uint32_t) const { return {.in = ~0u, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace op
}  // namespace kiln
