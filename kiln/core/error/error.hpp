// Errors are sentences for the person who caused them: what was called, with what, what was expected.
// Wrong input raises an Error; a broken invariant of ours aborts through KILN_CHECK. Where exceptions
// are switched off (error_handler.cpp instead of error.cpp), raising calls a handler and never returns.
#pragma once
#include <exception>
#include <string>

#include "kiln/core/function_ref.hpp"
#include "kiln/core/text.hpp"

namespace kiln {

enum class ErrorKind : std::uint8_t {
  Shape,     // shapes or ranks do not fit
  DType,     // an element type is not what the call takes
  Index,     // an index or a dimension is out of range
  Argument,  // an option or a plain argument has no meaning
  Device,    // a device is missing, or operands live on different ones
  Autodiff,  // a gradient of a value that is not tracked
  Memory,    // an allocation failed
  Data,      // a file or a data set is damaged or not what it claims to be
  Load,      // a record does not fit the module that reads it
  Config,    // a configuration is missing a value, or has one too many
  Io,        // the operating system refused to read or write
  Verify,    // a kernel or a plan gave other numbers than its reference
};

std::string_view name(ErrorKind kind);  // "ShapeError", ...

/// what() is the whole sentence, its kind first: "ShapeError: matmul: [2, 3] x [4, 5]: ...".
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string_view message) : kind_(kind), what_(text(name(kind), ": ", message)) {}
  const char* what() const noexcept override { return what_.c_str(); }
  ErrorKind kind() const { return kind_; }
  /// The sentence without its kind.
  std::string_view message() const { return std::string_view(what_).substr(name(kind_).size() + 2); }

 private:
  ErrorKind kind_;
  std::string what_;
};

template <ErrorKind K>
class ErrorOf : public Error {
 public:
  static constexpr ErrorKind kKind = K;
  explicit ErrorOf(std::string_view message) : Error(K, message) {}
};

using ShapeError = ErrorOf<ErrorKind::Shape>;
using DTypeError = ErrorOf<ErrorKind::DType>;
using IndexError = ErrorOf<ErrorKind::Index>;
using ArgumentError = ErrorOf<ErrorKind::Argument>;
using DeviceError = ErrorOf<ErrorKind::Device>;
using AutodiffError = ErrorOf<ErrorKind::Autodiff>;
using MemoryError = ErrorOf<ErrorKind::Memory>;
using DataError = ErrorOf<ErrorKind::Data>;
using LoadError = ErrorOf<ErrorKind::Load>;
using ConfigError = ErrorOf<ErrorKind::Config>;
using IoError = ErrorOf<ErrorKind::Io>;
using VerifyError = ErrorOf<ErrorKind::Verify>;

/// Throws the error class that belongs to `kind` (or calls the handler of a build without exceptions).
[[noreturn]] void raise(ErrorKind kind, const std::string& message);

/// While this object lives, errors that fail() raises on this thread end with what `describe` appends. Scopes nest.
class ErrorContext {
 public:
  using Describe = FunctionRef<void(ErrorKind, std::string&)>;
  explicit ErrorContext(Describe describe);
  ~ErrorContext();
  ErrorContext(const ErrorContext&) = delete;
  ErrorContext& operator=(const ErrorContext&) = delete;

  /// The sentence with what the scopes of this thread append, the innermost first.
  static std::string complete(ErrorKind kind, std::string sentence);

 private:
  Describe describe_;
  ErrorContext* outer_;
};

/// fail<ShapeError>("matmul: ", a, " x ", b): never returns.
template <class E, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  raise(E::kKind, ErrorContext::complete(E::kKind, text(parts...)));
}

/// fail<E>(parts...) unless `holds`.
template <class E, class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) [[unlikely]]
    fail<E>(parts...);
}

[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

#define KILN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::kiln::broken_invariant(#condition, __FILE__, __LINE__))

}  // namespace kiln
