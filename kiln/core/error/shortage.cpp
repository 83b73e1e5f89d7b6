#include "kiln/core/error/shortage.hpp"

#include <exception>
#include <new>
#include <stdexcept>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

// Created while there is memory, for the case that not even an error sentence can be allocated.
const std::exception_ptr kNoSentence = std::make_exception_ptr(MemoryError("the system gives no more memory"));

[[noreturn]] void tell(std::string_view what, std::string_view reason) {
  try {
    fail<MemoryError>(what, ": ", reason);
  } catch (const std::bad_alloc&) { std::rethrow_exception(kNoSentence); }
}

}  // namespace

void rethrow_shortage(std::string_view what) {
  try {
    throw;
  } catch (const std::bad_alloc&) { tell(what, "the system gives no more memory"); } catch (const std::length_error&) {
    tell(what, "it would need more memory than there can be");
  }
}

void telling_shortage(std::string_view what, FunctionRef<void()> body) {
  try {
    body();
  } catch (...) { rethrow_shortage(what); }
}

}  // namespace kiln
