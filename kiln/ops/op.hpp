// The closed set of operations. A struct holds attributes and no tensors; operands are in the call. This header is for
// authors of ops and backends: no header that users include includes it.
#pragma once
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "kiln/ops/collective/collective_ops.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/index/index_ops.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/solve_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"
#include "kiln/ops/loss/ctc_transducer_ops.hpp"
#include "kiln/ops/loss/loss_ops.hpp"
#include "kiln/ops/norm/channel_norm_ops.hpp"
#include "kiln/ops/norm/norm_ops.hpp"
#include "kiln/ops/planned/batched.hpp"
#include "kiln/ops/planned/epilogue.hpp"
#include "kiln/ops/planned/fused.hpp"
#include "kiln/ops/planned/row_blocked.hpp"
#include "kiln/ops/planned/row_fused.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/reduce/order_ops.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"
#include "kiln/ops/reduce/scan_ops.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"
#include "kiln/ops/sequence/recurrent_ops.hpp"
#include "kiln/ops/signal/signal_ops.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"
#include "kiln/ops/spatial/resample_ops.hpp"
#include "kiln/ops/spatial/sample_ops.hpp"
#include "kiln/ops/special/special_ops.hpp"
#include "kiln/ops/view/assemble_ops.hpp"
#include "kiln/ops/view/view_ops.hpp"

namespace kiln {
namespace op {

/// The requirements of an op: its name (wire, profiler, errors), facts (traits.hpp), its results' shapes or an error,
/// its gradient.
template <class T>
concept Primitive = requires(const T op, Inputs in, Backward& backward) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kTraits } -> std::same_as<const OpTraits&>;
  { op.infer(in) } -> std::same_as<Descs>;
  { op.vjp(backward) } -> std::same_as<void>;
};

/// An op composed of others: a backend without a kernel for it runs these.
template <class T>
concept Composite = Primitive<T> && requires(const T op, Inputs in) {
  { op.expand(in) } -> std::same_as<Values>;
};

/// An op that the planner builds from ops that were inferred and recorded one by one.
template <class T>
concept Planned = std::is_same_v<T, Fused> || std::is_same_v<T, Epilogue> || std::is_same_v<T, RowBlocked> ||
                  std::is_same_v<T, RowFused> || std::is_same_v<T, Batched>;

template <class T>
struct Checked {
  static_assert(Primitive<T>);
  static_assert(
      T::kTraits.bound != Bound::Compute || requires(const T op, Inputs in) { op.flops(in, in); },
      "an op bound by arithmetic says how much of it there is");
  using type = T;
};
template <class... Ts>
using OneOf = std::variant<typename Checked<Ts>::type...>;

struct Op {
  using Alternatives = OneOf<Unary, Binary, Where, Within, Cast,            // elementwise
                             Special, Gcd,                                  // special
                             Reduce, ArgReduce,                             // reduce
                             Scan, Recurrence,                              // scan
                             Sort, TopK, SearchSorted,                      // order
                             Reshape, Permute, Expand, Slice, SliceAssign,  // view
                             Unfold, Fold,                                  // view
                             Matmul, MatmulInteger,                         // matmul
                             Conv, ConvTranspose, ConvWeightGrad,           // conv
                             ConvInteger,                                   //
                             MaxPool, MaxPoolGrad, AvgPool, AvgPoolGrad,    // pool
                             Resample,                                      // resample
                             Blend, BlendTranspose, BlendWeightGrad,        // blend
                             GridSample, GridSampleTranspose,               // sample
                             GridSampleGridGrad,                            //
                             Gather, Scatter, Select, SelectUpdate,         // index
                             SelectSum, RavelIndex, Nonzero, MaskSelect,    // index
                             Cat, Ravel,                                    // assemble
                             Fill, Arange, Random, Dropout,                 // create
                             Softmax, LayerNorm,                            // norm
                             BatchNorm, BatchNormGrad,                      // channel_norm
                             GroupNorm, GroupNormGrad,                      //
                             Attention, AttentionGrad,                      // attention
                             RecurrentLayer, RecurrentLayerGrad,            // recurrent
                             CrossEntropy,                                  // loss
                             Fft,                                           // signal
                             Ctc, Rnnt,                                     // loss
                             Cholesky, Lu, Qr,                              // factor
                             Solve, TriangularSolve, Det,                   // solve
                             Eigh, Svd, Pinv,                               // spectrum
                             AllReduce, Broadcast,                          // collective
                             AllGather, ReduceScatter,                      //
                             Custom, Fused, Epilogue,                       // planned
                             RowBlocked, RowFused, Batched>;

  template <Primitive T>
  Op(T op) : is(std::in_place_type<T>, std::move(op)) {}

  // Compiled once, in op.cpp: otherwise every file that copies an op would compile a function for every alternative.
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();

  union {  // the constructor above would otherwise compile the destructor as well
    Alternatives is;
  };
};

template <class Result, class F, class T>
Result call_with(F& f, const Op::Alternatives& is) {
  return f(*std::get_if<T>(&is));
}

/// Calls f with the op's struct. Only this function knows how the set is represented. It has its own table, since
/// std::visit takes compilers several times as long.
template <class F>
decltype(auto) visit(const Op& op, F&& f) {
  return [&]<class First, class... Rest>(const std::variant<First, Rest...>& is) -> decltype(auto) {
    using Result = std::invoke_result_t<F&, const First&>;
    using Function = std::remove_reference_t<F>;
    static constexpr Result (*kCalls[])(Function&, const Op::Alternatives&) = {call_with<Result, Function, First>,
                                                                               call_with<Result, Function, Rest>...};
    return kCalls[is.index()](f, is);
  }(op.is);
}

inline std::string_view name(const Op& op) {
  return visit(op, []<class T>(const T&) -> std::string_view { return T::kName; });
}
/// The function that a user called: "add" where name() is "binary".
std::string_view function_name(const Op& op);
/// The name in reports: the spoken name, a custom op's own name, or the steps of a fused op.
std::string display_name(const Op& op);  // "mul+add+gelu"

// ---- ops are values: by reflection over their attributes (op.cpp) ---------------------------------------------------
/// Whether both are the same struct with equal attributes. Custom ops are equal where they share one CustomOp.
bool operator==(const Op& a, const Op& b);
/// Equal ops have equal hashes.
std::size_t hash(const Op& op);
/// "dims=[1]": the attributes; empty where there are none. Custom ops define their own.
std::string attributes(const Op& op);
/// "sum(dims=[1])"; for a custom op its own name.
void append(std::string& out, const Op& op);

}  // namespace op
}  // namespace kiln
