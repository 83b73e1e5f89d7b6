// A std::variant whose copy may run out of memory safely.
#pragma once
#include <utility>
#include <variant>

namespace kiln {

/// libstdc++ 12's std::variant believes that a variant of numbers, strings, lists and the like always holds a value, so
/// its copy constructor ends the program where the copy of an alternative throws. Here the exception passes.
template <class... Ts>
class Alternatives : public std::variant<Ts...> {
  using Base = std::variant<Ts...>;

 public:
  using Base::Base;
  Alternatives() = default;
  Alternatives(const Alternatives& other)
      : Base(std::visit([]<class T>(const T& held) { return Base(std::in_place_type<T>, held); },
                        static_cast<const Base&>(other))) {}
  Alternatives(Alternatives&&) noexcept = default;
  Alternatives& operator=(const Alternatives& other) {
    if (this != &other) static_cast<Base&>(*this) = static_cast<Base&&>(Alternatives(other));
    return *this;
  }
  Alternatives& operator=(Alternatives&&) noexcept = default;
  ~Alternatives() = default;
};

}  // namespace kiln
