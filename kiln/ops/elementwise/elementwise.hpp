// The elementwise functions over Values that all code sees. Operands broadcast and promote.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln {

#define KILN_UNARY(function, domain) Value function(const Value& x);
#define KILN_PREDICATE(function, domain) Value function(const Value& x);
#define KILN_BINARY(function, domain) Value function(const Value& x, const Value& y);
#define KILN_COMPARISON(function, domain) Value function(const Value& x, const Value& y);
#include "kiln/ops/elementwise/names.def"

inline Value operator-(const Value& x) { return neg(x); }
inline Value operator+(const Value& x, const Value& y) { return add(x, y); }
inline Value operator-(const Value& x, const Value& y) { return sub(x, y); }
inline Value operator*(const Value& x, const Value& y) { return mul(x, y); }
inline Value operator/(const Value& x, const Value& y) { return div(x, y); }

/// condition ? x : y, elementwise; the condition is boolean, all three broadcast.
Value where(const Value& condition, const Value& x, const Value& y);
/// x with each element brought into [low, high].
Value clamp(const Value& x, const Value& low, const Value& high);
/// The elements as another type. A float becomes an integer by truncation (saturating, NaN gives 0).
Value cast(const Value& x, DType dtype);

}  // namespace kiln
