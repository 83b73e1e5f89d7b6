#include "tests/golden/golden.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln::golden {
namespace {

std::map<std::string, Row>& rows() {
  static std::map<std::string, Row> all;
  return all;
}

}  // namespace

Rows::Rows(std::vector<Row> list) {
  for (Row& row : list) {
    const std::string name = row.name;
    KILN_CHECK(rows().emplace(name, std::move(row)).second);
  }
}

namespace {

const std::map<std::string, TensorData>& stored() {
  static const TensorFile file = read_safetensors(read_file(KILN_GOLDEN), KILN_GOLDEN);
  return file.tensors;
}

std::vector<std::string> cases() {
  std::set<std::string> names;
  for (const auto& [name, data] : stored()) names.insert(name.substr(0, name.find('/')));
  return {names.begin(), names.end()};
}

const TensorData* find(const std::string& name, const char* what, std::size_t i) {
  const auto found = stored().find(text(name, '/', what, i));
  return found == stored().end() ? nullptr : &found->second;
}

/// The inputs on a device, floats as `dtype`; those tracked whose gradient is stored.
Values inputs(const std::string& name, const Device& device, DType dtype) {
  Values in;
  for (std::size_t i = 0; const TensorData* data = find(name, "in", i); ++i) {
    in.push_back(from_data(data->dtype() == DType::F64 ? data->to(dtype) : *data, device));
    if (device.is_autodiff() && find(name, "grad", i)) in.back() = in.back().require_grad();
  }
  return in;
}

void expect_outputs(const Row& row, const Values& outputs, const std::string& where, Tolerance tolerance) {
  std::size_t count = 0;
  while (find(row.name, "out", count)) ++count;
  ASSERT_EQ(outputs.size(), count) << where;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorData& expected = *find(row.name, "out", i);
    const TensorData found = outputs[i].data();
    EXPECT_EQ(kind_of(found.dtype()), kind_of(expected.dtype())) << where;
    EXPECT_EQ(difference(found.to(expected.dtype()), expected, tolerance), "") << where << ", output " << i;
  }
}

class Golden : public testing::TestWithParam<std::string> {
 public:
  const Row& row() const {
    const auto found = rows().find(GetParam());
    if (found == rows().end()) fail<ArgumentError>("no row of tests/golden/ computes ", GetParam());
    return found->second;
  }
};

TEST_P(Golden, ValuesAreTheirs) {
  for (const char* name : {"cpu", "reference"})
    expect_outputs(row(), row().function(inputs(row().name, Device::parse(name), DType::F64)), name,
                   {1e-9 * row().tolerance, 1e-10 * row().tolerance});
  expect_outputs(row(), row().function(inputs(row().name, Device::cpu(), DType::F32)), "cpu, float32",
                 {1e-4 * row().tolerance, 2e-5 * row().tolerance});
}

TEST_P(Golden, GradientsAreTheirs) {
  const Device device = Device::cpu().autodiff();
  const Values in = inputs(row().name, device, DType::F64);
  if (std::none_of(in.begin(), in.end(), [](const Value& x) { return x.tracked(); })) return;
  Value loss;
  std::int64_t at = 1;
  for (const Value& output : row().function(in)) {
    if (!output.tracked()) continue;
    const Value count = arange(at, at + output.numel(), 1, device, DType::F64);
    const Value part = sum(reshape(output, {-1}) * cos(count));
    loss = loss ? loss + part : part;
    at += output.numel();
  }
  ASSERT_TRUE(loss);
  const Gradients gradients = backward(loss);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].tracked()) {
      const Value found = gradients.find(in[i]).value_or(zeros_like(in[i]));
      EXPECT_EQ(
          difference(found.data(), *find(row().name, "grad", i), {1e-7 * row().tolerance, 1e-8 * row().tolerance}), "")
          << "gradient of input " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param;
  if (const std::size_t dot = name.find('.'); dot != name.npos) name.replace(dot, 1, "_case_");
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(GoldenRows, EachHasACase) {
  const std::vector<std::string> names = cases();
  for (const auto& [name, row] : rows())
    EXPECT_TRUE(!row.needs_case || std::binary_search(names.begin(), names.end(), name))
        << "nothing is stored for " << name;
}

}  // namespace
}  // namespace kiln::golden
