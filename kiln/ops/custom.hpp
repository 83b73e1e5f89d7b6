// An operation of the user's own: passes through tape and decorators like any other.
#pragma once
#include <string>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/traits.hpp"

namespace kiln {

/// What a user derives from. `infer` and `expand` are all it takes; `expand` is differentiated by itself unless the
/// class brings its own vjp.
class CustomOp : public RefCounted {
 public:
  virtual std::string name() const = 0;
  /// Shape and dtype of the results, or an error.
  virtual Descs infer(Inputs in) const = 0;
  /// What it is made of.
  virtual Values expand(Inputs in) const = 0;
  virtual bool has_vjp() const { return false; }
  /// The gradient of each operand (empty where there is none) from those of the results.
  virtual Values vjp(Inputs in, Inputs out, Inputs grad) const { return (void)in, (void)out, (void)grad, Values{}; }
  /// A kernel for `backend` ("cpu"); false: none, run the expansion.
  virtual bool run(std::string_view backend, Call call) const { return (void)backend, (void)call, false; }
  /// Appends what tells it from other operations: of two that append the same words, either may run in the other's
  /// place. By itself it is like no other.
  virtual void identify(std::vector<std::uint64_t>& words) const {
    words.push_back(reinterpret_cast<std::uintptr_t>(this));
  }
};

namespace op {

struct Custom {
  static constexpr std::string_view kName = "custom";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Other, Rows::None, MayFail::OnData};
  Ref<const CustomOp> op;
  Descs infer(Inputs in) const { return op->infer(in); }
  Values expand(Inputs in) const { return op->expand(in); }
  Saves saves(std::uint32_t) const { return {.in = ~0u, .out = true}; }
  void vjp(Backward& backward) const;
};

}  // namespace op
}  // namespace kiln
