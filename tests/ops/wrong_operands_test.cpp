// Every row of tests/ops/ called wrongly: each operand in turn missing, a plain number, of another type, shape, rank or
// device, or an index out of range. The call works or is answered with a sentence; nothing crashes, and every op of the
// table answers at least one of them.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/ops/harness.hpp"
#include "tests/ops/unread.hpp"

namespace kiln::test {
namespace {

Value filled(const Shape& shape, DType dtype, double value = 0.5) {
  return full(shape, is_float(dtype) ? Scalar(value) : Scalar(1), Device::cpu(), dtype);
}

DType dtype_of(const OperandSpec& operand) {
  return operand.kind == OperandSpec::Index ? DType::I64 : operand.kind == OperandSpec::Flag ? DType::Bool : DType::F32;
}

/// What operand might be by mistake.
Values mistakes(const OperandSpec& operand) {
  const DType dtype = dtype_of(operand);
  Values all = {Value(), Value(0.5), Value(3), Value(true), filled({}, dtype)};
  for (const DType other : {DType::F32, DType::F64, DType::F16, DType::I64, DType::U8, DType::Bool})
    if (other != dtype) all.push_back(filled(operand.shape, other));
  Shape more = operand.shape, none = operand.shape;
  if (more.size() < kMaxRank) more.insert(0, 2), all.push_back(filled(more, dtype));
  for (int i = 0; i < operand.shape.size(); ++i) {
    Shape fewer = operand.shape, larger = operand.shape;
    fewer.erase(i);
    ++larger[i];
    none[i] = 0;
    all.push_back(filled(fewer, dtype));
    all.push_back(filled(larger, dtype));
    all.push_back(filled(none, dtype));
    none[i] = operand.shape[i];
  }
  all.push_back(to_device(filled(operand.shape, dtype), Device::parse("reference")));
  if (operand.kind == OperandSpec::Index)
    for (const std::int64_t index : {std::int64_t{-1000}, std::int64_t{1000}, std::numeric_limits<std::int64_t>::min()})
      all.push_back(full(operand.shape, index, Device::cpu(), DType::I64));
  return all;
}

/// The name that a sentence begins with; a failure where it is no sentence. Functions that look at an operand before
/// they ask an op leave it to the empty Value to say what is wrong.
std::string function_name(const std::string& sentence) {
  static const std::regex form(R"([A-Z][A-Za-z]+Error: ([a-z][a-z0-9_]*): [\s\S]{8,}[^.\s])");
  static const std::regex empty(
      "ArgumentError: an empty Value has no (shape|element type|data)|"
      "DeviceError: no device was given");
  std::smatch parts;
  if (std::regex_match(sentence, parts, form)) return parts[1];
  if (!std::regex_match(sentence, empty)) ADD_FAILURE() << "not a sentence: " << sentence;
  return "";
}

TEST(WrongOperands, AreAnsweredWithASentenceByEveryOp) {
  std::set<std::string> heard;
  for (const OpCase& row : all_rows()) {
    Values right;
    for (const OperandSpec& operand : row.operands) right.push_back(filled(operand.shape, dtype_of(operand)));
    for (std::size_t i = 0; i < right.size(); ++i)
      for (const Value& wrong : mistakes(row.operands[i])) {
        Values in = right;
        in[i] = wrong;
        try {
          for (const Value& result : row.function(in))
            if (!result.empty()) (void)result.data();
        } catch (const Error& error) {
          heard.insert(function_name(error.what()));
        } catch (const std::exception& error) {
          ADD_FAILURE() << row.name << ", operand " << i << ' ' << text(wrong) << ": " << error.what();
        }
      }
  }
  hear_of_unread_failures();
  std::set<std::string> names = functions_of_the_table();
  for (const char* inner : {"attention_grad", "avg_pool_grad", "batch_norm_grad", "blend", "blend_transpose",
                            "blend_weight_grad", "conv_weight_grad", "grid_sample_grid_grad", "grid_sample_transpose",
                            "group_norm_grad", "recurrent_layer_grad", "resample", "select_sum",
                            // told as full, frexp, max_pool_backward and the draw in question
                            "fill", "frexp_exponent", "max_pool_grad", "random"})
    names.erase(inner);  // no public function calls them
  for (const std::string& name : names)
    EXPECT_TRUE(heard.contains(name)) << "no wrong call of " << name << " is answered by its name";
}

}  // namespace
}  // namespace kiln::test
