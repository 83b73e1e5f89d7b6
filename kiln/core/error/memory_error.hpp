// Public functions report a lack of memory as a MemoryError: readers, writers, ONNX models, training.
//
//   return or_memory_error(path, [&] { return parse(map_file(path)); });   // "MemoryError: big.csv: the system ..."
//
// Where such calls nest, the error keeps the sentence of the inner one, which knows more.
#pragma once
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kiln/core/function_ref.hpp"

namespace kiln {

/// Throws a MemoryError that begins with `what` where the exception being handled is std::bad_alloc, or
/// std::length_error (a size that no memory can hold); rethrows any other exception. For the catch (...) of a
/// constructor. The error is a MemoryError even where its sentence cannot be allocated.
[[noreturn]] void rethrow_as_memory_error(std::string_view what);

/// Calls `body`, and rethrow_as_memory_error(what) on an exception. A build without exceptions only calls `body`.
void with_memory_error(std::string_view what, FunctionRef<void()> body);

/// Returns what body() returns, with errors as in with_memory_error().
template <class F>
std::invoke_result_t<F&> or_memory_error(std::string_view what, F&& body) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    with_memory_error(what, body);
  } else if constexpr (std::is_reference_v<Result>) {
    std::remove_reference_t<Result>* result = nullptr;
    with_memory_error(what, [&] { result = &body(); });
    return static_cast<Result>(*result);
  } else {
    std::optional<Result> result;
    with_memory_error(what, [&] { result.emplace(body()); });
    return *std::move(result);
  }
}

}  // namespace kiln
