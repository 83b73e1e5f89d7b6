// A std::variant that is copied safely where memory runs out.
#pragma once
#include <utility>
#include <variant>

namespace kiln {

/// The copy constructor of libstdc++ 12's std::variant ends the program where the copy of an alternative throws, if all of
/// them are numbers, strings, lists and the like (of which it believes that a variant is never without a value). Here the
/// exception passes.
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
