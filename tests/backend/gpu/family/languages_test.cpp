// Every kernel that small networks and some functions make is printed in the languages of other devices, after it was
// lowered for them, and taken by the compilers that the machine has.
#include <map>
#include <set>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/backend/gpu/simulated/profiles.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "tests/backend/gpu/family/library.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::test {
namespace {

struct Language {
  const gpu::Target* target;
  std::string_view profile;
};
constexpr Language kLanguages[] = {
    {&gpu::kGlslTarget, "simulated:vulkan64"},       {&gpu::kGlslTarget, "simulated:vulkan0"},
    {&gpu::kVulkanTarget, "simulated:cuda"},         {&gpu::kVulkanHalvesTarget, "simulated:vulkan32"},
    {&gpu::kVulkanWordsTarget, "simulated:vulkan4"}, {&gpu::kMetalTarget, "simulated:metal"},
    {&gpu::kWgslTarget, "simulated:webgpu"}};

const gpu::Profile& profile_of(const Language& language) {
  return *std::ranges::find(gpu::profiles(), language.profile, &gpu::Profile::name);
}

std::string complaints_of(const Language& language, const std::string& text) {
  if (language.target->dialect->syntax == expr::Dialect::Syntax::Glsl) return expr::complaints_of_glslang(text);
  if (language.target == &gpu::kMetalTarget) return expr::complaints_of_metal(text, KILN_METAL);
  return expr::complaints_of_wgsl(text);
}

/// A device of a profile, which prints each kernel that it runs.
class Printing final : public ForwardingDriver {
 public:
  explicit Printing(const Language& language)
      : ForwardingDriver(gpu::make_simulated(profile_of(language))), language_(language) {}

  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    Ref<gpu::Code> code = ForwardingDriver::compile(kernel);
    texts.emplace(kernel.name, gpu::print(kernel, *language_.target).text);
    return code;
  }
  std::multimap<std::string, std::string> texts;

 private:
  const Language language_;
};

/// A network of several kinds of layers, and some functions of each family.
void compute(const Device& device) {
  const auto of = [&](const Shape& shape, DType dtype = DType::F32) {
    return from_data(whole_numbers(shape, dtype, 9, 1), device);
  };
  const auto finish = [&](const Values& values) {
    for (const Value& value : values) (void)value.data();
  };
  const Value x = of({4, 3, 8, 8}), weight = of({6, 3, 3, 3}), dense = of({96, 10}), rows = of({40, 33});
  const Value image = relu(conv(x, weight, {}, {.padding = {1, 1}})),
              pooled = max_pool(image, {.kernel = {2, 2}, .stride = {2, 2}});
  finish({matmul(reshape(pooled, {4, 96}), dense), softmax(rows, 1), argsort(rows, 1), layer_norm(rows),
          mean(rows, {0}), sum(of({3, 5, 7}, DType::I32), {1}), sum(of({40, 33}, DType::I32), {1}), cumsum(rows, 1),
          argmax(rows, 1), gelu(rows) * 2, cast(rows, DType::F16), cast(of({65}, DType::I64), DType::F32),
          permute(x, {2, 0, 3, 1}),
          gather(rows, 0, from_data(TensorData::of<std::int64_t>({2, 33}, std::vector<std::int64_t>(66, 1)), device)),
          where(gt(rows, 2), rows, -rows), uniform({50}, 0, 1, device), matmul(of({17, 19}), of({19, 23}))});
}

using gpu::Builder, gpu::Buffer, gpu::Expr, gpu::Shared, gpu::Local, gpu::Kernel;

/// What no family uses, or seldom.
std::vector<Kernel> rare_kernels() {
  std::vector<Kernel> all;
  for (const DType dtype : {DType::I32, DType::U32, DType::F32}) {
    Builder k(text("exchanges_", name(dtype)), 64);
    const Buffer x = k.both(dtype), old = k.output(dtype);
    const Shared shared = k.shared(dtype, 64);
    const Expr i = k.thread(), one = k.literal(dtype, 1), two = k.literal(dtype, 2);
    shared.store(i, x[i]);
    k.barrier();
    const Expr found = x.compare_and_swap(i, one, two) + shared.compare_and_swap(i, two, one);
    const Expr added = x.update(gpu::Update::Add, i / 2, two) + shared.update(gpu::Update::Add, i / 2, one);
    old.store(i, found + added + x.update(gpu::Update::Exchange, i, one));
    all.push_back(k.finish());
  }
  Builder k("conditions", 64);
  const Buffer counts = k.input(DType::I32), x = k.both(DType::F32);
  const Shared word = k.shared(DType::I32, 1), line = k.shared(DType::F32, 64);
  const Expr first = k.literal(DType::I32, 0);
  k.when(k.thread() == 0, [&] { word.store(first, counts[k.block()]); });
  k.barrier();
  const Local round = k.variable(k.literal(DType::I32, 0));
  k.loop_while([&] { return round.get() < word[first]; },
               [&] {
                 k.when(counts[round] > 0, [&] {
                   line.store(k.thread(), x[k.thread()]);
                   k.barrier();
                   x.store(k.thread(), line[k.literal(DType::I32, 63) - k.thread()]);
                   k.barrier();
                 });
                 round.set(round + 1);
               });
  all.push_back(k.finish());
  return all;
}

/// The kernel in a language, lowered for the profile; `shares`: where all of its buffers lie in one piece of memory.
std::string printed_for(const Language& language, const Kernel& kernel, bool shares) {
  const gpu::Profile& profile = profile_of(language);
  gpu::Capabilities has = profile.has;
  if (language.target ==
      &gpu::kVulkanTarget)  // GLSL updates floats by an extension alone, as no profile with addresses does
    has.updates = has.updates_shared = has.updates - gpu::Types{DType::F32, DType::F64};
  Kernel made = lowered(kernel, has);
  const std::optional<gpu::Refusal> refusal = refusal_of(made, has, profile.name);
  EXPECT_FALSE(refusal) << refusal->sentence;
  if (shares) {
    const std::vector<std::uint64_t> addresses(kernel.parameters.size(), 4096);
    made = with_shared_bindings(made, sharers_of(made, addresses, [](std::uint64_t) { return std::uint64_t{4096}; }));
  }
  return gpu::print(made, *language.target).text;
}

TEST(Languages, TakeWhatIsRare) {
  for (const Language& language : kLanguages)
    for (const Kernel& kernel : rare_kernels())
      for (const bool shares : {false, true}) {
        // Types of one piece of memory differ only where floats are words.
        if (shares && language.target != &gpu::kWgslTarget) continue;
        SCOPED_TRACE(text(kernel.name, " in ", language.target->name(), " for ", language.profile));
        const std::string printed = printed_for(language, kernel, shares),
                          complaints = complaints_of(language, printed);
        EXPECT_TRUE(complaints.empty() || complaints == expr::kNoValidator) << complaints << printed;
      }
}

TEST(Languages, AreTakenByTheirCompilers) {
  for (const Language& language : kLanguages) {
    SCOPED_TRACE(text(language.target->name(), " for ", language.profile));
    const auto driver = make_ref<Printing>(language);
    {
      const Device device(make_ref<fusion::Fusion>(make_ref<gpu::Gpu>(driver)));
      compute(device);
      device.flush();
    }
    EXPECT_GT(driver->texts.size(), 14u);
    for (const auto& [kernel, printed] : driver->texts) {
      const std::string complaints = complaints_of(language, printed);
      if (complaints == expr::kNoValidator) {
        std::printf("%s: no compiler, see validate.hpp\n", std::string(language.target->name()).c_str());
        break;
      }
      EXPECT_EQ(complaints, "") << kernel << "\n" << printed;
    }
  }
}

}  // namespace
}  // namespace kiln::test
