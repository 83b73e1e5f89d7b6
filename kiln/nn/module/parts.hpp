// What a module may consist of, found by reflection: any plain struct of parameters, buffers, options and other
// modules, on their own or in lists, maps, arrays, optionals, variants, pairs, tuples, unique_ptr and Sequential. A
// type that may hold tensors but cannot be inspected is a compile error.
#pragma once
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/nn/mode.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

template <class T> inline constexpr bool is_param = false;
template <int D, class K> inline constexpr bool is_param<Param<D, K>> = true;
template <class T> inline constexpr bool is_buffer = false;
template <int D, class K> inline constexpr bool is_buffer<Buffer<D, K>> = true;
template <class T> inline constexpr bool is_constant = false;
template <int D, class K> inline constexpr bool is_constant<Tensor<D, K>> = true;

template <class T>
concept ParamLike = is_param<std::remove_const_t<T>>;
template <class T>
concept BufferLike = is_buffer<std::remove_const_t<T>>;
/// A plain tensor in a module: moved with it, neither trained nor saved.
template <class T>
concept ConstantLike = is_constant<std::remove_const_t<T>>;
template <class T>
concept Leaf = ParamLike<T> || BufferLike<T> || ConstantLike<T> || std::same_as<std::remove_const_t<T>, Mode>;

/// A class that is seen as a tuple of layers: Sequential. A class with private fields may return std::tie of them, in a
/// layers() and a layers() const.
template <class T>
concept Layered = requires(T& module) { module.layers(); };

/// A class whose parts have names that are not fields: ByName. It has a for_each_part(f), called like for_each_child().
template <class T>
concept NamesItsParts = std::remove_const_t<T>::kNamesItsParts;

template <class T> inline constexpr bool is_unique_pointer = false;
template <class T, class D> inline constexpr bool is_unique_pointer<std::unique_ptr<T, D>> = true;
template <class T> inline constexpr bool is_function = false;
template <class T> inline constexpr bool is_function<std::function<T>> = true;

/// Does walk() enter this type: a struct, or something that holds structs or leaves? Others are leaves or options.
template <class T>
constexpr bool has_parts() {
  const auto is_part = []<class Held>(std::type_identity<Held>) { return Leaf<Held> || has_parts<Held>(); };
  if constexpr (Leaf<T> || reflect::StringLike<T>) {
    return false;
  } else if constexpr (Layered<T> || NamesItsParts<T> || reflect::Aggregate<T>) {
    return true;
  } else if constexpr (reflect::MapLike<T>) {
    return is_part(std::type_identity<typename T::mapped_type>());
  } else if constexpr (reflect::ListLike<T> || reflect::OptionalLike<T>) {
    return is_part(std::type_identity<typename T::value_type>());
  } else if constexpr (is_unique_pointer<T>) {
    return is_part(std::type_identity<typename T::element_type>());
  } else if constexpr (reflect::TupleLike<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (is_part(std::type_identity<std::remove_const_t<std::tuple_element_t<I, T>>>()) || ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (reflect::VariantLike<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (is_part(std::type_identity<std::variant_alternative_t<I, T>>()) || ...);
    }(std::make_index_sequence<std::variant_size_v<T>>());
  } else {
    return false;
  }
}
template <class T>
concept Branch = has_parts<std::remove_const_t<T>>();

/// Declares that a class that reflection cannot inspect holds no tensors: by a member `static constexpr bool
/// kHoldsNoTensors = true`, or by a specialisation of this for a class of another library.
template <class T> inline constexpr bool kHoldsNoTensors = requires { requires T::kHoldsNoTensors; };
template <> inline constexpr bool kHoldsNoTensors<Device> = true;

/// Is T a template whose arguments may hold tensors?
template <class T> inline constexpr bool is_about_parts = false;
template <template <class...> class Template, class... Ts>
inline constexpr bool is_about_parts<Template<Ts...>> =
    ((!std::is_empty_v<Ts> && (Leaf<Ts> || Branch<Ts> || is_about_parts<Ts>)) || ...);

/// An option: numbers, enums, strings, functions, and collections of these. A trivially copyable type owns no tensor; a
/// pointer is not an option, since its target would be shared with another model.
template <class T>
constexpr bool is_option() {
  if constexpr (kHoldsNoTensors<T> || is_function<T> || std::is_empty_v<T>) return true;
  else if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
    return !requires { sizeof(std::remove_pointer_t<T>); } || is_option<std::remove_cv_t<std::remove_pointer_t<T>>>();
  else if constexpr (Leaf<T> || Branch<T> || is_about_parts<T>) return false;
  else if constexpr (std::is_trivially_copyable_v<T> || std::is_convertible_v<const T&, std::string>) return true;
  else if constexpr (reflect::MapLike<T>)
    return is_option<typename T::key_type>() && is_option<typename T::mapped_type>();
  else if constexpr (reflect::ListLike<T> || reflect::OptionalLike<T>) return is_option<typename T::value_type>();
  else if constexpr (reflect::SmartPointer<T>) return is_option<std::remove_cv_t<typename T::element_type>>();
  else if constexpr (reflect::TupleLike<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_option<std::remove_const_t<std::tuple_element_t<I, T>>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  else if constexpr (reflect::VariantLike<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_option<std::variant_alternative_t<I, T>>() && ...);
    }(std::make_index_sequence<std::variant_size_v<T>>());
  else return false;
}

/// Fails to compile for a type that a module cannot have; the compiler's message names it.
template <class Member>
struct Checked {
  static constexpr bool kShared = reflect::SmartPointer<Member> && !is_unique_pointer<Member>;
  static_assert(
      !kShared || is_option<Member>(),
      "copies of a module would share what this pointer points to: hold the module itself or a unique_ptr, or "
      "say kHoldsNoTensors of what it points to");
  static_assert(kShared || is_option<Member>(),
                "a module has a member that may hold tensors and cannot be looked into, so that they would be neither "
                "trained nor saved: make it a plain struct without constructors and private fields, give it a layers() "
                "that returns std::tie of its parts, or say kHoldsNoTensors of it");
  static constexpr bool kFits = true;
};

/// The name of a map's entry: its key.
template <class Key>
std::string key_name(const Key& key) {
  static_assert(std::is_integral_v<Key> || std::is_enum_v<Key> || reflect::StringLike<Key>,
                "the modules of a map are named by strings, integers or enums");
  if constexpr (std::is_enum_v<Key>) return reflect::to_text(key);
  else return text(key);
}

/// Calls f(name, child) for each direct part of a branch. An entry of a list or a tuple is named by its index, one of a
/// map by its key, in the order of these names; the contents of an optional, a variant or a pointer have no name of
/// their own: "".
template <class M, class F>
void for_each_child(M& module, F&& f) {
  using T = std::remove_const_t<M>;
  if constexpr (NamesItsParts<M>) {
    module.for_each_part(f);
  } else if constexpr (Layered<M>) {
    auto&& layers = module.layers();
    for_each_child(layers, f);
  } else if constexpr (reflect::Aggregate<T>) {
    reflect::for_each_field(module, f);
  } else if constexpr (reflect::MapLike<T>) {
    std::map<std::string, decltype(&module.begin()->second)> sorted;
    for (auto& [key, entry] : module) {
      const auto [place, fresh] = sorted.emplace(key_name(key), &entry);
      const std::string& name = place->first;
      require<ArgumentError>(fresh && !name.empty() && name.find('.') == name.npos, "a module's part cannot be named '",
                             name, "': names are parts of dotted paths, each once");
    }
    for (const auto& [name, entry] : sorted) f(std::string_view(name), *entry);
  } else if constexpr (reflect::ListLike<T>) {
    std::int64_t index = 0;
    for (auto& entry : module) f(std::string_view(text(index++)), entry);
  } else if constexpr (reflect::OptionalLike<T>) {
    if (module) f(std::string_view(), *module);
  } else if constexpr (is_unique_pointer<T>) {
    using Held = typename T::element_type;
    if (module) f(std::string_view(), static_cast<std::conditional_t<std::is_const_v<M>, const Held, Held>&>(*module));
  } else if constexpr (reflect::VariantLike<T>) {
    reflect::detail::for_each_index<std::variant_size_v<T>>([&](auto i) {
      if (auto* const held = std::get_if<i>(&module)) f(std::string_view(), *held);
    });
  } else {
    std::apply(
        [&](auto&... entries) {
          std::int64_t index = 0;
          (f(std::string_view(text(index++)), entries), ...);
        },
        module);
  }
}

}  // namespace kiln::nn
