// The engine of regular expressions: pcre2.cpp, or without_pcre2.cpp in a build without PCRE2.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/data/text/pattern/pattern.hpp"

namespace kiln::tokens {

struct Pattern::Engine {
  /// The search in one text, with the remaining steps.
  struct Search {
    std::string_view text;  // UTF-8
    std::uint64_t steps;
  };
  virtual ~Engine() = default;
  /// The first match from a byte on: its begin and end. Throws DataError if no steps are left.
  virtual std::optional<std::pair<std::size_t, std::size_t>> next(Search& search, std::size_t from) const = 0;
};

/// `pcre2` is the result of to_pcre2() for the text at `regex`.
std::shared_ptr<const Pattern::Engine> make_engine(const View& regex, const std::string& pcre2);

}  // namespace kiln::tokens
