// The error sentence of a wrong call, without the error's kind.
#pragma once
#include <string>

#include "tests/support/sentence.hpp"

namespace kiln {

/// What sentence_of() returns, without "ArgumentError: " before it.
template <class F>
std::string said_by(F&& call) {
  const std::string sentence = sentence_of(call);
  const std::size_t kind = sentence.find("Error: ");
  return kind == sentence.npos ? sentence : sentence.substr(kind + 7);
}

}  // namespace kiln
