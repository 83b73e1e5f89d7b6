// Which types a variant holds: what a class that stands for one may be made of.
#pragma once
#include <concepts>
#include <variant>

namespace kiln {

template <class T, class Variant> inline constexpr bool kIsOneOf = false;
template <class T, class... Ts>
inline constexpr bool kIsOneOf<T, std::variant<Ts...>> = (std::same_as<T, Ts> || ...);

}  // namespace kiln
