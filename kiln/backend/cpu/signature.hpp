// What something was made for, as numbers, so that it can be found again.
#pragma once
#include <concepts>
#include <type_traits>

#include "kiln/core/shape.hpp"

namespace kiln::cpu {

class Signature {
 public:
  /// Of numbers, enumerators and lists of numbers.
  template <class... Parts>
  explicit Signature(const Parts&... parts) {
    (add(parts), ...);
  }

  std::size_t hash() const;
  friend bool operator==(const Signature&, const Signature&) = default;

 private:
  void add(std::int64_t number) { numbers_.push_back(number); }
  template <class E>
  requires std::is_enum_v<E> void add(E value) {
    add(static_cast<std::int64_t>(value));
  }
  template <int N>
  void add(const InlineList<std::int64_t, N>& list) {
    add(list.size());
    for (const std::int64_t number : list) add(number);
  }
  InlineList<std::int64_t, 48> numbers_;
};

}  // namespace kiln::cpu
