#include "kiln/ops/expression/dialect.hpp"

#include <algorithm>

namespace kiln::expr {
namespace {

constexpr Native kCppNatives[] = {
    {"to_number", kF64, "(double)($0)"},
    {"to_number", kF32, "(float)($0)"},
    {"to_number", kI32, "(int)($0)"},
    {"to_number", kU32, "(unsigned int)($0)"},
    {"to_number", kI64, "(long long)($0)"},
    {"to_number", kU64, "(unsigned long long)($0)"},
    {"to_word", kAllNumbers, "(unsigned int)($0)"},
    {"lowest", kI32, "(-2147483647 - 1)"},
    {"lowest", kI64, "(-9223372036854775807ll - 1)"},
    {"lowest", kU32, "0u"},
    {"lowest", kU64, "0ull"},
    {"highest", kI32, "2147483647"},
    {"highest", kI64, "9223372036854775807ll"},
    {"highest", kU32, "4294967295u"},
    {"highest", kU64, "18446744073709551615ull"},
    {"width", kI32, "32"},
    {"width", kU32, "32u"},
    {"width", kI64, "64ll"},
    {"width", kU64, "64ull"},
    {"is_nan", kFloats, "isnan($0)"},
    {"is_inf", kFloats, "isinf($0)"},
    {"is_finite", kFloats, "isfinite($0)"},
    {"sign_bit", kFloats, "(signbit($0) != 0)"},
    {"abs", kFloats, "fabs$f($0)"},
    {"copysign", kFloats, "copysign$f($0, $1)"},
    {"sqrt", kFloats, "sqrt$f($0)"},
    {"floor", kFloats, "floor$f($0)"},
    {"ceil", kFloats, "ceil$f($0)"},
    {"trunc", kFloats, "trunc$f($0)"},
    {"round", kFloats, "rint$f($0)"},
    {"fmod", kFloats, "fmod$f($0, $1)"},
    {"hypot", kFloats, "hypot$f($0, $1)"},
    {"exp", kFloats, "exp$f($0)"},
    {"exp2", kFloats, "exp2$f($0)"},
    {"expm1", kFloats, "expm1$f($0)"},
    {"log", kFloats, "log$f($0)"},
    {"log2", kFloats, "log2$f($0)"},
    {"log10", kFloats, "log10$f($0)"},
    {"log1p", kFloats, "log1p$f($0)"},
    {"sin", kFloats, "sin$f($0)"},
    {"cos", kFloats, "cos$f($0)"},
    {"tan", kFloats, "tan$f($0)"},
    {"asin", kFloats, "asin$f($0)"},
    {"acos", kFloats, "acos$f($0)"},
    {"atan", kFloats, "atan$f($0)"},
    {"sinh", kFloats, "sinh$f($0)"},
    {"cosh", kFloats, "cosh$f($0)"},
    {"tanh", kFloats, "tanh$f($0)"},
    {"asinh", kFloats, "asinh$f($0)"},
    {"acosh", kFloats, "acosh$f($0)"},
    {"atanh", kFloats, "atanh$f($0)"},
    {"atan2", kFloats, "atan2$f($0, $1)"},
    {"pow", kFloats, "pow$f($0, $1)"},
    {"erf", kFloats, "erf$f($0)"},
    {"erfc", kFloats, "erfc$f($0)"},
};

constexpr Native kHostNatives[] = {
    {"infinity", kF32, "__builtin_inff()"},
    {"infinity", kF64, "__builtin_inf()"},
    {"nan", kF32, "__builtin_nanf(\"\")"},
    {"nan", kF64, "__builtin_nan(\"\")"},
    {"lowest", kF32, "(-__builtin_inff())"},
    {"lowest", kF64, "(-__builtin_inf())"},
    {"highest", kF32, "__builtin_inff()"},
    {"highest", kF64, "__builtin_inf()"},
    {"bits_of_float", kF64, "__builtin_bit_cast(unsigned int, (float)($0))"},
    {"from_bits_of_float", kF64, "(double)__builtin_bit_cast(float, $0)"},
    {"bits", kF32, "__builtin_bit_cast(unsigned int, $0)"},
    {"from_bits", kF32, "__builtin_bit_cast(float, $0)"},
    {"multiply_high", kAllNumbers, "(unsigned int)((unsigned long long)($0) * ($1) >> 32)"},
};

constexpr Native kCNatives[] = {
    {"infinity", kF32, "INFINITY"},
    {"infinity", kF64, "((double)INFINITY)"},
    {"nan", kF32, "NAN"},
    {"nan", kF64, "((double)NAN)"},
    {"lowest", kF32, "(-INFINITY)"},
    {"lowest", kF64, "(-(double)INFINITY)"},
    {"highest", kF32, "INFINITY"},
    {"highest", kF64, "((double)INFINITY)"},
    {"bits_of_float", kF64, "kiln_bits((float)($0))"},
    {"from_bits_of_float", kF64, "((double)kiln_from_bits($0))"},
    {"bits", kF32, "kiln_bits($0)"},
    {"from_bits", kF32, "kiln_from_bits($0)"},
    {"multiply_high", kAllNumbers, "(unsigned int)((unsigned long long)($0) * ($1) >> 32)"},
};

// The runtime compilers of CUDA and HIP have no C headers that define these.
constexpr Native kCudaNatives[] = {
    {"infinity", kF32, "__int_as_float(0x7f800000)"},
    {"infinity", kF64, "__longlong_as_double(0x7ff0000000000000ll)"},
    {"nan", kF32, "__int_as_float(0x7fc00000)"},
    {"nan", kF64, "__longlong_as_double(0x7ff8000000000000ll)"},
    {"lowest", kF32, "(-__int_as_float(0x7f800000))"},
    {"lowest", kF64, "(-__longlong_as_double(0x7ff0000000000000ll))"},
    {"highest", kF32, "__int_as_float(0x7f800000)"},
    {"highest", kF64, "__longlong_as_double(0x7ff0000000000000ll)"},
    {"bits_of_float", kF64, "__float_as_uint((float)($0))"},
    {"from_bits_of_float", kF64, "(double)__uint_as_float($0)"},
    {"bits", kF32, "__float_as_uint($0)"},
    {"from_bits", kF32, "__uint_as_float($0)"},
    {"multiply_high", kAllNumbers, "__umulhi($0, $1)"},
};

// Instructions convert halves, and round to nearest even.
constexpr Native kCudaHalves[] = {
    {"from_bits_of_f16", kF32, "kiln_from_f16($0)"},
    {"bits_of_f16", kF32, "kiln_to_f16($0)"},
    {"round_to_f16", kF32, "kiln_from_f16(kiln_to_f16($0))"},
    {"bits_of_bf16", kF32, "kiln_to_bf16($0)"},
};

constexpr Native kGlslHalfNatives[] = {
    {"from_bits_of_f16", kF32, "float(uint16BitsToHalf(uint16_t($0)))"},
    {"bits_of_f16", kF32, "uint(halfBitsToUint16(float16_t($0)))"},
    {"round_to_f16", kF32, "float(float16_t($0))"},
};

// Drivers may assume that there are no infinities and NaNs, and round halves as they like: functions that test for or
// create these work on the bits. Functions that are accurate only for some operands are the library's.
constexpr Native kShaderNatives[] = {
    {"abs", kFloats, "abs($0)"},   {"sqrt", kFloats, "sqrt($0)"},    {"floor", kFloats, "floor($0)"},
    {"ceil", kFloats, "ceil($0)"}, {"trunc", kFloats, "trunc($0)"},  {"exp", kF32, "exp($0)"},
    {"exp2", kF32, "exp2($0)"},    {"atan", kF32, "atan($0)"},       {"lowest", kU32, "0u"},
    {"width", kU32, "32u"},        {"highest", kU32, "4294967295u"},
};

// The asin and acos of Mesa's drivers are wrong in the fourth digit, and the logarithms of negative numbers may be numbers
// (SwiftShader's are), here and in WGSL.
constexpr Native kGlslNatives[] = {
    {"log", kF32, "($0 < 0.0f ? uintBitsToFloat(0x7fc00000u) : log($0))"},
    {"log2", kF32, "($0 < 0.0f ? uintBitsToFloat(0x7fc00000u) : log2($0))"},
    {"asin", kF32, "(abs($0) <= 1.0f ? atan($0, sqrt((1.0f - ($0)) * (1.0f + ($0)))) : uintBitsToFloat(0x7fc00000u))"},
    {"acos", kF32, "(abs($0) <= 1.0f ? atan(sqrt((1.0f - ($0)) * (1.0f + ($0))), $0) : uintBitsToFloat(0x7fc00000u))"},
    {"to_number", kF64, "double($0)"},
    {"to_number", kF32, "float($0)"},
    {"to_number", kI32, "int($0)"},
    {"to_number", kU32, "uint($0)"},
    {"to_number", kI64, "int64_t($0)"},
    {"to_number", kU64, "uint64_t($0)"},
    {"to_word", kAllNumbers, "uint($0)"},
    {"lowest", kI32, "(-2147483647 - 1)"},
    {"lowest", kI64, "(-9223372036854775807l - 1l)"},
    {"lowest", kU64, "0ul"},
    {"highest", kI32, "2147483647"},
    {"highest", kI64, "9223372036854775807l"},
    {"highest", kU64, "18446744073709551615ul"},
    {"width", kI32, "32"},
    {"width", kI64, "64l"},
    {"width", kU64, "64ul"},
    {"infinity", kF32, "uintBitsToFloat(0x7f800000u)"},
    {"infinity", kF64, "packDouble2x32(uvec2(0u, 0x7ff00000u))"},
    {"nan", kF32, "uintBitsToFloat(0x7fc00000u)"},
    {"nan", kF64, "packDouble2x32(uvec2(0u, 0x7ff80000u))"},
    {"lowest", kF32, "uintBitsToFloat(0xff800000u)"},
    {"lowest", kF64, "packDouble2x32(uvec2(0u, 0xfff00000u))"},
    {"highest", kF32, "uintBitsToFloat(0x7f800000u)"},
    {"highest", kF64, "packDouble2x32(uvec2(0u, 0x7ff00000u))"},
    {"bits_of_float", kF64, "floatBitsToUint(float($0))"},
    {"from_bits_of_float", kF64, "double(uintBitsToFloat($0))"},
    {"bits", kF32, "floatBitsToUint($0)"},
    {"from_bits", kF32, "uintBitsToFloat($0)"},
    {"sign_bit", kF64, "((unpackDouble2x32($0).y >> 31) != 0u)"},
    {"is_nan", kF64, "isnan($0)"},
    {"round", kFloats, "roundEven($0)"},
};

// A constant that is infinite or NaN is an error in WGSL, so these are computed from a variable.
constexpr Native kWgslNatives[] = {
    {"log", kF32, "select(log($0), bitcast<f32>(kiln_infinity | 0x400000u), $0 < 0.0)"},
    {"log2", kF32, "select(log2($0), bitcast<f32>(kiln_infinity | 0x400000u), $0 < 0.0)"},
    {"asin", kF32,
     "select(bitcast<f32>(kiln_infinity | 0x400000u), atan2($0, sqrt((1.0 - ($0)) * (1.0 + ($0)))), abs($0) <= 1.0)"},
    {"acos", kF32,
     "select(bitcast<f32>(kiln_infinity | 0x400000u), atan2(sqrt((1.0 - ($0)) * (1.0 + ($0))), $0), abs($0) <= 1.0)"},
    {"to_number", kF32, "f32($0)"},
    {"to_number", kI32, "i32($0)"},
    {"to_number", kU32, "u32($0)"},
    {"to_word", kAllNumbers, "u32($0)"},
    {"lowest", kI32, "(-2147483647i - 1i)"},
    {"highest", kI32, "2147483647i"},
    {"width", kI32, "32i"},
    {"infinity", kF32, "bitcast<f32>(kiln_infinity)"},
    {"nan", kF32, "bitcast<f32>(kiln_infinity | 0x400000u)"},
    {"lowest", kF32, "bitcast<f32>(kiln_infinity | 0x80000000u)"},
    {"highest", kF32, "bitcast<f32>(kiln_infinity)"},
    {"bits", kF32, "bitcast<u32>($0)"},
    {"from_bits", kF32, "bitcast<f32>($0)"},
    {"round", kF32, "round($0)"},
};

constexpr Native kMetalNatives[] = {
    {"log", kF32, "log($0)"},
    {"log2", kF32, "log2($0)"},
    {"sin", kF32, "sin($0)"},
    {"cos", kF32, "cos($0)"},
    {"tan", kF32, "tan($0)"},
    {"asin", kF32, "asin($0)"},
    {"acos", kF32, "acos($0)"},
    {"to_number", kF32, "(float)($0)"},
    {"to_number", kI32, "(int)($0)"},
    {"to_number", kU32, "(uint)($0)"},
    {"to_number", kI64, "(long)($0)"},
    {"to_number", kU64, "(ulong)($0)"},
    {"to_word", kAllNumbers, "(uint)($0)"},
    {"lowest", kI32, "(-2147483647 - 1)"},
    {"lowest", kI64, "(-9223372036854775807l - 1)"},
    {"lowest", kU64, "0ul"},
    {"highest", kI32, "2147483647"},
    {"highest", kI64, "9223372036854775807l"},
    {"highest", kU64, "18446744073709551615ul"},
    {"width", kI32, "32"},
    {"width", kI64, "64l"},
    {"width", kU64, "64ul"},
    {"infinity", kF32, "as_type<float>(0x7f800000u)"},
    {"nan", kF32, "as_type<float>(0x7fc00000u)"},
    {"lowest", kF32, "as_type<float>(0xff800000u)"},
    {"highest", kF32, "as_type<float>(0x7f800000u)"},
    {"bits", kF32, "as_type<uint>($0)"},
    {"from_bits", kF32, "as_type<float>($0)"},
    {"round", kF32, "rint($0)"},
    {"multiply_high", kAllNumbers, "mulhi($0, $1)"},
};

constexpr std::array<std::string_view, 6> kTypesOfC{"double", "float",       "long long", "unsigned long long",
                                                    "int",    "unsigned int"};

constexpr std::string_view kHostPreamble =
    "#include <math.h>\n#define KILN_DEVICE [[maybe_unused]] static inline\n"
    "struct KilnWords {\n  unsigned int x, y, z, w;\n};\n";
// Bytes are copied one by one, which both languages allow and compilers turn into one move.
constexpr std::string_view kCPreamble =
    "#include <math.h>\n"
    "#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L)\n"
    "#define bool _Bool\n#define true 1\n#define false 0\n#endif\n"
    "#ifdef __GNUC__\n#define KILN_DEVICE __attribute__((unused)) static inline\n#else\n"
    "#define KILN_DEVICE static inline\n#endif\n"
    "/* A compiler that stops here has other integers than the code counts with: ints of 32 bits, bytes of 8. */\n"
    "typedef char kiln_integers_fit[sizeof(int) == 4 && (unsigned char)~0 == 255 ? 1 : -1];\n"
    "KILN_DEVICE unsigned int kiln_bits(float x) {\n"
    "  unsigned int bits, i;\n"
    "  for (i = 0; i < sizeof bits; ++i) ((unsigned char*)&bits)[i] = ((const unsigned char*)&x)[i];\n"
    "  return bits;\n}\n"
    "KILN_DEVICE float kiln_from_bits(unsigned int bits) {\n"
    "  float x;\n  unsigned int i;\n"
    "  for (i = 0; i < sizeof x; ++i) ((unsigned char*)&x)[i] = ((const unsigned char*)&bits)[i];\n"
    "  return x;\n}\n";
constexpr std::string_view kCudaPreamble =
    "#define KILN_DEVICE [[maybe_unused]] static __device__ inline\n"
    "struct KilnWords {\n  unsigned int x, y, z, w;\n};\n"
    "#ifndef KILN_HALVES  // who reads this with another compiler has them\n"
    "KILN_DEVICE float kiln_from_f16(unsigned int w) {\n"
    "  float x;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"((unsigned short)w));\n  return x;\n}\n"
    "KILN_DEVICE unsigned int kiln_to_f16(float x) {\n"
    "  unsigned short w;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(w) : \"f\"(x));\n  return w;\n}\n"
    "KILN_DEVICE unsigned int kiln_to_bf16(float x) {\n"
    "  unsigned short w;\n  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(w) : \"f\"(x));\n  return w;\n}\n"
    "#endif\n";
constexpr std::string_view kHipPreamble =
    "#ifndef __HIPCC_RTC__  // which has it by itself\n#include <hip/hip_runtime.h>\n#endif\n"
    "#define KILN_DEVICE static __device__ inline\n"
    "struct KilnWords {\n  unsigned int x, y, z, w;\n};\n";
constexpr std::string_view kGlslPreamble =
    "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "#extension GL_EXT_shader_16bit_storage : require\n#extension GL_EXT_shader_8bit_storage : require\n";
constexpr std::string_view kMetalPreamble =
    "#include <metal_stdlib>\n#pragma METAL fp contract(off)\nusing namespace metal;\n#define KILN_DEVICE static "
    "inline\n"
    "struct KilnWords {\n  uint x, y, z, w;\n};\n";
constexpr std::string_view kWgslPreamble = "var<private> kiln_infinity: u32 = 0x7f800000u;\n";

}  // namespace

const Dialect kCpp{Dialect::Syntax::Cpp, "C++",     kAllNumbers, {kCppNatives, kHostNatives, {}},
                   kHostPreamble,        kTypesOfC, "ll"};
const Dialect kC{Dialect::Syntax::Cpp, "C", kAllNumbers, {kCppNatives, kCNatives, {}}, kCPreamble, kTypesOfC, "ll"};
const Dialect kCuda{Dialect::Syntax::Cpp, "CUDA",    kAllNumbers, {kCppNatives, kCudaNatives, kCudaHalves},
                    kCudaPreamble,        kTypesOfC, "ll"};
const Dialect kHip{Dialect::Syntax::Cpp, "HIP",     kAllNumbers, {kCppNatives, kCudaNatives, {}},
                   kHipPreamble,         kTypesOfC, "ll"};
const Dialect kGlsl{Dialect::Syntax::Glsl,
                    "GLSL",
                    kAllNumbers,
                    {kShaderNatives, kGlslNatives, {}},
                    kGlslPreamble,
                    {"double", "float", "int64_t", "uint64_t", "int", "uint"},
                    "l",
                    "precise "};
const Dialect kGlslHalves = [] {
  Dialect dialect = kGlsl;
  dialect.natives[2] = kGlslHalfNatives;
  return dialect;
}();
const Dialect kWgsl{Dialect::Syntax::Wgsl,
                    "WGSL",
                    kF32 | kI32 | kU32,
                    {kShaderNatives, kWgslNatives, {}},
                    kWgslPreamble,
                    {"f64", "f32", "i64", "u64", "i32", "u32"},
                    ""};
const Dialect kMetal{Dialect::Syntax::Cpp,
                     "MSL",
                     kF32 | kI32 | kU32 | kI64 | kU64,
                     {kShaderNatives, kMetalNatives, {}},
                     kMetalPreamble,
                     {"double", "float", "long", "ulong", "int", "uint"},
                     "l"};

const Native* Dialect::native(const Function& function, DType dtype) const {
  for (const std::span<const Native> table : natives)
    for (const Native& native : table)
      if (native.function == function.name && (!function.typed || native.numbers & numbers_of(dtype))) return &native;
  return nullptr;
}

std::string_view Dialect::type(DType dtype) const {
  constexpr DType kOrder[] = {DType::F64, DType::F32, DType::I64, DType::U64, DType::I32, DType::U32};
  return types[static_cast<std::size_t>(std::ranges::find(kOrder, computed_in(dtype)) - kOrder)];
}
std::string_view Dialect::word() const { return type(DType::U32); }

namespace {

bool supports(const Dialect& dialect, const std::vector<Statement>& statements, DType dtype) {
  return std::all_of(statements.begin(), statements.end(), [&](const Statement& statement) {
    const auto computes = [&](const Tree& tree) { return expr::supports(dialect, tree, dtype); };
    return std::all_of(statement.values.begin(), statement.values.end(), computes) &&
           supports(dialect, statement.body, dtype) && supports(dialect, statement.otherwise, dtype);
  });
}

}  // namespace

bool supports(const Dialect& dialect, const Tree& tree, DType dtype) {
  if (!(dialect.numbers & numbers_of(dtype))) return false;
  return std::all_of(tree.nodes.begin(), tree.nodes.end(), [&](const Node& node) {
    return node.kind != Node::Kind::Call || supports(dialect, *node.function, dtype);
  });
}
bool supports(const Dialect& dialect, const Function& function, DType dtype) {
  if (dialect.has(function, dtype)) return true;
  const Definition* definition = function.definition(dtype);
  return definition && !definition->body.empty() && supports(dialect, definition->body, dtype);
}

}  // namespace kiln::expr
