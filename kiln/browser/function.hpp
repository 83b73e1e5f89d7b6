// The functions of C++ that a page calls: a table without macros.
//
//   double mean(const Tensor<1>& x) { return x.mean().item(); }
//   constexpr std::array kFunctions{browser::function<mean>("mean")};
//   int main() { browser::offer(kFunctions); }
//
// and in JavaScript: await kiln.functions.mean(new Float32Array([1, 2, 3])). All of them, and those that load and run models,
// go through one exported function of C, kiln_call (call.hpp).
#pragma once
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kiln/browser/convert.hpp"

namespace kiln::browser {

using Arguments = std::span<const Item>;

struct Function {
  std::string_view name;
  Item (*run)(std::string_view name, Arguments arguments);
};

/// Makes the functions known to the page; the table must live as long as the page. A second call adds to the first. Throws
/// ArgumentError for a name that is there already.
void offer(std::span<const Function> functions);

namespace detail {

/// Throws ArgumentError unless there are as many as the function takes; those that are left out at the end are null.
void require_arguments(std::string_view name, std::size_t given, std::size_t taken);
const Item& argument(Arguments arguments, std::size_t index);

template <auto kFunction, class Result, class... Parameters>
Item run(std::string_view name, Arguments arguments) {
  require_arguments(name, arguments.size(), sizeof...(Parameters));
  // Braces: arguments are converted from left to right.
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> Item {
    std::tuple<std::remove_cvref_t<Parameters>...> converted{
        from_item<std::remove_cvref_t<Parameters>>(argument(arguments, I), text(name, ": argument ", I + 1))...};
    if constexpr (std::is_void_v<Result>) {
      kFunction(std::get<I>(converted)...);
      return {};
    } else {
      return to_item<std::remove_cvref_t<Result>>(kFunction(std::get<I>(converted)...));
    }
  }(std::index_sequence_for<Parameters...>());
}

template <auto kFunction, class Result, class... Parameters>
constexpr Function row(std::string_view name, Result (*)(Parameters...)) {
  return {name, run<kFunction, Result, Parameters...>};
}

}  // namespace detail

/// A row for a function of numbers, texts, tensors, TensorData, std::shared_ptr of objects, Callbacks, lists, optionals and
/// plain structs of these (convert.hpp), by value or by const reference.
template <auto kFunction>
constexpr Function function(std::string_view name) {
  return detail::row<kFunction>(name, kFunction);
}

}  // namespace kiln::browser
