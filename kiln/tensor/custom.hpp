// A user-defined operation: any struct with `infer` (the results' descriptions) and `expand` (their computation).
//
//   struct Swish {
//     double beta = 1;
//     Desc infer(Inputs in) const { return like(in[0]); }
//     Value expand(Inputs in) const { return in[0] * sigmoid(beta * in[0]); }
//   };
//   Tensor<2> y = custom(Swish{.beta = 1.5}, x);
//
// It is differentiated through `expand`, unless it has a `Values vjp(Inputs in, Inputs out, Inputs grad) const` that
// returns a gradient for each operand. `bool run(std::string_view backend, Call call) const` is its own kernel for the
// backends for which it returns true, and `std::string name() const` its name in errors. With several results, infer
// returns Descs and expand returns Values.
#pragma once
#include "kiln/core/reflect/reflect_words.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// The description of a result with the shape and element type of x.
inline Desc like(const Value& x) { return {x.shape(), x.dtype()}; }

template <class T>
concept UserOp = requires(const T op, Inputs in) {
  op.infer(in);
  op.expand(in);
};

/// Adapts a plain struct to the virtual interface that tape and backends use.
template <UserOp T>
class UserOpFace final : public CustomOp {
 public:
  explicit UserOpFace(T op) : op_(std::move(op)) {}

  std::string name() const override {
    if constexpr (requires { op_.name(); }) return op_.name();
    else return std::string(reflect::type_name<T>());
  }
  Descs infer(Inputs in) const override { return {op_.infer(in)}; }
  Values expand(Inputs in) const override { return {op_.expand(in)}; }
  bool has_vjp() const override {
    return requires(Inputs in) { op_.vjp(in, in, in); };
  }
  Values vjp(Inputs in, Inputs out, Inputs grad) const override {
    if constexpr (requires { op_.vjp(in, out, grad); }) return op_.vjp(in, out, grad);
    else return CustomOp::vjp(in, out, grad);
  }
  bool run(std::string_view backend, Call call) const override {
    if constexpr (requires { op_.run(backend, call); }) return op_.run(backend, call);
    else return CustomOp::run(backend, call);
  }
  /// Structs with equal fields are the same operation: a plan made in one training step is reused in the next.
  void identify(std::vector<std::uint64_t>& words) const override {
    words.push_back(reinterpret_cast<std::uintptr_t>(&kType));
    if constexpr (reflect::HasWords<T>) {
      constexpr std::size_t kMost = 256;
      const std::size_t before = words.size();
      reflect::append_words(words, op_);
      if (words.size() - before < kMost) return;
      words.resize(before);  // a whole table is too long to be compared each time
    }
    CustomOp::identify(words);
  }

  /// Whether `op` is a UserOpFace of T.
  static bool is(const CustomOp& op) {
    std::vector<std::uint64_t> words;
    op.identify(words);
    return !words.empty() && words[0] == reinterpret_cast<std::uintptr_t>(&kType);
  }
  const T& op() const { return op_; }

 private:
  static constexpr char kType = 0;  // its address identifies the type
  T op_;
};

/// Returns the results of `op` on the operands, which may have any ranks and kinds.
template <UserOp T, class... Operands>
Values custom_all(T op, const Operands&... operands) {
  return custom(make_ref<const UserOpFace<T>>(std::move(op)), Values{Value(operands)...});
}

/// Returns the result of `op`, a tensor of the first operand's type; custom<Tensor<1>>(op, x) for another type.
template <class Result, UserOp T, class... Operands>
Result custom(T op, const Operands&... operands) {
  const Values results = custom_all(std::move(op), operands...);
  require<ArgumentError>(results.size() == 1, "custom: an operation with ", results.size(),
                         " results needs custom_all");
  return Result(results[0]);
}
template <UserOp T, class First, class... Operands>
First custom(T op, const First& first, const Operands&... operands) {
  return custom<First, T, First, Operands...>(std::move(op), first, operands...);
}

}  // namespace kiln
