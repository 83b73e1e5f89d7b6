// Errors as values, for callers that do not want exceptions. Works with anything that Kiln does.
//
//   const auto data = try_to([&] { return x.data(); });
//   if (!data) return data.error().message();
//   use(*data);
//
// A build without exceptions has an error handler instead (error_handler.hpp).
#pragma once
#include <optional>
#include <type_traits>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// The result of a call, or the Error that the call threw.
template <class T>
class [[nodiscard]] Expected {
  using Held = std::conditional_t<std::is_void_v<T>, std::true_type, T>;

 public:
  Expected(Held value) : value_(std::move(value)) {}
  Expected(Error error) : error_(std::move(error)) {}

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }
  /// Throws the stored error, with its own class, where there is no value.
  const Held& value() const& { return check(), *value_; }
  Held&& value() && { return check(), *std::move(value_); }
  const Held& operator*() const& { return value(); }
  Held&& operator*() && { return std::move(*this).value(); }
  const Held* operator->() const { return &value(); }
  Held value_or(Held other) const { return value_ ? *value_ : std::move(other); }
  /// Throws ArgumentError where there is no error.
  const Error& error() const {
    require<ArgumentError>(error_.has_value(), "Expected: it has a value, and no error");
    return *error_;
  }

 private:
  void check() const {
    if (error_) raise(error_->kind(), std::string(error_->message()));
  }
  std::optional<Held> value_;
  std::optional<Error> error_;
};

/// Returns what f() returns, or the Error that it throws; other exceptions pass. A tensor waits for the device when it
/// is read, not when it is computed, so an error of the computation is reported by the call that reads it, as in
/// try_to([&] { return x.data(); }).
template <class F>
auto try_to(F&& f) -> Expected<std::remove_cvref_t<std::invoke_result_t<F>>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::forward<F>(f)();
      return std::true_type{};
    } else {
      return std::forward<F>(f)();
    }
  } catch (const Error& error) { return error; }
}

}  // namespace kiln
