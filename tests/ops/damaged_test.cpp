// Ops whose fields, or operands, nobody would choose: infer refuses them, or they run without harm. What the functions
// of functions.hpp check before they emit an op, who decodes one from bytes has only infer to check. Meant to run under
// the address and undefined-behaviour sanitizers as well.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/random.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/op.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::int64_t unlikely_number(Random& random, std::int64_t now) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t choices[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  -2,
                                  100,
                                  now + 1,
                                  now - 1,
                                  -now,
                                  1 << 20,
                                  kMost,
                                  -kMost,
                                  -kMost - 1,
                                  std::int64_t{1} << 32,
                                  kMost / 2};
  return choices[random.below(std::ssize(choices))];
}

/// Another value for one of the fields, or for several.
template <class T>
void damage(T& value, Random& random) {
  if constexpr (std::is_same_v<T, bool>) {
    value = random.below(2) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (random.below(3) > 0) value = static_cast<T>(unlikely_number(random, static_cast<std::int64_t>(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    const double choices[] = {0, -1, 1e300, std::numeric_limits<double>::infinity(), std::nan(""), 0.3};
    value = static_cast<T>(choices[random.below(std::ssize(choices))]);
  } else if constexpr (reflect::ScopedEnum<T>) {
    const auto all = reflect::enumerators<T>();
    value = all[static_cast<std::size_t>(random.below(std::ssize(all)))].first;
  } else if constexpr (reflect::ListLike<T>) {
    const std::int64_t way = random.below(4);
    if (way == 0 && value.size() < T::kCapacity) value.push_back(unlikely_number(random, 1));
    else if (way == 1 && value.size() > 0) value.pop_back();
    else if (value.size() > 0) damage(value[static_cast<int>(random.below(value.size()))], random);
  } else if constexpr (reflect::Aggregate<T>) {
    const std::int64_t only = random.below(static_cast<std::int64_t>(reflect::field_count<T>) + 1);
    std::int64_t at = 0;
    reflect::for_each_field(value, [&](std::string_view, auto& field) {
      if (at++ == only || (only == static_cast<std::int64_t>(reflect::field_count<T>) && random.below(2)))
        damage(field, random);
    });
  }
}

struct Called {
  op::Op op;
  std::vector<std::optional<TensorData>> tensors;  // an operand is one of these,
  Values numbers;                                  // or one of those, or nothing
};

/// Another operand in the place of one.
void damage_operands(Called& called, Random& random) {
  if (called.numbers.empty()) return;
  const auto any = [&] { return static_cast<std::size_t>(random.below(std::ssize(called.numbers))); };
  const std::size_t at = any(), other = any();
  std::optional<TensorData>& tensor = called.tensors[at];
  switch (random.below(7)) {
    case 0: called.tensors[at] = called.tensors[other], called.numbers[at] = called.numbers[other]; break;
    case 1: called.tensors.push_back(called.tensors[other]), called.numbers.push_back(called.numbers[other]); break;
    case 2: called.tensors.pop_back(), called.numbers.pop_back(); break;
    case 3: tensor.reset(), called.numbers[at] = Value(); break;
    case 4: tensor.reset(), called.numbers[at] = Value(unlikely_number(random, 5)); break;
    case 5:
      if (tensor) tensor = tensor->to(static_cast<DType>(random.below(kDTypeCount)));
      break;
    case 6: {  // another size, or another rank
      if (!tensor) break;
      Shape shape = tensor->shape();
      const std::int64_t size = random.below(4);
      if (shape.empty() || random.below(3) == 0) shape.push_back(size);
      else if (random.below(3) == 0) shape.pop_back();
      else shape[static_cast<int>(random.below(shape.size()))] = size;
      tensor = TensorData(shape, tensor->dtype());
    }
  }
}

/// Runs it if infer takes it; false where it does not.
bool run(const Called& called, const op::Op& op, const Device& device) {
  Values in = called.numbers;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (called.tensors[i]) in[i] = from_data(*called.tensors[i], device);
  try {
    const Descs results = op::visit(op, [&](const auto& o) { return o.infer(in); });
    std::int64_t elements = 0;
    for (const Desc& desc : results) elements += numel(desc.shape);
    if (elements > 100'000) return false;  // sound, and too long to wait for
  } catch (const Error&) { return false; }
  try {
    for (const Value& result : emit_all(device, op, in)) (void)result.data();
  } catch (const Error&) {}
  return true;
}

TEST(OpTable, RefusesOrRunsOpsWithAnyFieldsAndOperands) {
  std::map<std::string, std::vector<Called>> calls;
  const Device spy = spying_device([&](const op::Op& op, Call call) {
    const bool plain =
        op::visit(op, []<class T>(const T&) { return !op::Planned<T> && !std::is_same_v<T, op::Custom>; });
    std::vector<Called>& known = calls[std::string(op::function_name(op))];
    if (!plain || known.size() == 6) return;
    Called called{op, {}, {}};
    for (const Value& value : call.in) {
      called.numbers.push_back(value.is_scalar() ? value : Value());
      called.tensors.push_back(value.node() ? std::optional(value.data()) : std::nullopt);
    }
    known.push_back(std::move(called));
  });
  for (const OpCase& row : all_rows()) {
    const Values results = row.function(operands_of(row, DType::F32, spy));
    if (row.gradient && results[0].tracked()) backward(sum(results[0]));
  }

  Random random(13);
  int refused = 0, ran = 0;
  for (const auto& [name, known] : calls)
    for (const Called& called : known)
      for (int round = 0; round < 60; ++round) {
        op::Op op = called.op;
        Called damaged = called;
        const bool fields = random.below(3) > 0;
        if (!fields || random.below(3) == 0) damage_operands(damaged, random);
        if (fields)
          std::visit(
              [&]<class T>(T& o) {
                if constexpr (!op::Planned<T> && !std::is_same_v<T, op::Custom>) damage(o, random);
              },
              op.is);
        for (const char* device : {"cpu", "reference"}) ++(run(damaged, op, Device::parse(device)) ? ran : refused);
      }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(ran, 1000);
}

}  // namespace
}  // namespace kiln::test
