// The sentence of the error that a call is expected to raise.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln::test {

/// What E says that `call` throws; the test fails where it throws nothing or something else.
template <class E, class F>
std::string raised(F&& call) {
  try {
    call();
  } catch (const E& error) { return std::string(without_calls(error.message())); } catch (const std::exception& other) {
    ADD_FAILURE() << "another error: " << other.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace kiln::test
