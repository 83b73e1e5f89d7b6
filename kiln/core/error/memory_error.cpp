#include "kiln/core/error/memory_error.hpp"

#include <exception>
#include <new>
#include <stdexcept>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

// Created while there is memory, for the case that not even an error sentence can be allocated.
const std::exception_ptr kNoSentence = std::make_exception_ptr(MemoryError("the system gives no more memory"));

[[noreturn]] void throw_memory_error(std::string_view what, std::string_view reason) {
  try {
    fail<MemoryError>(what, ": ", reason);
  } catch (const std::bad_alloc&) { std::rethrow_exception(kNoSentence); }
}

}  // namespace

void rethrow_as_memory_error(std::string_view what) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw_memory_error(what, "the system gives no more memory");
  } catch (const std::length_error&) { throw_memory_error(what, "it would need more memory than there can be"); }
}

void with_memory_error(std::string_view what, FunctionRef<void()> body) {
  try {
    body();
  } catch (...) { rethrow_as_memory_error(what); }
}

}  // namespace kiln
