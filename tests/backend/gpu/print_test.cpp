// Kernels as text: stored, so that a change shows what it changes, and taken by NVIDIA's compiler where there is one.
#include "kiln/backend/gpu/kernel/print/print.hpp"

#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/backend/rocm/hip.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/backend/gpu/kernels.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::gpu {
namespace {

/// Elements of one type to those of another, several at a time.
Kernel converting(DType from, DType to, int width) {
  Builder k("convert", 128);
  const Buffer x = k.input(from), y = k.output(to);
  const Expr count = k.number(DType::I64), i = k.block().as(DType::I64) * 128 + k.thread().as(DType::I64);
  k.when(i < count, [&] {
    std::vector<Expr> all = x.load(i * width, width);
    for (Expr& each : all) each = k.narrow(k.convert(each, from, to), to);
    y.store(i * width, all);
  });
  return k.finish();
}

/// Sums of rows, of which each block has one.
Kernel folding(DType type) {
  Builder k("fold", 256);
  k.least_blocks(4);
  const Buffer x = k.input(type), y = k.output(type);
  const Expr width = k.number(DType::I32);
  const DType computed = expr::computed_in(type);
  const Local sum = k.variable(k.literal(computed, 0));
  k.loop(k.thread(), width, k.literal(DType::I32, 256), [&](const Expr& i) {
    sum.set(sum.get() + k.tree(expr::tree(op::UnaryFn::Tanh), type, std::vector{x[k.block() * width + i]}));
  });
  const Expr all = fold_block(k, sum, [](const Expr& a, const Expr& b) { return a + b; });
  k.when(k.thread() == 0, [&] { y.store(k.block(), k.narrow(all, type)); });
  return k.finish();
}

/// What words, truths, bits, loops and updates look like.
Kernel busy() {
  Builder k("busy", 64);
  const Buffer words = k.both(DType::U32), counts = k.both(DType::I64), numbers = k.both(DType::F64);
  const Expr t = k.thread(), w = t.as(DType::U32);
  const std::vector<Expr> drawn = k.call_all("philox", DType::F32, {w, w, w, w, w, w});
  const Local kept = k.local(DType::U32, 4);
  k.unrolled(4, [&](const Expr& i) { kept.set(i, drawn[0] ^ (drawn[3] >> i.as(DType::U32))); });
  const Local n = k.variable(t + 1);
  k.loop_while([&] { return (n.get() != 1) & (n.get() < 1000); },
               [&] { k.when(n.get() % 2 == 0, [&] { n.set(n.get() / 2); }, [&] { n.set(n.get() * 3 + 1); }); });
  const Shared most = k.shared(DType::U32, 1);
  k.when(t == 0, [&] { most.store(t, k.literal(DType::U32, 0)); });
  k.barrier();
  most.update(Update::Maximum, t - t, kept[2] + n.get().as(DType::U32));
  k.barrier();
  words.store(t, select(k.shuffle_xor(t < 7, 1), most[t - t], !w));
  const Expr before = counts.update(Update::Add, t % 4, (-t).as(DType::I64) * -5);
  counts.update(Update::Minimum, t % 4, before);
  counts.compare_and_swap(t, before, before + 1);
  numbers.update(Update::Add, t, min(before.as(DType::F64) * 0.1, before.bits_as(DType::F64)));
  k.fence();
  numbers.compare_and_swap(t, before.as(DType::F64), k.literal(DType::F64, 0.5));
  numbers.update(Update::Exchange, t, k.call("nan", DType::F64, {}));
  return k.finish();
}

/// Each block doubles a buffer out of a table, from an element on that another table has.
Kernel choosing() {
  Builder k("choosing", 64);
  const Table from = k.inputs(DType::F32, 3), to = k.outputs(DType::F16, 3);
  const Numbers starts = k.numbers(3);
  const Buffer x = from[k.block()], y = to[k.block()];
  const Expr i = starts[k.block()] + k.thread().as(DType::I64);
  y.store(i, x[i] * 2.0);
  return k.finish();
}

Kernel fragments(DType half) {
  Builder k("fragments", 32);
  const Buffer x = k.both(DType::F32);
  const Shared halves = k.shared(half, 64);
  halves.store(k.thread(), x[k.thread()]);
  halves.store(k.thread() + 32, x[k.thread()]);
  k.barrier();
  const Expr pair = halves.pair(k.thread() * 2), sum = x[k.thread()];
  const std::vector<Expr> made =
      k.multiply_fragments(half, std::vector(4, pair), std::vector(2, pair), std::vector(4, sum));
  x.store(k.thread(), made[0] + made[1] + made[2] + made[3]);
  return k.finish();
}

/// Blocks that wait for each other, between vectors through shared memory.
Kernel meeting() {
  Builder k("meeting", 64);
  const Buffer x = k.both(DType::F32), cells = k.both(DType::I32);
  const Shared held = k.shared(DType::F32, 256);
  const Expr t = k.thread() * 4;
  held.store(t, x.load(k.block() * 256 + t, 4));
  k.meet(cells, k.literal(DType::I32, 0), k.blocks());
  x.store(k.block() * 256 + t, held.load((t + 4) % 256, 4));
  return k.finish();
}

std::vector<std::pair<std::string, Kernel>> all() {
  std::vector<std::pair<std::string, Kernel>> kernels;
  kernels.emplace_back("convert_f32_f16.txt", converting(DType::F32, DType::F16, 4));
  kernels.emplace_back("convert_f64_i8.txt", converting(DType::F64, DType::I8, 2));
  kernels.emplace_back("convert_bool_bf16.txt", converting(DType::Bool, DType::BF16, 8));
  kernels.emplace_back("fold_f32.txt", folding(DType::F32));
  kernels.emplace_back("fold_f16.txt", folding(DType::F16));
  kernels.emplace_back("busy.txt", busy());
  kernels.emplace_back("choosing.txt", choosing());
  kernels.emplace_back("meeting.txt", meeting());
  kernels.emplace_back("fragments_f16.txt", fragments(DType::F16));
  kernels.emplace_back("fragments_bf16.txt", fragments(DType::BF16));
  return kernels;
}

TEST(PrintedKernels, AreStored) {
  if (!expr::kOrderIsThatOfStoredTexts) GTEST_SKIP() << expr::kOtherOrder;
  for (const auto& [name, kernel] : all()) expr::expect_stored("cuda_" + name, print(kernel, kCudaTarget).text);
  expr::expect_stored("hip_busy.txt", print(busy(), kHipTarget).text);
}

/// Compiles kernels for one of both makers whose compiler is a library.
void expect_compiled(const streams::RuntimeCompiler& compiler, const Target& target, const char* option,
                     const std::vector<std::pair<std::string, Kernel>>& kernels) {
  const char* const options[] = {option};
  for (const auto& [name, kernel] : kernels) {
    if (&target != &kCudaTarget && name.find("fragments") != name.npos) continue;  // which are CUDA's own
    EXPECT_FALSE(compiler.compile(kernel.name, print(kernel, target).text, options).empty()) << name;
  }
}

std::vector<std::pair<std::string, Kernel>> conversions() {
  std::vector<std::pair<std::string, Kernel>> kernels;
  for (const DType from :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I16, DType::U32, DType::Bool})
    for (const DType to : {DType::F64, DType::F16, DType::BF16, DType::U64, DType::I32, DType::U8, DType::Bool})
      kernels.emplace_back(text(kiln::name(from), " to ", kiln::name(to)), converting(from, to, 2));
  return kernels;
}

TEST(PrintedKernels, AreTakenByTheCompiler) {
  try {
    (void)cuda::nvrtc();
  } catch (const Error& error) { GTEST_SKIP() << error.what(); }
  expect_compiled(cuda::nvrtc(), kCudaTarget, "--gpu-architecture=sm_90", all());
  expect_compiled(cuda::nvrtc(), kCudaTarget, "--gpu-architecture=sm_90", conversions());
}

TEST(PrintedKernels, AreTakenByTheCompilerOfHip) {
  try {
    (void)rocm::hiprtc();
  } catch (const Error& error) { GTEST_SKIP() << error.what(); }
  for (const char* const architecture : {"--offload-arch=gfx90a", "--offload-arch=gfx1030"})  // warps of 64, and of 32
    expect_compiled(rocm::hiprtc(), kHipTarget, architecture, all());
  // HIPRTC is slow; every fifth conversion has each type.
  const std::vector<std::pair<std::string, Kernel>> each = conversions();
  for (std::size_t i = 0; i < each.size(); i += 5)
    expect_compiled(rocm::hiprtc(), kHipTarget, "--offload-arch=gfx90a", {each[i]});
}

std::string complaints_of(const Target& target, const std::string& text) {
  if (target.dialect->syntax == expr::Dialect::Syntax::Glsl) return expr::complaints_of_glslang(text);
  if (&target == &kMetalTarget) return expr::complaints_of_metal(text, KILN_METAL);
  return expr::complaints_of_wgsl(text);
}
void expect_accepted(const Target& target, const Kernel& kernel) {
  const std::string text = print(kernel, target).text, complaints = complaints_of(target, text);
  if (complaints == expr::kNoValidator) GTEST_SKIP() << "no compiler of " << target.name() << ": see validate.hpp";
  EXPECT_EQ(complaints, "") << text;
}

TEST(PrintedKernels, AreTakenByTheCompilerOfGlsl) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) expect_accepted(kGlslTarget, folding(type));
  for (const DType from : {DType::F64, DType::F32, DType::F16, DType::I64, DType::I8, DType::U32, DType::Bool})
    for (const DType to : {DType::F32, DType::BF16, DType::U64, DType::I32, DType::U8, DType::Bool})
      expect_accepted(kGlslTarget, converting(from, to, 2));
}

TEST(PrintedKernels, AreTakenAsGlslWithReferences) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
    expect_accepted(kVulkanTarget, folding(type));
    expect_accepted(kVulkanHalvesTarget, folding(type));
  }
  for (const DType from : {DType::F64, DType::F16, DType::I64, DType::I8, DType::U32, DType::Bool})
    for (const DType to : {DType::F32, DType::BF16, DType::U64, DType::U8})
      expect_accepted(kVulkanTarget, converting(from, to, 2));
  expect_accepted(kVulkanTarget, choosing());
}

TEST(PrintedKernels, AreMetal) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) expect_accepted(kMetalTarget, folding(type));
  for (const DType from : {DType::F32, DType::F16, DType::I64, DType::U32, DType::Bool})
    for (const DType to : {DType::F32, DType::BF16, DType::U64, DType::I16, DType::Bool})
      expect_accepted(kMetalTarget, converting(from, to, 2));
  EXPECT_NE(expr::complaints_of_metal("#include <metal_stdlib>\nkernel void f() { metal::exp(); }", KILN_METAL), "");
}

TEST(PrintedKernels, AreStoredInOtherLanguages) {
  if (!expr::kOrderIsThatOfStoredTexts) GTEST_SKIP() << expr::kOtherOrder;
  expr::expect_stored("glsl_fold_f16.txt", print(folding(DType::F16), kGlslTarget).text);
  expr::expect_stored("msl_fold_f16.txt", print(folding(DType::F16), kMetalTarget).text);
}

TEST(PrintedKernels, SayWhatALanguageLacks) {
  const auto refusal = [](const Kernel& kernel, const Target& target) {
    return sentence_of([&] { return print(kernel, target); });
  };
  EXPECT_EQ(refusal(busy(), kGlslTarget), "ArgumentError: busy: GLSL has no updates of float64");
  EXPECT_EQ(refusal(choosing(), kGlslTarget), "ArgumentError: choosing: GLSL has no tables");
  EXPECT_EQ(refusal(meeting(), kGlslTarget), "ArgumentError: meeting: GLSL has no blocks that wait for each other");
  EXPECT_EQ(refusal(fragments(DType::F16), kMetalTarget), "ArgumentError: fragments: MSL has no products of fragments");
  EXPECT_EQ(refusal(fragments(DType::F16), kHipTarget), "ArgumentError: fragments: HIP has no products of fragments");
  EXPECT_EQ(refusal(folding(DType::F32), kWgslTarget), "ArgumentError: fold: WGSL has no shuffles");
  EXPECT_EQ(refusal(converting(DType::F64, DType::F32, 1), kMetalTarget).substr(0, 10), "DTypeError");
}

}  // namespace
}  // namespace kiln::gpu
