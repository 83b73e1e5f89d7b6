// Is a type one of a variant's? Constrains constructors of classes that wrap a variant.
#pragma once
#include <concepts>
#include <variant>

namespace kiln {

template <class T, class Variant> inline constexpr bool kIsOneOf = false;
template <class T, class... Ts>
inline constexpr bool kIsOneOf<T, std::variant<Ts...>> = (std::same_as<T, Ts> || ...);

}  // namespace kiln
