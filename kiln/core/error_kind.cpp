// The part of error.hpp that does not depend on how errors are raised.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "kiln/core/error.hpp"

namespace kiln {
namespace {

thread_local ErrorContext* context = nullptr;

}  // namespace

ErrorContext::ErrorContext(Describe describe) : describe_(describe), outer_(context) { context = this; }
ErrorContext::~ErrorContext() { context = outer_; }

std::string ErrorContext::complete(ErrorKind kind, std::string sentence) {
  ErrorContext* const innermost = std::exchange(context, nullptr);  // what goes wrong on the way is not described again
  for (const ErrorContext* scope = innermost; scope; scope = scope->outer_) scope->describe_(kind, sentence);
  context = innermost;
  return sentence;
}

std::string_view name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Shape: return "ShapeError";
    case ErrorKind::DType: return "DTypeError";
    case ErrorKind::Index: return "IndexError";
    case ErrorKind::Argument: return "ArgumentError";
    case ErrorKind::Device: return "DeviceError";
    case ErrorKind::Autodiff: return "AutodiffError";
    case ErrorKind::Memory: return "MemoryError";
    case ErrorKind::Data: return "DataError";
    case ErrorKind::Load: return "LoadError";
    case ErrorKind::Config: return "ConfigError";
    case ErrorKind::Io: return "IoError";
    case ErrorKind::Verify: return "VerifyError";
  }
  return "Error";
}

void broken_invariant(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace kiln
