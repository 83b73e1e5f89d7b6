#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "tests/backend/cuda/machine.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda::test {
namespace {

constexpr const char* kOptions[] = {"--gpu-architecture=sm_90"};

/// Everything that kernels have, on elements of one type: vectors of them, shared memory beyond what a kernel has without
/// asking, lanes, updates.
gpu::Kernel busy_kernel(DType dtype) {
  gpu::Builder k("busy", 256);
  const gpu::Buffer x = k.input(dtype), y = k.output(dtype), sum = k.both(DType::I64);
  const gpu::Expr count = k.number(DType::I64);
  const gpu::Shared tile = k.shared(dtype, (64 << 10) / static_cast<std::int64_t>(size_of(dtype)));
  const gpu::Expr i = k.block().as(DType::I64) * 256 + k.thread().as(DType::I64);
  k.when(i < count, [&] {
    const std::vector<gpu::Expr> pair = x.load(i * 2, 2);
    y.store(i * 2, pair);
    tile.store(k.thread(), pair[1]);
  });
  k.barrier();
  const gpu::Expr seen = tile[(k.thread() + 1) % 256];
  y.store(i, seen);
  const gpu::Expr total =
      gpu::fold_warp(k, seen.as(DType::I64), [](const gpu::Expr& a, const gpu::Expr& b) { return a + b; });
  k.when(k.lane() == 0, [&] { sum.update(gpu::Update::Add, k.literal(DType::I64, 0), total); });
  return k.finish();
}

bool contains(const std::vector<std::byte>& bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find(text) !=
         std::string_view::npos;
}

TEST(CudaCompile, MakesMachineCodeOfKernels) {
  KILN_NEEDS_COMPILER();
  if (fake_state()) GTEST_SKIP() << "a compiler that does nothing";
  for (const DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::U8, DType::Bool}) {
    const gpu::KernelText text = gpu::print(busy_kernel(dtype), gpu::kCudaTarget);
    const std::vector<std::byte> code = nvrtc().compile("busy", text.text, kOptions);
    EXPECT_EQ(code[0], std::byte{0x7f}) << "not an ELF file";
    EXPECT_TRUE(contains(code, "ELF")) << name(dtype);
    EXPECT_TRUE(contains(code, ".text." + text.function)) << name(dtype);
  }
}

TEST(CudaCompile, ShowsAKernelThatDoesNotCompile) {
  KILN_NEEDS_COMPILER();
  const std::string said = sentence_of(
      [] { return nvrtc().compile("dud", "#error not today\nextern \"C\" __global__ void dud() {}\n", kOptions); });
  EXPECT_EQ(said.find("DeviceError: cuda: kernel dud does not compile: NVRTC_ERROR_COMPILATION\n"), 0u) << said;
  EXPECT_NE(said.find("#error"), said.npos) << said;
  EXPECT_NE(said.find("\n1: #error not today\n2: extern \"C\" __global__ void dud() {}"), said.npos) << said;
}

// The folder is a cache's of its own, and the second time nothing is compiled.
TEST(CudaCompile, KeepsCodeOnTheDisk) {
  KILN_NEEDS_COMPILER();
  std::string folder = (std::filesystem::temp_directory_path() / "kiln_compile_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string text = gpu::print(scale_kernel(), gpu::kCudaTarget).text;
  const auto code = [&](const char* architecture) {
    return compiler_for(architecture, gpu::CodeCache(std::filesystem::path(folder))).code("scale", text);
  };
  const auto files = [&] {
    const std::filesystem::directory_iterator all(folder);
    return std::distance(std::filesystem::begin(all), std::filesystem::end(all));
  };
  const std::vector<std::byte> first = code("sm_90");
  EXPECT_EQ(files(), 1);
  const auto before = fake_state();
  EXPECT_EQ(code("sm_90"), first);
  EXPECT_EQ(files(), 1);
  if (before) { EXPECT_EQ(fake_state()->programs, before->programs); }
  (void)code("sm_80");
  EXPECT_EQ(files(), 2);
  for (const auto& file : std::filesystem::directory_iterator(folder)) std::filesystem::resize_file(file, 100);
  EXPECT_EQ(code("sm_90"), first);
  EXPECT_EQ(code("sm_90"), first);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kiln::cuda::test
