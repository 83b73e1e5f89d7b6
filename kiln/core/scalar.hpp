// A plain number beside tensors: `x + 2`. It keeps its kind and its full precision until it is used with a tensor.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>

#include "kiln/core/convert.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/core/text.hpp"

namespace kiln {

class Scalar {
 public:
  constexpr Scalar() : Scalar(0.0) {}
  constexpr Scalar(std::floating_point auto number) : real_(number), kind_(Kind::Float) {}
  constexpr Scalar(std::integral auto number) : whole_(static_cast<std::int64_t>(number)), kind_(Kind::Int) {}
  constexpr Scalar(bool flag) : whole_(flag), kind_(Kind::Bool) {}

  constexpr Kind kind() const { return kind_; }
  /// The number as a T, by the rules of convert.hpp.
  template <class T>
  constexpr T to() const {
    return kind_ == Kind::Float ? convert<T>(real_) : convert<T>(whole_);
  }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    if (a.kind_ != b.kind_) return false;
    return a.kind_ == Kind::Float ? a.real_ == b.real_ : a.whole_ == b.whole_;
  }

 private:
  union {
    double real_;
    std::int64_t whole_;
  };
  Kind kind_;
};

inline void append(std::string& out, const Scalar& scalar) {
  switch (scalar.kind()) {
    case Kind::Float: return append(out, scalar.to<double>());
    case Kind::Int: return append(out, scalar.to<std::int64_t>());
    case Kind::Bool: return append(out, scalar.to<bool>());
  }
}

}  // namespace kiln
