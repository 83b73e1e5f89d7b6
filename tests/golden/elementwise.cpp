#include <set>

#include "kiln/ops/elementwise/rows.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

// Rows of elementwise.def for which nothing is stored under their own name.
const std::set<std::string> kElsewhere = {"leaky_relu",       "elu",      "celu", "hard_shrink", "soft_shrink",
                                          "thresholded_relu", "polygamma"};

using One = Value (*)(const Value&);
using Two = Value (*)(const Value&, const Value&);

// A new row of elementwise.def needs no other library that knows it.
std::vector<Row> table() {
  std::vector<Row> rows;
  const auto one = [&](const char* name, One f) { rows.push_back({name, [f](In in) { return f(in[0]); }}); };
  const auto two = [&](const char* name, Two f) {
    if (!kElsewhere.contains(name)) rows.push_back({name, [f](In in) { return f(in[0], in[1]); }});
  };
#define KILN_UNARY(Name, function, ...) one(#function, kiln::function);
#define KILN_PREDICATE(Name, function, ...) one(#function, kiln::function);
#define KILN_BINARY(Name, function, ...) two(#function, kiln::function);
#define KILN_COMPARISON(Name, function, ...) two(#function, kiln::function);
#include "kiln/ops/elementwise/elementwise.def"
  for (Row& row : rows) row.needs_case = false;
  return rows;
}

const Rows kElementwise(table());
const Rows kOptions({
    {"pow.negative_base", [](In in) { return pow(in[0], 3); }},
    {"leaky_relu", [](In in) { return leaky_relu(in[0], 0.1); }},
    {"elu", [](In in) { return elu(in[0], 0.7); }},
    {"celu", [](In in) { return celu(in[0], 0.7); }},
    {"hard_shrink", [](In in) { return hard_shrink(in[0], 0.6); }},
    {"soft_shrink", [](In in) { return soft_shrink(in[0], 0.6); }},
    {"thresholded_relu", [](In in) { return thresholded_relu(in[0], 0.8); }},
    {"polygamma.2", [](In in) { return polygamma(2, in[0]); }, 10},
    {"clamp", [](In in) { return clamp(in[0], -0.7, 1.1); }},
    {"where", [](In in) { return where(in[0], in[1], in[2]); }},
    {"remainder.integers", [](In in) { return remainder(in[0], in[1]); }},
    {"fmod.integers", [](In in) { return fmod(in[0], in[1]); }},
    {"floor_divide.integers", [](In in) { return floor_divide(in[0], in[1]); }},
    {"lgamma.scipy", [](In in) { return lgamma(in[0]); }},
    {"digamma.scipy", [](In in) { return digamma(in[0]); }},
    {"erfinv.scipy", [](In in) { return erfinv(in[0]); }},
    {"i0.scipy", [](In in) { return i0(in[0]); }},
    {"erfc.scipy", [](In in) { return erfc(in[0]); }},
    {"log1p.scipy", [](In in) { return log1p(in[0]); }},
});

}  // namespace
}  // namespace kiln::golden
