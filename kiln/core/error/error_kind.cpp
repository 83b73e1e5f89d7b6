// The part of error.hpp that does not depend on how errors are raised.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln {
namespace {

thread_local ErrorContext* context = nullptr;
thread_local const char* called_function = nullptr;

}  // namespace

CalledAs::CalledAs(const char* function) : before_(called_function) {
  if (!function || !before_) called_function = function;
}
CalledAs::~CalledAs() { called_function = before_; }
const char* CalledAs::function() { return called_function; }

std::string CalledAs::rename(const char* function, std::string_view sentence) {
  if (!function) return std::string(sentence);
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
  };
  std::size_t end = 0;
  while (end < sentence.size() && is_letter(sentence[end])) ++end;
  if (end && sentence.substr(end).starts_with(": ")) sentence.remove_prefix(end + 2);
  return text(function, ": ", sentence);
}

ErrorContext::ErrorContext(Describe describe) : describe_(describe), outer_(context) { context = this; }
ErrorContext::~ErrorContext() { context = outer_; }

std::string ErrorContext::complete(ErrorKind kind, std::string sentence) {
  const bool about_operands = kind == ErrorKind::Shape || kind == ErrorKind::DType || kind == ErrorKind::Index ||
                              kind == ErrorKind::Argument || kind == ErrorKind::Device;
  if (about_operands) sentence = CalledAs::rename(called_function, sentence);
  // An error that was caught and is told once more has calls, which stay at the end.
  const std::size_t end = without_calls(sentence).size();
  std::string calls = escaped(std::string_view(sentence).substr(end), true);
  sentence.resize(end);
  ErrorContext* const innermost = std::exchange(context, nullptr);  // an error inside `describe` is not described again
  for (const ErrorContext* scope = innermost; scope; scope = scope->outer_) scope->describe_(kind, sentence);
  context = innermost;
  sentence = escaped(sentence, true);  // a file or a path may have named something
  if ((about_operands || kind == ErrorKind::Autodiff) && calls.empty()) calls = detail::lines_of_error();
  return sentence + calls;
}

std::string_view without_calls(std::string_view sentence) {
  return sentence.substr(0, sentence.find(detail::kCalledFrom));
}

std::string without_all_calls(std::string_view sentences) {
  std::string rest(sentences);
  for (std::size_t at = rest.find(detail::kCalledFrom); at != rest.npos; at = rest.find(detail::kCalledFrom, at))
    rest.erase(at, rest.find('\n', at + 1) - at);
  return rest;
}

std::string with_end(std::string_view sentence, std::string_view words) {
  const std::string_view said = without_calls(sentence);
  return text(said, words, sentence.substr(said.size()));
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
