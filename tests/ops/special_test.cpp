// Every elementwise row at the edges of its domain: infinities, NaN, zeros of either sign, and all thirteen element
// types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln {
namespace {

using One = Value (*)(const Value&);
using Two = Value (*)(const Value&, const Value&);
struct Unary {
  One function;
  op::Domain domain;
  bool yields_bool;
};
struct Binary {
  Two function;
  op::Domain domain;
  bool yields_bool;
};

const std::map<std::string, Unary>& unaries() {
  static const std::map<std::string, Unary> rows = {
#define KILN_UNARY(Name, function, domain, ...) \
  {#function, {static_cast<One>(kiln::function), op::Domain::domain, false}},
#define KILN_PREDICATE(Name, function, domain, ...) \
  {#function, {static_cast<One>(kiln::function), op::Domain::domain, true}},
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  };
  return rows;
}
const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> rows = {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, ...) \
  {#function, {static_cast<Two>(kiln::function), op::Domain::domain, false}},
#define KILN_COMPARISON(Name, function, domain, ...) \
  {#function, {static_cast<Two>(kiln::function), op::Domain::domain, true}},
#include "kiln/ops/elementwise/elementwise.def"
  };
  return rows;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
// Long enough that kernels of vectors meet each of them in a full vector and in the rest of a row.
const std::vector<double> kSpecial = {-kInf, -2.5, -1, -0.0, 0.0, 0.5, 1, 3, kInf, kNan};

Value tensor(const std::vector<double>& values, DType dtype, const Device& device) {
  return from_data(
      TensorData::of<double>({static_cast<std::int64_t>(values.size())}, std::span<const double>(values)).to(dtype),
      device);
}
std::vector<double> repeated(const std::vector<double>& values, std::size_t times) {
  std::vector<double> result;
  for (std::size_t i = 0; i < times; ++i) result.insert(result.end(), values.begin(), values.end());
  return result;
}

/// The same number, to the last few digits, or both NaN; zeros have the same sign.
bool agree(double found, double expected, DType dtype) {
  if (std::isnan(expected)) return std::isnan(found);
  if (found == expected) return found != 0 || std::signbit(found) == std::signbit(expected);
  return std::fabs(found - expected) <= (dtype == DType::F64 ? 1e-14 : 4e-7) * std::fabs(expected);
}

template <class Check>
void on_each_device_and_float(Check check) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::F64}) {
      SCOPED_TRACE(text(name, " ", dtype));
      check(Device::parse(name), dtype);
    }
}

// ---- <cmath> at the edges ------------------------------------------------------------------------------------------

using D = double;
const std::map<std::string, double (*)(double)> kLibrary = {
    {"abs", [](D x) { return std::fabs(x); }},
    {"sqrt", [](D x) { return std::sqrt(x); }},
    {"exp", [](D x) { return std::exp(x); }},
    {"exp2", [](D x) { return std::exp2(x); }},
    {"expm1", [](D x) { return std::expm1(x); }},
    {"log", [](D x) { return std::log(x); }},
    {"log2", [](D x) { return std::log2(x); }},
    {"log10", [](D x) { return std::log10(x); }},
    {"log1p", [](D x) { return std::log1p(x); }},
    {"sin", [](D x) { return std::sin(x); }},
    {"cos", [](D x) { return std::cos(x); }},
    {"tan", [](D x) { return std::tan(x); }},
    {"asin", [](D x) { return std::asin(x); }},
    {"acos", [](D x) { return std::acos(x); }},
    {"atan", [](D x) { return std::atan(x); }},
    {"sinh", [](D x) { return std::sinh(x); }},
    {"cosh", [](D x) { return std::cosh(x); }},
    {"tanh", [](D x) { return std::tanh(x); }},
    {"asinh", [](D x) { return std::asinh(x); }},
    {"acosh", [](D x) { return std::acosh(x); }},
    {"atanh", [](D x) { return std::atanh(x); }},
    {"erf", [](D x) { return std::erf(x); }},
    {"erfc", [](D x) { return std::erfc(x); }},
    {"lgamma", [](D x) { return std::lgamma(x); }},
    {"floor", [](D x) { return std::floor(x); }},
    {"ceil", [](D x) { return std::ceil(x); }},
    {"round", [](D x) { return std::rint(x); }},
    {"trunc", [](D x) { return std::trunc(x); }},
    {"neg", [](D x) { return -x; }},
    {"recip", [](D x) { return 1 / x; }},
    {"square", [](D x) { return x * x; }},
    {"is_nan", [](D x) { return D(std::isnan(x)); }},
    {"is_inf", [](D x) { return D(std::isinf(x)); }},
    {"is_finite", [](D x) { return D(std::isfinite(x)); }},
    {"signbit", [](D x) { return D(std::signbit(x)); }},
    {"logical_not", [](D x) { return D(!x); }},
};

TEST(SpecialValues, AreTheStandardLibrarysForOneOperand) {
  const std::vector<double> x = repeated(kSpecial, 5);
  on_each_device_and_float([&](const Device& device, DType dtype) {
    for (const auto& [name, f] : kLibrary) {
      const TensorData found = unaries().at(name).function(tensor(x, dtype, device)).data();
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_TRUE(agree(found.at(static_cast<std::int64_t>(i)), f(x[i]), dtype))
            << name << "(" << x[i] << ") is " << found.at(static_cast<std::int64_t>(i)) << ", expected " << f(x[i]);
    }
  });
}

const std::map<std::string, double (*)(double, double)> kLibraryOfTwo = {
    {"add", [](D x, D y) { return x + y; }},
    {"sub", [](D x, D y) { return x - y; }},
    {"mul", [](D x, D y) { return x * y; }},
    {"div", [](D x, D y) { return x / y; }},
    {"fmod", [](D x, D y) { return std::fmod(x, y); }},
    {"pow", [](D x, D y) { return std::pow(x, y); }},
    {"atan2", [](D x, D y) { return std::atan2(x, y); }},
    {"hypot", [](D x, D y) { return std::hypot(x, y); }},
    {"copysign", [](D x, D y) { return std::copysign(x, y); }},
    {"maximum", [](D x, D y) { return std::isnan(x) || std::isnan(y) ? kNan : std::fmax(x, y); }},
    {"minimum", [](D x, D y) { return std::isnan(x) || std::isnan(y) ? kNan : std::fmin(x, y); }},
    {"eq", [](D x, D y) { return D(x == y); }},
    {"ne", [](D x, D y) { return D(x != y); }},
    {"lt", [](D x, D y) { return D(x < y); }},
    {"le", [](D x, D y) { return D(x <= y); }},
    {"gt", [](D x, D y) { return D(x > y); }},
    {"ge", [](D x, D y) { return D(x >= y); }},
    {"logical_and", [](D x, D y) { return D(x && y); }},
    {"logical_or", [](D x, D y) { return D(x || y); }},
    {"logical_xor", [](D x, D y) { return D(!x != !y); }},
};

TEST(SpecialValues, AreTheStandardLibrarysForTwoOperands) {
  std::vector<double> x, y;
  for (const double a : kSpecial)
    for (const double b : kSpecial) x.push_back(a), y.push_back(b);
  on_each_device_and_float([&](const Device& device, DType dtype) {
    for (const auto& [name, f] : kLibraryOfTwo) {
      const TensorData found = binaries().at(name).function(tensor(x, dtype, device), tensor(y, dtype, device)).data();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double got = found.at(static_cast<std::int64_t>(i)), wanted = f(x[i], y[i]);
        // Which of two zeros is the larger one is not defined.
        const bool zeros = (name == "maximum" || name == "minimum") && x[i] == 0 && y[i] == 0;
        EXPECT_TRUE(zeros ? got == 0 : agree(got, wanted, dtype))
            << name << "(" << x[i] << ", " << y[i] << ") is " << got << ", expected " << wanted;
      }
    }
  });
}

// ---- NaN goes through ----------------------------------------------------------------------------------------------

TEST(NaN, GoesThroughEveryFunctionOfOneOperand) {
  const std::vector<double> nans(37, kNan);
  on_each_device_and_float([&](const Device& device, DType dtype) {
    for (const auto& [name, row] : unaries()) {
      if (row.yields_bool || row.domain == op::Domain::Integer) continue;
      const TensorData found = row.function(tensor(nans, dtype, device)).data();
      for (std::int64_t i = 0; i < 37; ++i)
        ASSERT_TRUE(std::isnan(found.at(i))) << name << " of NaN is " << found.at(i);
    }
  });
}

TEST(NaN, OfEitherOperandGoesThroughEveryFunctionOfTwo) {
  // What IEEE 754 defines otherwise: a power of 1, a 0th power, an infinite side. And functions that look at one
  // operand's sign alone, or not at all at the other.
  const std::map<std::string, std::set<int>> kept = {
      {"pow", {}},  {"copysign", {0}}, {"heaviside", {0}},        {"leaky_relu", {0}},
      {"elu", {0}}, {"celu", {0}},     {"thresholded_relu", {0}}, {"hard_shrink", {0}}};
  const std::vector<double> nans(19, kNan), numbers(19, 2.0);
  on_each_device_and_float([&](const Device& device, DType dtype) {
    for (const auto& [name, row] : binaries()) {
      if (row.yields_bool || row.domain == op::Domain::Integer) continue;
      for (int side = 0; side < 2; ++side) {
        if (kept.contains(name) && !kept.at(name).empty() && !kept.at(name).contains(side)) continue;
        const Value nan = tensor(nans, dtype, device), number = tensor(numbers, dtype, device);
        const TensorData found = (side ? row.function(number, nan) : row.function(nan, number)).data();
        for (std::int64_t i = 0; i < 19; ++i)
          ASSERT_TRUE(std::isnan(found.at(i))) << name << " with NaN as operand " << side << " is " << found.at(i);
      }
    }
  });
}

// ---- all element types ---------------------------------------------------------------------------------------------

/// `number` as an element of that type: whole numbers wrap around.
double wrapped(double number, DType dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return static_cast<double>(static_cast<T>(static_cast<std::int64_t>(number)));
    else return number;
  });
}

constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                            DType::I8,  DType::U64, DType::U32, DType::U16,  DType::U8,  DType::Bool};

/// What `call` gives for small numbers as `dtype`, compared with what it gives for the same numbers as float64 (or
/// int64, for functions of integers): a function means the same in every type.
void expect_like_the_widest(const std::string& name, op::Domain domain, DType dtype, bool yields_bool,
                            const std::function<Value(DType, const Device&)>& call) {
  const bool integers = domain == op::Domain::Integer;
  const DType widest = integers ? (dtype == DType::Bool ? DType::Bool : DType::I64) : DType::F64;
  const TensorData expected = call(widest, Device::parse("reference")).data();
  for (const char* device : {"cpu", "reference"}) {
    std::string heard;
    TensorData found;
    try {
      found = call(dtype, Device::parse(device)).data();
    } catch (const Error& error) { heard = error.what(); }
    if (integers && is_float(dtype)) {
      EXPECT_EQ(heard.substr(0, 13 + name.size()), "DTypeError: " + name + ":");
      continue;
    }
    ASSERT_EQ(heard, "") << name << ' ' << kiln::name(dtype) << ' ' << device;
    const Kind kind = kind_of(found.dtype());
    if (yields_bool) {
      EXPECT_EQ(kind, Kind::Bool) << name << ' ' << kiln::name(dtype);
    } else if (domain == op::Domain::Float) {
      EXPECT_EQ(kind, Kind::Float) << name << ' ' << kiln::name(dtype);
    }
    const double relative = dtype == DType::BF16 ? 3e-2 : dtype == DType::F16 ? 4e-3 : 2e-6;
    for (std::int64_t i = 0; i < expected.numel(); ++i) {
      // Where float64 has no number (a division by zero), integers have 0.
      const bool none = !std::isfinite(expected.at(i)), real = is_float(found.dtype());
      const double wanted = real ? expected.at(i) : none ? 0 : wrapped(expected.at(i), found.dtype());
      const double got = found.at(i);
      const bool right = std::isnan(wanted) ? std::isnan(got)
                         : none             ? got == wanted
                                            : std::fabs(got - wanted) <= relative * std::max(1.0, std::fabs(wanted));
      EXPECT_TRUE(right) << name << ' ' << kiln::name(dtype) << ' ' << device << ": element " << i << " is " << got
                         << ", expected " << wanted;
    }
  }
}

// Booleans are 0 and 1, so that the numbers are, too, where a type is Bool; unsigned types have no negative ones.
std::vector<double> numbers_of(DType dtype, bool second) {
  if (dtype == DType::Bool) return repeated(second ? std::vector<double>{0, 1, 1} : std::vector<double>{0, 1, 0}, 13);
  return repeated(second ? std::vector<double>{1, 3, 2} : std::vector<double>{0, 1, 3}, 13);
}

TEST(ElementTypes, EveryFunctionOfOneOperandMeansTheSameInAllThirteen) {
  for (const auto& [name, row] : unaries())
    for (const DType dtype : kTypes)
      expect_like_the_widest(name, row.domain, dtype, row.yields_bool, [&](DType type, const Device& device) {
        return row.function(tensor(numbers_of(dtype, false), type, device));
      });
}

TEST(ElementTypes, EveryFunctionOfTwoOperandsMeansTheSameInAllThirteen) {
  for (const auto& [name, row] : binaries())
    for (const DType dtype : kTypes)
      expect_like_the_widest(name, row.domain, dtype, row.yields_bool, [&](DType type, const Device& device) {
        return row.function(tensor(numbers_of(dtype, false), type, device),
                            tensor(numbers_of(dtype, true), type, device));
      });
}

}  // namespace
}  // namespace kiln
