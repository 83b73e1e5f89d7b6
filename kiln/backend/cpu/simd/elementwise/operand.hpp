// How an elementwise kernel gets at its operands: the result is walked in memory order, in blocks, and each operand
// serves the elements that belong to a block as one contiguous run (or a constant), whatever its strides and type.
#pragma once
#include <algorithm>
#include <cstring>
#include <optional>

#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

namespace kiln::cpu::simd {

inline constexpr std::int64_t kBlock = 1024;      // elements gathered at once: operands and result stay in L1
inline constexpr std::int64_t kVectorBytes = 64;  // at least one vector of any target

/// `step` is 1, or 0 for a constant, of which `data` then holds a whole vector.
template <class T>
struct Run {
  const T* data;
  std::size_t step;
};

/// Writes a number as one element of type `as`.
void store(const Scalar& scalar, DType as, void* to);

class Operand {
 public:
  /// An operand that broadcasts to `result` (dense in memory), to be read as elements of type `as`.
  Operand(const Value& value, const Array& result, DType as);

  enum class Access : std::uint8_t {
    Constant,  // one element for all
    Dense,     // element i of the result's memory has element i
    Rows,      // long rows, each in place or constant
    Periodic,  // a short pattern, again and again
    Gathered,  // anything else: copied together and converted, a block at a time
  };
  Access access() const { return access_; }

 private:
  template <class T> friend class Feed;
  bool converts() const { return array_.dtype != as_; }
  std::int64_t offset(std::int64_t row) const;
  /// Elements [begin, begin + count) as type `as`.
  void gather(std::int64_t begin, std::int64_t count, void* to) const;

  Array array_;
  DType as_;
  Access access_ = Access::Constant;
  std::int64_t period_ = 0;
  std::optional<Rows<2>> rows_;  // of the result and the operand
  Value held_;                   // keeps a copy in the result's order alive
  alignas(8) std::byte constant_[8] = {};
};

/// What one thread reads of an operand.
template <class T>
class Feed {
 public:
  explicit Feed(const Operand& operand);
  /// How many elements from `begin` on one run can hold, at most `count`.
  std::int64_t limit(std::int64_t begin, std::int64_t count) const;
  /// Elements [begin, begin + count), valid until the next call.
  Run<T> read(std::int64_t begin, std::int64_t count);

 private:
  static constexpr std::int64_t kPeriod = 256;
  friend class Operand;
  Run<T> constant(T value);

  const Operand& operand_;
  alignas(kVectorBytes) T buffer_[kBlock + kPeriod];
};

template <class T>
Feed<T>::Feed(const Operand& operand) : operand_(operand) {
  if (operand.access_ == Operand::Access::Constant) {
    T value;
    std::memcpy(&value, operand.constant_, sizeof(T));
    constant(value);
  } else if (operand.access_ == Operand::Access::Periodic) {
    operand.gather(0, operand.period_, buffer_);
    for (std::int64_t done = operand.period_, all = kBlock + operand.period_; done < all;) {
      const std::int64_t some = std::min(done, all - done);
      std::copy_n(buffer_, some, buffer_ + done);
      done += some;
    }
  }
}

template <class T>
Run<T> Feed<T>::constant(T value) {
  constexpr std::int64_t lanes = kVectorBytes / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < lanes; ++i) buffer_[i] = value;
  return {buffer_, 0};
}

template <class T>
std::int64_t Feed<T>::limit(std::int64_t begin, std::int64_t count) const {
  using enum Operand::Access;
  switch (operand_.access_) {
    case Constant:
    case Dense: return count;
    case Rows: {
      const std::int64_t length = operand_.rows_->length(), rest = length - begin % length;
      return rest < count ? rest : count;
    }
    case Periodic:
    case Gathered: return count < kBlock ? count : kBlock;
  }
  __builtin_unreachable();
}

template <class T>
Run<T> Feed<T>::read(std::int64_t begin, std::int64_t count) {
  using enum Operand::Access;
  switch (operand_.access_) {
    case Constant: return {buffer_, 0};
    case Dense: return {operand_.array_.template as<T>() + begin, 1};
    case Rows: {
      const std::int64_t length = operand_.rows_->length();
      const T* row = operand_.array_.template as<T>() + operand_.offset(begin / length);
      if (operand_.rows_->steps()[1] == 0) return constant(*row);
      return {row + begin % length, 1};
    }
    case Periodic: return {buffer_ + begin % operand_.period_, 1};
    case Gathered: operand_.gather(begin, count, buffer_); return {buffer_, 1};
  }
  __builtin_unreachable();
}

}  // namespace kiln::cpu::simd
