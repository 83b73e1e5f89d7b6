// Parts of parameters, which ranks update that share an optimizer's state.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "kiln/ops/value.hpp"

namespace kiln {

/// Elements [begin, begin + count) of a parameter, in row-major order.
struct ParamPart {
  std::int64_t begin = 0, count = 0;
  bool operator==(const ParamPart&) const = default;
};

/// Parts of parameters by their paths, at most one of each.
using ParamParts = std::map<std::string, ParamPart, std::less<>>;

/// x itself if the part is all of it, else a view [count].
Value part_of(const Value& x, const ParamPart& part);
/// The part in memory of its own, so that the rest can be freed. An empty x has an empty part.
Value copied_part(const Value& x, const ParamPart& part);

}  // namespace kiln
