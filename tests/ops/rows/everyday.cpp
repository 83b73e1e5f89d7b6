// Rows of short forms and of functions that make tensors, move them or hand them to an op of the user's own.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kiln/ops/custom.hpp"
#include "kiln/wire/custom.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::vector<Array> scalar(double value) { return {Array({}, value)}; }

/// softsign with a gradient of its own.
class Softsign : public CustomOp {
 public:
  std::string name() const override { return "softsign_of_the_user"; }
  Descs infer(Inputs in) const override { return Descs{Desc{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override { return {in[0] / (abs(in[0]) + 1)}; }
  bool has_vjp() const override { return true; }
  Values vjp(Inputs in, Inputs, Inputs grad) const override { return {grad[0] / square(abs(in[0]) + 1)}; }
};

std::vector<OpCase> everyday_rows() {
  std::vector<OpCase> rows;
  wire::register_custom_class({.name = "softsign_of_the_user",
                               .fingerprint = 1,
                               .is = [](const CustomOp& op) { return op.name() == "softsign_of_the_user"; },
                               .write = [](wire::Writer&, const CustomOp&) {},
                               .read = [](wire::Reader&) { return Ref<const CustomOp>(make_ref<const Softsign>()); }});
  rows.push_back({.name = "mean_of_all",
                  .operands = {{{3, 4}}},
                  .function = [](const Values& in) { return Values{mean(in[0])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return scalar(std::accumulate(in[0].v.begin(), in[0].v.end(), 0.0) / 12);
                      }});
  rows.push_back(
      {.name = "max_of_all",
       .operands = {{{3, 4}}},
       .function = [](const Values& in) { return Values{max(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) { return scalar(*std::max_element(in[0].v.begin(), in[0].v.end())); }});
  rows.push_back(
      {.name = "min_of_all",
       .operands = {{{3, 4}}},
       .function = [](const Values& in) { return Values{min(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) { return scalar(*std::min_element(in[0].v.begin(), in[0].v.end())); }});
  rows.push_back(
      {.name = "any_of_all",
       .operands = {{{3, 4}, 0, 1, OperandSpec::Flag}},
       .function = [](const Values& in) { return Values{any(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) { return scalar(*std::max_element(in[0].v.begin(), in[0].v.end())); },
       .gradient = false});
  rows.push_back(
      {.name = "all_of_all",
       .operands = {{{3, 4}, 0, 1, OperandSpec::Flag}},
       .function = [](const Values& in) { return Values{all(in[0])}; },
       .meaning =
           [](const std::vector<Array>& in) { return scalar(*std::min_element(in[0].v.begin(), in[0].v.end())); },
       .gradient = false});
  rows.push_back({.name = "to_device",
                  .operands = {{{3, 4}}},
                  .function =
                      [](const Values& in) {
                        const Device here = in[0].device();
                        const Device there = Device::parse(here.name() == "cpu" ? "reference" : "cpu");
                        return Values{to_device(square(to_device(in[0], there)), here)};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x *= x;
                        return std::vector<Array>{result};
                      },
                  .gradient = false});  // what comes from another device is not tracked
  rows.push_back({.name = "zeros_and_ones",
                  .operands = {{{3, 4}}},
                  .function =
                      [](const Values& in) {
                        const Device device = in[0].device();
                        const DType dtype = in[0].dtype();
                        return Values{in[0] + ones({3, 4}, device, dtype) + zeros({4}, device, dtype) +
                                      ones_like(in[0]) + zeros_like(in[0])};
                      },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x += 2;
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "custom",
                  .operands = {{{3, 4}, 0.2, 2}},
                  .function = [](const Values& in) { return custom(make_ref<Softsign>(), {&in[0], 1}); },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x = x / (1 + std::fabs(x));
                        return std::vector<Array>{result};
                      }});
  return rows;
}

const Family kEveryday(&everyday_rows);

}  // namespace
}  // namespace kiln::test
