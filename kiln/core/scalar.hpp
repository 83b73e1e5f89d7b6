// A plain number beside tensors: `x + 2`. It keeps its kind and its full precision until it meets a tensor.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>

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
  /// The number as a T; a float becomes an integer by truncation, anything becomes a bool by `!= 0`.
  template <class T>
  constexpr T to() const {
    if constexpr (std::same_as<T, bool>) return kind_ == Kind::Float ? real_ != 0 : whole_ != 0;
    else return kind_ == Kind::Float ? static_cast<T>(real_) : static_cast<T>(whole_);
  }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) {
    if (a.kind_ != b.kind_) return false;
    return a.kind_ == Kind::Float ? a.real_ == b.real_ : a.whole_ == b.whole_;
  }

 private:
  union { double real_; std::int64_t whole_; };
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
