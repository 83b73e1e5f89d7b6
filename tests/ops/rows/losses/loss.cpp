#include <cmath>

#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

OpCase cross_entropy_row(std::string name, std::int64_t batch, std::int64_t classes) {
  return {.name = std::move(name),
          .operands = {{{batch, classes}}, {{batch}, 0, static_cast<double>(classes), OperandSpec::Index}},
          .function = [](const Values& in) { return Values{cross_entropy_each(in[0], in[1])}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                Array result({batch});
                for (std::int64_t i = 0; i < batch; ++i) {
                  double total = 0;
                  for (std::int64_t j = 0; j < classes; ++j) total += std::exp(in[0]({i, j}));
                  result({i}) = std::log(total) - in[0]({i, static_cast<std::int64_t>(in[1]({i}))});
                }
                return std::vector<Array>{result};
              },
          .tolerance = 4};
}

std::vector<OpCase> loss_rows() {
  return {cross_entropy_row("cross_entropy", 4, 6), cross_entropy_row("cross_entropy_of_one_class", 3, 1),
          cross_entropy_row("cross_entropy_of_nothing", 0, 5), cross_entropy_row("cross_entropy_wide", 3, 40)};
}

const Family kLoss(&loss_rows);

}  // namespace
}  // namespace kiln::test
