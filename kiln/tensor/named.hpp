// Named<Tensor<3>, "batch", "time", "feature">: a tensor whose dimensions have names, which the compiler checks.
//
//   Named<Tensor<3>, "batch", "time", "feature"> x(activations);
//   auto bias = Named<Tensor<1>, "feature">(b);
//   auto means = (x + bias).mean<"time">();                 // Named<Tensor<2>, "batch", "feature">
//   auto scores = contract<"feature">(means, weights);      // weights "feature", "class" -> "batch", "class"
//
// Operands meet by name, whatever the order of their dimensions. A name that a tensor lacks does not compile; that two
// dimensions of one name have the same size is checked when the program runs.
#pragma once
#include <array>
#include <utility>

#include "kiln/tensor/arithmetic.hpp"

namespace kiln {

/// The name of a dimension: a literal of 1 to 31 letters.
struct DimName {
  char letters[32]{};
  template <std::size_t N>
  requires(2 <= N && N <= 32) consteval DimName(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) letters[i] = text[i];
  }
  friend constexpr bool operator==(const DimName&, const DimName&) = default;
};

template <DimName... kNames>
struct DimNames {
  static constexpr int kCount = static_cast<int>(sizeof...(kNames));
  /// The position of `name`; -1 where there is none.
  static constexpr int find([[maybe_unused]] DimName name) {
    int place = -1;
    [[maybe_unused]] int i = 0;
    ((kNames == name && place < 0 ? void(place = i) : void(), ++i), ...);
    return place;
  }
  static constexpr bool has(DimName name) { return find(name) >= 0; }
  static constexpr bool are_distinct() {
    [[maybe_unused]] int i = 0;
    return ((find(kNames) == i++) && ...);
  }
};

namespace detail {

template <class A, class B>
struct Joint {};
template <DimName... kA, DimName... kB>
struct Joint<DimNames<kA...>, DimNames<kB...>> {
  using type = DimNames<kA..., kB...>;
};
/// The names of `From` that `Others` has, or those that it lacks, in their order.
template <class From, class Others, bool kHas>
struct Filtered {};
template <class Others, bool kHas>
struct Filtered<DimNames<>, Others, kHas> {
  using type = DimNames<>;
};
template <DimName kFirst, DimName... kRest, class Others, bool kHas>
struct Filtered<DimNames<kFirst, kRest...>, Others, kHas> {
  using Rest = typename Filtered<DimNames<kRest...>, Others, kHas>::type;
  using First = std::conditional_t<Others::has(kFirst) == kHas, DimNames<kFirst>, DimNames<>>;
  using type = typename Joint<First, Rest>::type;
};

template <class A, class B>
using Together = typename Joint<A, B>::type;
template <class A, class B>
using Without = typename Filtered<A, B, false>::type;
template <class A, class B>
using Common = typename Filtered<A, B, true>::type;

}  // namespace detail

template <class T, DimName... kNames>
class Named;

namespace detail {
template <class T, class DimNames>
struct NamedBy {};
template <class T, DimName... kNames>
struct NamedBy<T, DimNames<kNames...>> {
  using type = Named<T, kNames...>;
};
/// A tensor of kind K whose dimensions have these names.
template <class K, class DimNames>
using NamedOf = typename NamedBy<Tensor<DimNames::kCount, K>, DimNames>::type;

/// The dimensions of x, which are called `From`, in the order of `To`; those that `From` lacks have size 1.
template <class From, DimName... kTo>
Value in_order(const Value& x, DimNames<kTo...>) {
  Dims order, missing;
  [[maybe_unused]] int place = 0;
  ((From::has(kTo) ? order.push_back(From::find(kTo)) : missing.push_back(place), ++place), ...);
  const Value ordered = permute(x, order);
  return missing.empty() ? ordered : unsqueeze(ordered, missing);
}

/// Throws ShapeError where a dimension that both have has two sizes.
template <class A, class B, DimName... kCommon>
void require_sizes([[maybe_unused]] const Value& x, [[maybe_unused]] const Value& y, DimNames<kCommon...>) {
  (require<ShapeError>(x.dim(A::find(kCommon)) == y.dim(B::find(kCommon)), "named tensors: the dimension '",
                       std::string_view(kCommon.letters), "' has the sizes ", x.dim(A::find(kCommon)), " and ",
                       y.dim(B::find(kCommon))),
   ...);
}
}  // namespace detail

template <int D, class K, DimName... kNames>
class Named<Tensor<D, K>, kNames...> {
  static_assert(sizeof...(kNames) == D, "a named tensor has a name for each dimension");
  static_assert(DimNames<kNames...>::are_distinct(), "no two dimensions of a named tensor have the same name");

 public:
  using All = DimNames<kNames...>;
  using Kind = K;

  explicit Named(Tensor<D, K> x) : x_(std::move(x)) {}
  /// The tensor without names.
  const Tensor<D, K>& tensor() const { return x_; }
  const Value& value() const { return x_.value(); }

  template <DimName kName>
  requires(All::has(kName)) std::int64_t size() const {
    return x_.dim(All::find(kName));
  }
  /// Reductions over the named dimensions: x.sum<"time">().
#define KILN_NAMED_REDUCE(function)                                                           \
  template <DimName... kOver>                                                                 \
  requires(sizeof...(kOver) > 0 && (All::has(kOver) && ...)) auto function() const {          \
    return named<detail::Without<All, DimNames<kOver...>>>(x_.function(All::find(kOver)...)); \
  }
  KILN_NAMED_REDUCE(sum)
  KILN_NAMED_REDUCE(mean)
  KILN_NAMED_REDUCE(max)
  KILN_NAMED_REDUCE(min)
#undef KILN_NAMED_REDUCE
  template <DimName kName>
  requires(All::has(kName)) Named softmax() const {
    return Named(x_.softmax(All::find(kName)));
  }
  /// All names in another order: x.transpose<"time", "batch">().
  template <DimName... kOrder>
  requires(sizeof...(kOrder) == D && (All::has(kOrder) && ...)) auto transpose() const {
    return Named<Tensor<D, K>, kOrder...>(Typed{permute(value(), Dims{All::find(kOrder)...})});
  }
  /// One index of a dimension, which the result lacks: x.at<"time">(0). Throws IndexError where it is out of range.
  template <DimName kName>
  requires(All::has(kName)) auto at(std::int64_t index) const {
    return named<detail::Without<All, DimNames<kName>>>(
        Tensor<D - 1, K>(Typed{kiln::at(value(), All::find(kName), index)}));
  }
  template <DimName kOld, DimName kNew>
  requires(All::has(kOld) && !All::has(kNew)) auto rename() const {
    return Named<Tensor<D, K>, (kNames == kOld ? kNew : kNames)...>(x_);
  }
  /// The elementwise function of names.def: x.exp().
#define KILN_UNARY(function, domain) \
  auto function() const requires requires(const Tensor<D, K> x) { x.function(); } { return named<All>(x_.function()); }
#define KILN_PREDICATE(function, domain) KILN_UNARY(function, domain)
#define KILN_BINARY(function, domain)
#define KILN_COMPARISON(function, domain)
#include "kiln/ops/elementwise/names.def"

 private:
  template <class These, class L>
  static auto named(const Tensor<These::kCount, L>& x) {
    return detail::NamedOf<L, These>(x);
  }

  Tensor<D, K> x_;
};

// Operands broadcast by name: the result has the names of x, then those that y alone has.
#define KILN_NAMED_OPERATOR(symbol)                                                                                 \
  template <class T, DimName... kX, class U, DimName... kY>                                                         \
  auto operator symbol(const Named<T, kX...>& x, const Named<U, kY...>& y) {                                        \
    using X = DimNames<kX...>;                                                                                      \
    using Y = DimNames<kY...>;                                                                                      \
    using All = detail::Together<X, detail::Without<Y, X>>;                                                         \
    detail::require_sizes<X, Y>(x.value(), y.value(), detail::Common<X, Y>{});                                      \
    using Of = Tensor<All::kCount, typename Named<T, kX...>::Kind>;                                                 \
    using With = Tensor<All::kCount, typename Named<U, kY...>::Kind>;                                               \
    const auto result =                                                                                             \
        Of(Typed{detail::in_order<X>(x.value(), All{})}) symbol With(Typed{detail::in_order<Y>(y.value(), All{})}); \
    return detail::NamedOf<typename OperandTraits<std::remove_const_t<decltype(result)>>::Kind, All>(result);       \
  }                                                                                                                 \
  template <class T, DimName... kX, Number N>                                                                       \
  auto operator symbol(const Named<T, kX...>& x, N y) {                                                             \
    const auto result = x.tensor() symbol y;                                                                        \
    return Named<std::remove_const_t<decltype(result)>, kX...>(result);                                             \
  }                                                                                                                 \
  template <Number N, class T, DimName... kX>                                                                       \
  auto operator symbol(N x, const Named<T, kX...>& y) {                                                             \
    const auto result = x symbol y.tensor();                                                                        \
    return Named<std::remove_const_t<decltype(result)>, kX...>(result);                                             \
  }
KILN_NAMED_OPERATOR(+)
KILN_NAMED_OPERATOR(-)
KILN_NAMED_OPERATOR(*)
KILN_NAMED_OPERATOR(/)
KILN_NAMED_OPERATOR(==)
KILN_NAMED_OPERATOR(!=)
KILN_NAMED_OPERATOR(<)
KILN_NAMED_OPERATOR(<=)
KILN_NAMED_OPERATOR(>)
KILN_NAMED_OPERATOR(>=)
#undef KILN_NAMED_OPERATOR

/// The sum of the products over the dimension `kOver`, which both have: a matrix product. Other names that both have
/// are of a batch; the result has these, then the others of x, then the others of y.
template <DimName kOver, class T, DimName... kX, class U, DimName... kY>
requires(DimNames<kX...>::has(kOver) && DimNames<kY...>::has(kOver))
auto contract(const Named<T, kX...>& x, const Named<U, kY...>& y) {
  using X = DimNames<kX...>;
  using Y = DimNames<kY...>;
  using Over = DimNames<kOver>;
  using Batch = detail::Without<detail::Common<X, Y>, Over>;
  using OfX = detail::Without<X, Y>;
  using OfY = detail::Without<Y, X>;
  detail::require_sizes<X, Y>(x.value(), y.value(), detail::Common<X, Y>{});
  const Value left = detail::in_order<X>(x.value(), detail::Together<detail::Together<Batch, OfX>, Over>{});
  const Value right = detail::in_order<Y>(y.value(), detail::Together<detail::Together<Batch, Over>, OfY>{});
  // [batch..., m, k] and [batch..., k, n], whose own dimensions are merged and split again.
  Shape m, n, shape;
  for (int i = 0; i < Batch::kCount; ++i)
    m.push_back(left.dim(i)), n.push_back(left.dim(i)), shape.push_back(left.dim(i));
  std::int64_t rows = 1, columns = 1;
  for (int i = 0; i < OfX::kCount; ++i)
    rows *= left.dim(Batch::kCount + i), shape.push_back(left.dim(Batch::kCount + i));
  for (int i = 0; i < OfY::kCount; ++i)
    columns *= right.dim(Batch::kCount + 1 + i), shape.push_back(right.dim(Batch::kCount + 1 + i));
  m.push_back(rows), m.push_back(left.dim(-1)), n.push_back(left.dim(-1)), n.push_back(columns);
  using Kind = kiln::Joined<typename Named<T, kX...>::Kind, typename Named<U, kY...>::Kind>;
  using All = detail::Together<detail::Together<Batch, OfX>, OfY>;
  const Value product = reshape(matmul(reshape(left, m), reshape(right, n)), shape);
  return detail::NamedOf<Kind, All>(Tensor<All::kCount, Kind>(Typed{product}));
}

/// "float32 [batch 2, time 3]"
template <class T, DimName... kNames>
void append(std::string& out, const Named<T, kNames...>& x) {
  append(out, x.tensor().dtype());
  out += " [";
  [[maybe_unused]] int i = 0;
  ((out += text(i ? ", " : "", std::string_view(kNames.letters), ' ', x.value().dim(i)), ++i), ...);
  out += "]";
}

}  // namespace kiln
