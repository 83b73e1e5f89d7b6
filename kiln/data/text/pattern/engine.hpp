// What looks for regular expressions: pcre2.cpp, or without_pcre2.cpp in a build that has no PCRE2.
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
  /// What is looked for in one text, with the steps that are left for it.
  struct Search {
    std::string_view text;  // UTF-8
    std::uint64_t steps;
  };
  virtual ~Engine() = default;
  /// The first match from a byte on: where it begins and ends. Throws DataError where there are no steps left.
  virtual std::optional<std::pair<std::size_t, std::size_t>> next(Search& search, std::size_t from) const = 0;
};

/// `pcre2` is what to_pcre2() made of the text at `regex`.
std::shared_ptr<const Pattern::Engine> make_engine(const View& regex, const std::string& pcre2);

}  // namespace kiln::tokens
