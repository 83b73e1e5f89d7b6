// Of a rank by itself; what several make of it is in tests/collective.
#include "kiln/ops/collective/collective.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::vector<OpCase> collective_rows() {
  std::vector<OpCase> rows;
  const auto same = [&](std::string name, std::function<Value(const Value&)> function) {
    rows.push_back({.name = std::move(name),
                    .operands = {{{6}}},
                    .function = [function](const Values& in) { return Values{function(in[0])}; },
                    .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{in[0]}; }});
  };
  same("all_reduce", [](const Value& x) { return all_reduce(x, alone()); });
  same("all_reduce_mean", [](const Value& x) { return all_reduce(x, alone(), Combine::Mean); });
  same("all_reduce_max", [](const Value& x) { return all_reduce(x, alone(), Combine::Max); });
  same("broadcast", [](const Value& x) {
    barrier(alone());
    return broadcast(x, alone());
  });
  same("all_gather", [](const Value& x) { return all_gather(x, alone()); });
  same("reduce_scatter", [](const Value& x) { return reduce_scatter(x, alone()); });
  same("reduce_scatter_min", [](const Value& x) { return reduce_scatter(x, alone(), Combine::Min); });
  return rows;
}

const Family kCollectives(&collective_rows);

}  // namespace
}  // namespace kiln::test
