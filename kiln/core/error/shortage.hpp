// What the memory does not hold is a MemoryError at every public door: of readers, writers, ONNX models, trainings.
//
//   return or_memory_error(path, [&] { return parse(map_file(path)); });   // "MemoryError: big.csv: the system ..."
//
// A door that is opened within another leaves the sentence to the inner one, which knows more.
#pragma once
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kiln/core/function_ref.hpp"

namespace kiln {

/// Throws a MemoryError that begins with `what` where the exception that is being handled is std::bad_alloc or
/// std::length_error, which a size ends in that no memory can hold; any other exception as it is. For the catch (...) of a
/// constructor. Even where no sentence can be made it is a MemoryError.
[[noreturn]] void rethrow_shortage(std::string_view what);

/// Calls `body`, and of an exception that it ends in rethrow_shortage(what). A build without exceptions calls it and no more.
void telling_shortage(std::string_view what, FunctionRef<void()> body);

/// What body() returns; likewise.
template <class F>
std::invoke_result_t<F&> or_memory_error(std::string_view what, F&& body) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    telling_shortage(what, body);
  } else if constexpr (std::is_reference_v<Result>) {
    std::remove_reference_t<Result>* result = nullptr;
    telling_shortage(what, [&] { result = &body(); });
    return static_cast<Result>(*result);
  } else {
    std::optional<Result> result;
    telling_shortage(what, [&] { result.emplace(body()); });
    return *std::move(result);
  }
}

}  // namespace kiln
