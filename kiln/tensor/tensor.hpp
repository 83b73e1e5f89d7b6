// Tensor<D, K>: a tensor of D dimensions whose elements are of kind K (Float, Int or Bool). It wraps a Value: every
// method is one call of a function over Values, and its signature states the rank and kind of the result. Shape,
// element type and device are run-time properties; a method that a kind or rank lacks does not exist.
#pragma once
#include <array>
#include <concepts>
#include <type_traits>
#include <vector>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"
#include "kiln/tensor/parts/check.hpp"
#include "kiln/tensor/parts/kind.hpp"
#include "kiln/tensor/parts/range.hpp"

namespace kiln {

template <int D, class K = Float>
class Tensor;
template <int D, class K>
struct TensorWithIndices;

/// A result that converts to the Tensor type of a signature.
struct Typed {
  Value value;
};

/// x.sum(keep, 1): keeps the reduced dimensions, with size 1.
struct Keep {};
inline constexpr Keep keep;

/// Variances are divided by the count minus this number: x.var(biased, 1), x.var(Correction{2}, 1). For a sample it is
/// 1.
struct Correction {
  int less = 1;
};
inline constexpr Correction biased{0};

// ---- the operands of typed functions: a tensor or a plain number ---------------------------------------------------
template <class T>
struct OperandTraits {};
template <Number T>
struct OperandTraits<T> {
  static constexpr int kRank = 0;
  using Kind = KindOf<T>;
};
template <int D, class K>
struct OperandTraits<Tensor<D, K>> {
  static constexpr int kRank = D;
  using Kind = K;
};
template <class T>
concept Operand = requires { typename OperandTraits<T>::Kind; };
/// Converts an operand to a type that functions over Value take.
template <int D, class K>
const Value& value_of(const Tensor<D, K>& x) {
  return x.value();
}
template <Number N>
Value value_of(N number) {
  return number;
}
template <Operand T>
using KindOfOperand = typename OperandTraits<T>::Kind;
/// The rank of the shape that `A` and `B` broadcast to: the larger one.
template <Operand A, Operand B>
inline constexpr int kJoinedRank =
    OperandTraits<A>::kRank < OperandTraits<B>::kRank ? OperandTraits<B>::kRank : OperandTraits<A>::kRank;

/// Braces nested D deep: {{1, 2}, {3, 4}} for D = 2.
template <int D, class T>
struct NestedBraces {
  using type = std::initializer_list<typename NestedBraces<D - 1, T>::type>;
};
template <int D, class T>
requires(D <= 0) struct NestedBraces<D, T> {
  using type = T;
};
template <int D, class K>
using Nested = typename NestedBraces<D, typename K::Literal>::type;

/// Throws ShapeError where rows differ in length.
template <int D, class K>
TensorData nested_data(const Nested<D, K>& elements, DType dtype);

/// Elements that are contiguous in memory: a vector, a span, an array.
template <class T>
concept Sequence = requires(const T& list) { *list.data() + list.size(); };

/// The rank of x.flatten<First, Last>(); a single number becomes a list of one.
template <int First, int Last, int D>
inline constexpr int kFlattenedRank =
    [](int rank) { return rank == 0 ? 1 : rank - ((Last + rank) % rank - (First + rank) % rank); }(D);

// ---- the entries of x(...): see range.hpp --------------------------------------------------------------------------
template <class T>
struct EntryTraits {};
/// An entry removes `kDropped` dimensions of x; a tensor of indices adds `kPlaces` in their stead (-1: it is none).
template <std::convertible_to<IndexEntry> T>
struct EntryTraits<T> {
  static constexpr int kDropped = Integer<T>, kPlaces = -1;
};
template <int E>
struct EntryTraits<Tensor<E, Int>> {
  static constexpr int kDropped = 1, kPlaces = E;
};
template <int E>
struct EntryTraits<Tensor<E, Bool>> {
  static constexpr int kDropped = E, kPlaces = 1;
};
template <class T>
concept Entry = requires { EntryTraits<T>::kDropped; };

template <Entry T>
IndexEntry index_entry(const T& entry) {
  if constexpr (EntryTraits<T>::kPlaces < 0) return entry;
  else return IndexEntry(entry.value());
}

template <int D, class K>
class [[nodiscard("an operation changes no tensor: it returns a new one")]] Tensor {
  static_assert(0 <= D && D <= kMaxRank, "a tensor has 0 to 8 dimensions");
  using Refused = Tensor;  // what a call returns that does not compile and says why
  template <Integer... Dim>
  static constexpr int kReduced = sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim));
  /// The rank of x(entries...). Tensors of indices broadcast together.
  template <Entry... Entries>
  static constexpr int kIndexed =
      D - (0 + ... + EntryTraits<Entries>::kDropped) + kLargest<0, EntryTraits<Entries>::kPlaces...>;

 public:
  static constexpr int kRank = D;
  using Literal = typename K::Literal;

  /// An empty tensor: an absent bias.
  Tensor() = default;
  Tensor(Typed result) : Tensor(std::move(result.value)) {}
  /// Throws ShapeError or DTypeError: "expected a tensor of rank 2, got float32 [3]".
  explicit Tensor(Value value) : value_(std::move(value)) { require_tensor(value_, D, K::kKind); }
  template <int E, class L>
  explicit Tensor(const Tensor<E, L>&) = delete;

  /// Nested braces: Tensor<2>::of({{1, 2, 3}, {4, 5, 6}}, device). Throws ShapeError where rows differ in length.
  static Tensor of(const Nested<D, K>& elements, const Device& device, DType dtype = K::kDefault) {
    return Typed{kiln::from_data(nested_data<D, K>(elements, dtype), device)};
  }
  /// The elements of a vector, span or array in row-major order; the tensor has their element type.
  template <Sequence S>
  static Tensor of(const S& elements, const Shape& shape, const Device& device) {
    using T = std::remove_cvref_t<decltype(*elements.data())>;
    return Typed{kiln::from_data(TensorData::of<T>(shape, {elements.data(), elements.size()}), device)};
  }
  template <Sequence S>
  static Tensor of(const S& elements, const Device& device) requires(D == 1) {
    return of(elements, Shape{static_cast<std::int64_t>(elements.size())}, device);
  }
  static Tensor from_data(TensorData data, const Device& device) {
    return Typed{kiln::from_data(std::move(data), device)};
  }
  static Tensor full(const Shape& shape, Literal value, const Device& device, DType dtype = K::kDefault) {
    return Typed{kiln::full(shape, value, device, dtype)};
  }
  static Tensor zeros(const Shape& shape, const Device& device, DType dtype = K::kDefault) {
    return full(shape, 0, device, dtype);
  }
  static Tensor ones(const Shape& shape, const Device& device, DType dtype = K::kDefault) {
    return full(shape, 1, device, dtype);
  }

  // ---- its properties ----------------------------------------------------------------------------------------------
  /// Explicit, so that a call that fits no function over tensors does not fall back to one over Values.
  explicit operator const Value&() const { return value_; }
  const Value& value() const& { return value_; }
  Value value() && { return std::move(value_); }
  bool empty() const { return value_.empty(); }
  const Shape& shape() const& { return value_.shape(); }
  Shape shape() && { return value_.shape(); }
  std::int64_t dim(int i) const { return value_.dim(i); }
  std::int64_t numel() const { return value_.numel(); }
  DType dtype() const { return value_.dtype(); }
  Device device() const { return value_.device(); }
  /// auto [batch, height, width] = images.dims();
  std::array<std::int64_t, D> dims() const {
    std::array<std::int64_t, D> sizes{};
    for (int i = 0; i < D; ++i) sizes[static_cast<std::size_t>(i)] = shape()[i];
    return sizes;
  }

  // ---- reading its contents: waits for the device ------------------------------------------------------------------
  TensorData data() const { return value_.data(); }
  template <class T = typename K::Element>
  std::vector<T> to_vector() const {
    return data().template to_vector<T>();
  }
  /// The only element, of any rank. Throws ShapeError where there is not exactly one.
  template <class T = typename K::Element>
  T item() const {
    if (numel() != 1) (void)value_.item();  // throws
    return to_vector<T>()[0];
  }
  // ---- starting to read: Future::get() waits, co_await too; read(x, y) reads several in one synchronisation ---------
  Future<TensorData> read_async() const { return kiln::read_async(value_); }
  template <class T = typename K::Element>
  Future<T> item_async() const {
    if (numel() != 1) (void)value_.item();  // throws
    return {start_read({&value_, 1}), [](std::vector<TensorData> data) { return data[0].template to_vector<T>()[0]; }};
  }

  // ---- the same elements on another device, or as another type -----------------------------------------------------
  Tensor to_device(const Device& device) const { return Typed{kiln::to_device(value_, device)}; }
  /// Converts to another element type of the same kind.
  Tensor to(DType dtype) const { return Typed{kiln::cast(value_, dtype)}; }
  template <std::same_as<Device> T>
  Refused to(const T&) const {
    static_assert(std::is_void_v<T>, "to(device) is written to_device(device) here");
    return *this;
  }
  Tensor<D, Float> to_float(DType dtype = DType::F32) const { return Typed{kiln::cast(value_, dtype)}; }
  /// Truncates towards zero.
  Tensor<D, Int> to_int(DType dtype = DType::I64) const { return Typed{kiln::cast(value_, dtype)}; }
  Tensor<D, Bool> to_bool() const { return Typed{kiln::cast(value_, DType::Bool)}; }

  // ---- gradients ---------------------------------------------------------------------------------------------------
  /// This tensor's data as the leaf of a new graph. Throws AutodiffError on a device without autodiff.
  Tensor require_grad() const requires Has<K>::Float { return Typed{value_.require_grad()}; }
  Tensor detach() const { return Typed{value_.detach()}; }
  /// Returns require_grad() or detach().
  Tensor set_require_grad(bool wanted) const requires Has<K>::Float { return wanted ? require_grad() : detach(); }
  bool tracked() const { return value_.tracked(); }
  /// Returns the gradients with respect to the leaves that this tensor depends on: grads.of(leaf) is a tensor like the
  /// leaf. Throws AutodiffError where it depends on nothing tracked. {.create_graph = true} makes them differentiable
  /// again.
  Gradients backward(const BackwardOptions& options = {}) const requires(D == 0 && Has<K>::Float) {
    return kiln::backward(value_, options);
  }

  // ---- elementwise: a method for each name of elementwise/names.def; operands broadcast and promote ----------------
#define KILN_UNARY(function, domain)                                                   \
  Tensor<D, typename Computes<K>::domain> function() const requires Takes<K>::domain { \
    return Typed{kiln::function(value_)};                                              \
  }
#define KILN_PREDICATE(function, domain) \
  Tensor<D, Bool> function() const requires Takes<K>::domain { return Typed{kiln::function(value_)}; }
#define KILN_BINARY(function, domain)                                                                               \
  template <Operand Y>                                                                                              \
  Tensor<kJoinedRank<Tensor, Y>, Joined<typename Computes<K>::domain, KindOfOperand<Y>>> function(const Y& y) const \
      requires Takes<K>::domain {                                                                                   \
    return Typed{kiln::function(value_, value_of(y))};                                                              \
  }
#define KILN_COMPARISON(function, domain)                                                   \
  template <Operand Y>                                                                      \
  Tensor<kJoinedRank<Tensor, Y>, Bool> function(const Y& y) const requires Has<K>::domain { \
    return Typed{kiln::function(value_, value_of(y))};                                      \
  }
#include "kiln/ops/elementwise/names.def"

  template <Operand Low, Operand High>
  Tensor clamp(const Low& low, const High& high) const requires Has<K>::Number {
    return Typed{kiln::clamp(value_, value_of(low), value_of(high))};
  }

  // ---- reductions: x.sum() over everything, x.sum(0, -1) over some dimensions, x.sum(keep, -1) keeps them ----------
  template <class... Args>
  static Refused keeps_by_a_flag() {
    static_assert(sizeof...(Args) == 0, "x.sum(dim, true) is written x.sum(keep, dim) here, as in all reductions");
    return {};
  }
#define KILN_KEEPS_BY_A_FLAG(function)                                             \
  template <class... Args>                                                         \
  requires(std::same_as<Args, bool> || ...) Refused function(int, Args...) const { \
    return keeps_by_a_flag<Args...>();                                             \
  }
#define KILN_REDUCE(function, Result, domain)                                            \
  KILN_KEEPS_BY_A_FLAG(function)                                                         \
  template <Integer... Dim>                                                              \
  Tensor<kReduced<Dim...>, Result> function(Dim... dims) const requires Has<K>::domain { \
    return Typed{kiln::function(value_, dims_or_all({dims...}, D))};                     \
  }                                                                                      \
  template <Integer... Dim>                                                              \
  Tensor<D, Result> function(Keep, Dim... dims) const requires Has<K>::domain {          \
    return Typed{kiln::function(value_, dims_or_all({dims...}, D), true)};               \
  }
  KILN_REDUCE(sum, Arithmetic<K>, Any)
  KILN_REDUCE(prod, Arithmetic<K>, Any)
  KILN_REDUCE(mean, Float, Float)
  KILN_REDUCE(max, K, Number)
  KILN_REDUCE(min, K, Number)
  KILN_REDUCE(any, Bool, Any)  // numbers: not 0
  KILN_REDUCE(all, Bool, Any)
  KILN_REDUCE(count_nonzero, Int, Any)
  KILN_REDUCE(max_abs, K, Number)
  KILN_REDUCE(logsumexp, Float, Number)
  // Reductions that leave out NaN; see ops/reduce/statistics.hpp.
  KILN_REDUCE(nansum, K, Float)
  KILN_REDUCE(nanmean, K, Float)
  KILN_REDUCE(nanmax, K, Float)
  KILN_REDUCE(nanmin, K, Float)
#undef KILN_REDUCE
  // Divides by count - 1, as for a sample, or as a Correction says.
#define KILN_SPREAD(function, over_dims)                                                               \
  KILN_KEEPS_BY_A_FLAG(function)                                                                       \
  template <Integer... Dim>                                                                            \
  Tensor<kReduced<Dim...>> function(Dim... dims) const requires Has<K>::Float {                        \
    return Typed{kiln::over_dims(value_, dims_or_all({dims...}, D))};                                  \
  }                                                                                                    \
  template <Integer... Dim>                                                                            \
  Tensor<D> function(Keep, Dim... dims) const requires Has<K>::Float {                                 \
    return Typed{kiln::over_dims(value_, dims_or_all({dims...}, D), 1, true)};                         \
  }                                                                                                    \
  template <Integer... Dim>                                                                            \
  Tensor<kReduced<Dim...>> function(Correction correction, Dim... dims) const requires Has<K>::Float { \
    return Typed{kiln::over_dims(value_, dims_or_all({dims...}, D), correction.less)};                 \
  }                                                                                                    \
  template <Integer... Dim>                                                                            \
  Tensor<D> function(Keep, Correction correction, Dim... dims) const requires Has<K>::Float {          \
    return Typed{kiln::over_dims(value_, dims_or_all({dims...}, D), correction.less, true)};           \
  }
  KILN_SPREAD(var, variance)
  KILN_SPREAD(std, deviation)
  KILN_SPREAD(nanvar, nanvar)
  KILN_SPREAD(nanstd, nanstd)
#undef KILN_SPREAD
#undef KILN_KEEPS_BY_A_FLAG
  /// The index of the first extreme element along `dim`, or among all in row-major order.
  Tensor<D - 1, Int> argmax(Dim dim) const requires Has<K>::Number { return Typed{kiln::argmax(value_, dim)}; }
  Tensor<D - 1, Int> argmin(Dim dim) const requires Has<K>::Number { return Typed{kiln::argmin(value_, dim)}; }
  Tensor<0, Int> argmax() const requires Has<K>::Number { return Typed{kiln::argmax(value_)}; }
  Tensor<0, Int> argmin() const requires Has<K>::Number { return Typed{kiln::argmin(value_)}; }
  Tensor<D, Int> argmax(Keep, Dim dim) const requires Has<K>::Number { return Typed{kiln::argmax(value_, dim, true)}; }
  Tensor<D, Int> argmin(Keep, Dim dim) const requires Has<K>::Number { return Typed{kiln::argmin(value_, dim, true)}; }

  // ---- scans along a dimension; see ops/reduce/scan.hpp ------------------------------------------------------------
  Tensor<D, Arithmetic<K>> cumsum(Dim dim, const ScanOptions& options = {}) const {
    return Typed{kiln::cumsum(value_, dim, options)};
  }
  Tensor<D, Arithmetic<K>> cumprod(Dim dim, const ScanOptions& options = {}) const {
    return Typed{kiln::cumprod(value_, dim, options)};
  }
  TensorWithIndices<D, K> cummax(Dim dim) const requires Has<K>::Number { return kiln::cummax(value_, dim); }
  TensorWithIndices<D, K> cummin(Dim dim) const requires Has<K>::Number { return kiln::cummin(value_, dim); }
  Tensor logcumsumexp(Dim dim) const requires Has<K>::Float { return Typed{kiln::logcumsumexp(value_, dim)}; }

  // ---- order: ops/reduce/order.hpp describes equal elements and NaN ------------------------------------------------
  /// auto [values, indices] = x.topk(5, -1);
  TensorWithIndices<D, K> topk(std::int64_t k, Dim dim = -1, bool largest = true) const {
    return kiln::topk(value_, k, dim, largest);
  }
  Tensor<D, Int> argtopk(std::int64_t k, Dim dim = -1, bool largest = true) const {
    return Typed{kiln::argtopk(value_, k, dim, largest)};
  }
  TensorWithIndices<D, K> sort(Dim dim = -1, bool descending = false) const {
    return kiln::sort(value_, dim, descending);
  }
  Tensor<D, Int> argsort(Dim dim = -1, bool descending = false) const {
    return Typed{kiln::argsort(value_, dim, descending)};
  }
  Tensor msort() const { return Typed{kiln::msort(value_)}; }
  Tensor<D - 1, Bool> is_sorted(Dim dim = -1, bool descending = false) const {
    return Typed{kiln::is_sorted(value_, dim, descending)};
  }
#define KILN_CHOICE(function)                                                                 \
  TensorWithIndices<D - 1, K> function(Dim dim) const { return kiln::function(value_, dim); } \
  TensorWithIndices<D, K> function(Keep, Dim dim) const { return kiln::function(value_, dim, true); }
  KILN_CHOICE(max_with_index)
  KILN_CHOICE(min_with_index)
  KILN_CHOICE(median)
  KILN_CHOICE(nanmedian)
  KILN_CHOICE(mode)
#undef KILN_CHOICE
  Tensor<0, K> median() const { return Typed{kiln::median(value_)}; }
  Tensor<0, K> nanmedian() const { return Typed{kiln::nanmedian(value_)}; }
  /// The k-th smallest, counted from 1.
  TensorWithIndices<D - 1, K> kthvalue(std::int64_t k, Dim dim) const { return kiln::kthvalue(value_, k, dim); }
  TensorWithIndices<D, K> kthvalue(Keep, std::int64_t k, Dim dim) const { return kiln::kthvalue(value_, k, dim, true); }
  Tensor<D - 1> quantile(double q, Dim dim, Between between = Between::Linear) const requires Has<K>::Number {
    return Typed{kiln::quantile(value_, q, dim, between)};
  }
  Tensor<D - 1> nanquantile(double q, Dim dim, Between between = Between::Linear) const requires Has<K>::Number {
    return Typed{kiln::nanquantile(value_, q, dim, between)};
  }
  /// Several quantiles, along a new first dimension: x.quantile({0.25, 0.75}, -1)
  Tensor<D> quantile(std::initializer_list<double> qs, Dim dim, Between between = Between::Linear) const
      requires Has<K>::Number {
    return Typed{kiln::quantile(value_, {qs.begin(), qs.size()}, dim, between)};
  }
  Tensor<D> nanquantile(std::initializer_list<double> qs, Dim dim, Between between = Between::Linear) const
      requires Has<K>::Number {
    return Typed{kiln::nanquantile(value_, {qs.begin(), qs.size()}, dim, between)};
  }

  // ---- views -------------------------------------------------------------------------------------------------------
  /// x.reshape(2, -1): the number of sizes is the new rank; one may be -1, which stands for the remaining elements.
  template <Integer... Size>
  Tensor<sizeof...(Size), K> reshape(Size... sizes) const {
    return Typed{kiln::reshape(value_, {sizes...})};
  }
  /// x.reshape<3>(shape)
  template <int R>
  Tensor<R, K> reshape(const Shape& shape) const {
    return Typed{kiln::reshape(value_, shape)};
  }
  /// x.flatten() to one dimension; x.flatten<1>() keeps the first, x.flatten<0, 1>() merges the first two.
  template <int First = 0, int Last = -1>
  Tensor<kFlattenedRank<First, Last, D>, K> flatten() const {
    return Typed{kiln::flatten(value_, First, Last)};
  }
  template <int E, class L>
  Tensor<E, K> reshape_as(const Tensor<E, L>& other) const {
    return Typed{kiln::reshape(value_, other.shape())};
  }
  /// Adds dimensions of size 1 at the positions `dims` of the result (-1: at the end).
  template <Integer... Dim>
  Tensor<D + sizeof...(Dim), K> unsqueeze(Dim... dims) const requires(sizeof...(Dim) > 0) {
    return Typed{kiln::unsqueeze(value_, Dims{dims...})};
  }
  /// Drops `dims`, which must have size 1.
  template <Integer... Dim>
  Tensor<D - static_cast<int>(sizeof...(Dim)), K> squeeze(Dim... dims) const requires(sizeof...(Dim) > 0) {
    return Typed{kiln::squeeze(value_, Dims{dims...})};
  }
  /// Drops all dimensions of size 1, leaving R: x.squeeze<1>(). Throws ShapeError where another number is left.
  template <int R>
  Tensor<R, K> squeeze() const requires(0 <= R && R <= D) {
    Dims dims;
    for (int i = 0; i < D; ++i)
      if (value_.dim(i) == 1) dims.push_back(i);
    require<ShapeError>(dims.size() == D - R, "squeeze: ", shape(), " without its dimensions of size 1 has ",
                        D - dims.size(), " dimensions, not ", R);
    return Typed{kiln::squeeze(value_, dims)};
  }
  /// Dimension i of the result is dimension dims[i] of this.
  template <Integer... Dim>
  Tensor permute(Dim... dims) const requires(sizeof...(Dim) == D) {
    return Typed{kiln::permute(value_, {dims...})};
  }
  Tensor transpose(Dim dim1 = -2, Dim dim2 = -1) const { return Typed{kiln::transpose(value_, dim1, dim2)}; }
  Tensor t() const requires(D == 2) { return transpose(); }
  /// Repeats dimensions of size 1, and adds leading ones, without copying.
  template <Integer... Size>
  Tensor<sizeof...(Size), K> expand(Size... sizes) const {
    return Typed{kiln::expand(value_, {sizes...})};
  }
  template <int R>
  Tensor<R, K> expand(const Shape& shape) const {
    return Typed{kiln::expand(value_, shape)};
  }
  template <int E, class L>
  Tensor<E, K> expand_as(const Tensor<E, L>& other) const {
    return Typed{kiln::expand(value_, other.shape())};
  }
  /// Dimension `from` becomes dimension `to`; the others keep their order.
  Tensor movedim(Dim from, Dim to) const { return Typed{kiln::movedim(value_, {from}, {to})}; }
  Tensor movedim(const Dims& from, const Dims& to) const { return Typed{kiln::movedim(value_, from, to)}; }
  template <Integer... Dim>
  Tensor flip(Dim... dims) const {
    return Typed{kiln::flip(value_, {dims...})};
  }
  Tensor fliplr() const requires(D >= 2) { return Typed{kiln::fliplr(value_)}; }
  Tensor flipud() const requires(D >= 1) { return Typed{kiln::flipud(value_)}; }
  /// Rotates by quarter turns from dim1 towards dim2: counterclockwise for a matrix as it is written.
  Tensor rot90(int times = 1, Dim dim1 = 0, Dim dim2 = 1) const requires(D >= 2) {
    return Typed{kiln::rot90(value_, times, dim1, dim2)};
  }
  /// Element i along `dim` moves to i + shift; elements that leave at one end enter at the other.
  Tensor roll(std::int64_t shift, Dim dim) const { return Typed{kiln::roll(value_, shift, dim)}; }
  Tensor roll(const Dims& shifts, const Dims& dims) const { return Typed{kiln::roll(value_, shifts, dims)}; }
  /// Repeats the tensor times[i] times along dimension i.
  template <Integer... Times>
  Tensor repeat(Times... times) const requires(sizeof...(Times) == D) {
    return Typed{kiln::repeat(value_, {times...})};
  }
  /// Like repeat(), but the shorter of this tensor's shape and `times` gets leading ones.
  template <Integer... Times>
  Tensor<kLargest<D, static_cast<int>(sizeof...(Times))>, K> tile(Times... times) const {
    return Typed{kiln::tile(value_, {times...})};
  }
  /// Repeats each slice of `dim` that many times in a row.
  Tensor repeat_interleave(std::int64_t times, Dim dim) const {
    return Typed{kiln::repeat_interleave(value_, times, dim)};
  }
  /// Repeats slice i of `dim` times[i] times in a row. Waits for the device.
  Tensor repeat_interleave(const Tensor<1, Int>& times, Dim dim) const {
    return Typed{kiln::repeat_interleave(value_, times.value(), dim)};
  }
  /// Windows of `size` elements, `dilation` apart, that begin every `step` elements of `dim`; a view whose last
  /// dimension is the position within a window.
  Tensor<D + 1, K> unfold(Dim dim, std::int64_t size, std::int64_t step, std::int64_t dilation = 1) const {
    return Typed{kiln::unfold(value_, dim, size, step, dilation)};
  }
  /// The sum of such windows where they overlap, in a `dim` of `length` elements: the adjoint of unfold().
  Tensor<D - 1, K> fold(Dim dim, std::int64_t length, std::int64_t step, std::int64_t dilation = 1) const
      requires(D >= 2 && Has<K>::Number) {
    return Typed{kiln::fold(value_, dim, length, step, dilation)};
  }
  /// A diagonal, as the last dimension; `offset` counts to the right. dim1 counts rows, dim2 columns.
  Tensor<D - 1, K> diagonal(std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1) const requires(D >= 2) {
    return Typed{kiln::diagonal(value_, offset, dim1, dim2)};
  }
  /// Matrices with this tensor as their diagonal, and zeros elsewhere.
  Tensor<D + 1, K> diag_embed(std::int64_t offset = 0, Dim dim1 = -2, Dim dim2 = -1) const requires(D >= 1) {
    return Typed{kiln::diag_embed(value_, offset, dim1, dim2)};
  }
  /// The sums of the diagonals of matrices, which are the last two dimensions.
  Tensor<D - 2, K> trace() const requires(D >= 2 && Has<K>::Number) { return Typed{kiln::trace(value_)}; }
  /// Zeros elements below (triu) or above (tril) a diagonal of the last two dimensions.
  Tensor triu(std::int64_t offset = 0) const requires(D >= 2) { return Typed{kiln::triu(value_, offset)}; }
  Tensor tril(std::int64_t offset = 0) const requires(D >= 2) { return Typed{kiln::tril(value_, offset)}; }
  /// Element `index` (negative from the end) of `dim`, without that dimension.
  Tensor<D - 1, K> at(Dim dim, std::int64_t index) const requires(D >= 1) {
    return Typed{kiln::at(value_, dim, index)};
  }
  Tensor slice_dim(Dim dim, const Range& range) const { return Typed{kiln::slice_dim(value_, dim, range)}; }
  /// Elements [start, start + count) of `dim`.
  Tensor narrow(Dim dim, std::int64_t start, std::int64_t count) const {
    return Typed{kiln::narrow(value_, dim, start, count)};
  }
  /// Parts of `size` along `dim`; the last may be smaller.
  std::vector<Tensor> split(std::int64_t size, Dim dim = 0) const { return typed(kiln::split(value_, size, dim)); }
  std::vector<Tensor> chunk(std::int64_t parts, Dim dim = 0) const { return typed(kiln::chunk(value_, parts, dim)); }
  /// Exactly `parts` parts; the first ones have one element more where they cannot be equal.
  std::vector<Tensor> tensor_split(std::int64_t parts, Dim dim = 0) const {
    return typed(kiln::tensor_split(value_, parts, dim));
  }
  /// Parts of the given sizes, which must add up to that of `dim`.
  std::vector<Tensor> split_with_sizes(const std::vector<std::int64_t>& sizes, Dim dim = 0) const {
    return typed(kiln::split_with_sizes(value_, sizes, dim));
  }
  /// Parts that begin at 0 and at each of the ascending `starts`.
  std::vector<Tensor> split_at(const std::vector<std::int64_t>& starts, Dim dim = 0) const {
    return typed(kiln::split_at(value_, starts, dim));
  }
  /// One part for each index of `dim`, without that dimension.
  std::vector<Tensor<D - 1, K>> unbind(Dim dim = 0) const requires(D >= 1) {
    std::vector<Tensor<D - 1, K>> parts;
    for (const Value& part : kiln::unbind(value_, dim)) parts.emplace_back(part);
    return parts;
  }
  /// `before` and `after` give the number of elements to add at either end of each dimension; negative numbers remove
  /// some.
  Tensor pad(const Dims& before, const Dims& after, Literal value = {}) const {
    return Typed{kiln::pad(value_, before, after, value)};
  }
  Tensor pad(const Dims& before, const Dims& after, PadMode mode) const {
    return Typed{kiln::pad(value_, before, after, mode)};
  }

  // ---- indexing ----------------------------------------------------------------------------------------------------
  /// x(0, s(1, end), ellipsis, -1): an index drops its dimension; see range.hpp. x(i, j) with index tensors and x(mask)
  /// work as in NumPy: the dimensions that indices broadcast to replace the indexed ones if these are neighbours, and
  /// come first otherwise; a mask yields one dimension, and waits for the device.
  template <Entry... Entries>
  Tensor<kIndexed<Entries...>, K> operator()(const Entries&... entries) const requires(kIndexed<Entries...> >= 0) {
    return Typed{index(value_, std::array<IndexEntry, sizeof...(Entries)>{index_entry(entries)...})};
  }
  template <class T>
  Refused operator[](const T&) const {
    static_assert(std::is_void_v<T>, "x[i] is written x(i) here, x[i][j] and x[i, j] are x(i, j)");
    return *this;
  }
  /// This tensor with the elements at x(entries...) replaced by `value`, which broadcasts to them: x.assign(0, x < 0).
  /// A mask waits for the device only if the value has a dimension for the selected elements.
  template <Operand V, Entry... Entries>
  Tensor assign(const V& value, const Entries&... entries) const {
    static_assert(OperandTraits<V>::kRank <= kIndexed<Entries...>,
                  "assign: the value has more dimensions than x(entries...)");
    return Typed{
        index_assign(value_, std::array<IndexEntry, sizeof...(Entries)>{index_entry(entries)...}, value_of(value))};
  }
  /// assign() with another mode: x.update(Update::Add, 1.0, i, j) adds as often as a position occurs.
  template <Operand V, Entry... Entries>
  Tensor update(Update mode, const V& value, const Entries&... entries) const {
    static_assert(OperandTraits<V>::kRank <= kIndexed<Entries...>,
                  "update: the value has more dimensions than x(entries...)");
    return Typed{index_assign(value_, std::array<IndexEntry, sizeof...(Entries)>{index_entry(entries)...},
                              value_of(value), mode)};
  }

  // One index for each element. Indices are 0 to size - 1; negative ones count from the end only where documented.
  // ops/index/update.hpp and ops/index/index.hpp describe writes and their gradients.
  /// result[i][j] = x[i][index[i][j]] for dim = 1
  Tensor gather(Dim dim, const Tensor<D, Int>& index) const { return Typed{kiln::gather(value_, dim, index.value())}; }
  /// This tensor with the elements that gather() with the same index would read updated by `source`.
  Tensor scatter(Dim dim, const Tensor<D, Int>& index, const Tensor& source, Update update = Update::Assign) const {
    return Typed{kiln::scatter(value_, dim, index.value(), source.value(), update)};
  }
  Tensor scatter_add(Dim dim, const Tensor<D, Int>& index, const Tensor& source) const requires Has<K>::Number {
    return Typed{kiln::scatter_add(value_, dim, index.value(), source.value())};
  }
  /// gather(), but both broadcast in the dimensions other than `dim`; negative indices count from the end.
  Tensor take_along_dim(const Tensor<D, Int>& index, Dim dim) const {
    return Typed{kiln::take_along_dim(value_, index.value(), dim)};
  }
  /// Elements of the flattened tensor; negative indices count from the end.
  template <int E>
  Tensor<E, K> take(const Tensor<E, Int>& index) const {
    return Typed{kiln::take(value_, index.value())};
  }

  // One index for each slice.
  /// Slices of `dim`, which is replaced by the dimensions of `index`.
  template <int E>
  Tensor<D - 1 + E, K> select(Dim dim, const Tensor<E, Int>& index) const {
    return Typed{kiln::select(value_, dim, index.value())};
  }
  /// This tensor with the slices that select() with the same index would read updated by `source`.
  template <int E>
  Tensor select_assign(Dim dim, const Tensor<E, Int>& index, const Tensor<D - 1 + E, K>& source,
                       Update update = Update::Assign) const {
    return Typed{kiln::select_assign(value_, dim, index.value(), source.value(), update)};
  }
  Tensor index_select(Dim dim, const Tensor<1, Int>& index) const { return select(dim, index); }
  Tensor index_add(Dim dim, const Tensor<1, Int>& index, const Tensor& source) const requires Has<K>::Number {
    return Typed{kiln::index_add(value_, dim, index.value(), source.value())};
  }
  Tensor index_copy(Dim dim, const Tensor<1, Int>& index, const Tensor& source) const {
    return Typed{kiln::index_copy(value_, dim, index.value(), source.value())};
  }
  Tensor index_fill(Dim dim, const Tensor<1, Int>& index, Literal number) const {
    return Typed{kiln::index_fill(value_, dim, index.value(), number)};
  }

  // Several indices for each element: index [..., k] indexes the first k dimensions; negative ones count from the end.
  /// x.gather_nd<R>(index): [..., the other dimensions], R dimensions in total.
  template <int R, int E>
  Tensor<R, K> gather_nd(const Tensor<E, Int>& index) const {
    return Typed{kiln::gather_nd(value_, index.value())};
  }
  template <int E, int R>
  Tensor scatter_nd(const Tensor<E, Int>& index, const Tensor<R, K>& source, Update update = Update::Assign) const {
    return Typed{kiln::scatter_nd(value_, index.value(), source.value(), update)};
  }

  // Masks.
  /// The elements where the mask is true, in row-major order. Waits for the device.
  Tensor<1, K> mask_select(const Tensor<D, Bool>& mask) const { return Typed{kiln::mask_select(value_, mask.value())}; }
  /// `value` where the mask is true, this tensor elsewhere; all broadcast.
  template <int E, Operand V>
  Tensor<kLargest<kJoinedRank<Tensor, V>, E>, Joined<K, KindOfOperand<V>>> mask_where(const Tensor<E, Bool>& mask,
                                                                                      const V& value) const {
    return Typed{kiln::mask_where(value_, mask.value(), value_of(value))};
  }
  /// `number` where the mask is true, this tensor elsewhere; the number's kind must not be higher than the tensor's.
  template <int E, Number N>
  requires std::same_as<Joined<K, KindOf<N>>, K>
  Tensor<kLargest<D, E>, K> mask_fill(const Tensor<E, Bool>& mask, N number) const {
    return Typed{kiln::mask_fill(value_, mask.value(), number)};
  }
  /// This tensor with the masked elements replaced by the first elements of `source`. Waits for the device.
  template <int E>
  Tensor masked_scatter(const Tensor<D, Bool>& mask, const Tensor<E, K>& source) const {
    return Typed{kiln::masked_scatter(value_, mask.value(), source.value())};
  }
  /// The positions of elements that are not zero: an index tensor for each dimension. Waits for the device.
  std::array<Tensor<1, Int>, D> nonzero() const requires(D >= 1) {
    const Values indices = kiln::nonzero(value_);
    std::array<Tensor<1, Int>, D> result;
    for (std::size_t i = 0; i < D; ++i) result[i] = Typed{indices[i]};
    return result;
  }
  /// The positions of elements that are not zero as [count, D].
  Tensor<2, Int> argwhere() const { return Typed{kiln::argwhere(value_)}; }
  /// `on` at the class of each index, else `off`, in a new dimension before `dim` (-1: at the end).
  Tensor<D + 1, Float> one_hot_fill(std::int64_t classes, double on, double off, Dim dim = -1) const
      requires Has<K>::Integer {
    return Typed{kiln::one_hot_fill(value_, classes, on, off, dim)};
  }
  /// 1 at the class of each index; all 0 where the index is out of range.
  Tensor<D + 1, Int> one_hot(std::int64_t classes) const requires Has<K>::Integer {
    return Typed{kiln::one_hot(value_, classes)};
  }

  // ---- contractions and normalisations -----------------------------------------------------------------------------
  /// [..., m, k] x [..., k, n] -> [..., m, n]; leading dimensions broadcast, so ranks may differ.
  template <int E, class L>
  Tensor<(D < E ? E : D), Joined<K, L>> matmul(const Tensor<E, L>& y) const requires(D >= 2 && E >= 2) {
    return Typed{kiln::matmul(value_, y.value())};
  }
  Tensor softmax(Dim dim) const requires Has<K>::Float { return Typed{kiln::softmax(value_, dim)}; }
  Tensor log_softmax(Dim dim) const requires Has<K>::Float { return Typed{kiln::log_softmax(value_, dim)}; }

 private:
  static std::vector<Tensor> typed(const Values& values) {
    std::vector<Tensor> tensors;
    for (const Value& value : values) tensors.push_back(Tensor(value));
    return tensors;
  }

  Value value_;
};

/// The tensor's description in error sentences: "float32 [2, 3]".
template <int D, class K>
void append(std::string& out, const Tensor<D, K>& x) {
  append(out, x.value());
}

/// auto [values, indices] = x.topk(5, -1);
template <int D, class K>
struct TensorWithIndices {
  TensorWithIndices(const ValueWithIndices& result) : values(result.values), indices(result.indices) {}
  Tensor<D, K> values;
  Tensor<D, Int> indices;
};

}  // namespace kiln
