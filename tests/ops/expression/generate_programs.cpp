// Writes C++ with the kernels of random programs, as printed for plain C++ and for CUDA, which a few macros make C++
// of.
#include <cstdio>

#include "kiln/ops/expression/convert.hpp"
#include "tests/ops/expression/programs.hpp"

namespace kiln::expr {
namespace {

constexpr std::string_view kCudaAsCpp = R"(
#undef KILN_DEVICE
#define __global__
#define __device__
static struct Place {
  unsigned int x;
} blockIdx, threadIdx, blockDim{1};
[[maybe_unused]] static float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
[[maybe_unused]] static float __uint_as_float(unsigned int bits) { return __builtin_bit_cast(float, bits); }
[[maybe_unused]] static unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
[[maybe_unused]] static double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
[[maybe_unused]] static unsigned int __umulhi(unsigned int a, unsigned int b) {
  return (unsigned int)((unsigned long long)a * b >> 32);
}
#define KILN_HALVES
#ifdef __aarch64__  // whose g++ 12 has the other name in C alone
using Half = __fp16;
#else
using Half = _Float16;
#endif
[[maybe_unused]] static float kiln_from_f16(unsigned int w) {
  return (float)__builtin_bit_cast(Half, (unsigned short)w);
}
[[maybe_unused]] static unsigned int kiln_to_f16(float x) {
  return __builtin_bit_cast(unsigned short, (Half)x);
}
[[maybe_unused]] static unsigned int kiln_to_bf16(float x) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
)";

/// The kernel, and a function that calls it with its arguments from a list of pointers, as devices are given them.
void print(const Dialect& dialect, unsigned seed, std::string_view set) {
  const RandomProgram random = make_program(seed);
  const op::Program& program = *random.program;
  const std::string name = text("kernel_", set, "_", seed);
  const KernelText kernel = print_kernel(program, random.inputs, dialect, name);
  std::string arguments;
  for (std::size_t i = 0; i < random.inputs.size(); ++i) {
    const std::string_view type =
        random.inputs[i].number ? dialect.type(program.inputs[i]) : stored_type(dialect, program.inputs[i]);
    arguments += text("*(", type, random.inputs[i].number ? "*" : "**", ")arguments[", i, "], ");
  }
  std::size_t place = random.inputs.size();
  const auto result = [&](DType dtype) {
    arguments += text("*(", stored_type(dialect, dtype), "**)arguments[", place++, "], ");
  };
  for (const std::uint16_t step : program.outputs) result(program.steps[step].dtype);
  for (const op::Program::Fold& fold : program.folds) {
    const DType dtype = program.steps[fold.step].dtype;
    const bool adds = fold.fn == op::ReduceFn::Sum || fold.fn == op::ReduceFn::Prod;
    result(adds && !is_float(dtype) ? DType::I64 : dtype);
  }
  const std::string call = text(name, "(", arguments, "count);");
  const std::string body = set == "cpp" ? call : "for (blockIdx.x = 0; blockIdx.x < count; ++blockIdx.x) " + call;
  std::printf("namespace %s_%u {\n%svoid run(void* const* arguments, unsigned long long count) {\n  %s\n}\n}\n",
              std::string(set).c_str(), seed, kernel.text.c_str(), body.c_str());
}

}  // namespace
}  // namespace kiln::expr

int main() {
  using namespace kiln::expr;
  std::printf("#include <math.h>\n#include \"tests/ops/expression/printed.hpp\"\n");
  for (unsigned seed = 0; seed < kAllPrograms; ++seed) print(kCpp, seed, "cpp");
  std::printf("%s", std::string(kCudaAsCpp).c_str());
  for (unsigned seed = 0; seed < kPrograms; ++seed) print(kCuda, seed, "cuda");
  std::printf("const kiln::expr::PrintedProgram kiln::expr::kPrintedPrograms[] = {\n");
  for (unsigned seed = 0; seed < kPrograms; ++seed) std::printf("    {cpp_%u::run, cuda_%u::run},\n", seed, seed);
  for (unsigned seed = kPrograms; seed < kAllPrograms; ++seed) std::printf("    {cpp_%u::run, nullptr},\n", seed);
  std::printf("};\n");
}
