// What cannot be compiled, names that are no identifiers, and where buffers lie.
#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "kiln/compile/arena.hpp"
#include "kiln/compile/lower.hpp"
#include "kiln/compile/names.hpp"
#include "kiln/compile/simplify.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "tests/compile/compiled.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::compile {
namespace {

Source source_of(FunctionRef<Values(const Values&)> function, const Values& inputs) {
  return {.graph = capture_graph(function, inputs)};
}

TEST(Compile, NamesAllOperationsThatNeedAHeapAtOnce) {
  const Source source = source_of(
      [](const Values& in) {
        const Value noise = uniform(Shape{3}, 0, 1, in[0].device());
        return Values{sort(in[0], 0).values + noise, sort(exp(in[0]), 0).values};
      },
      {zeros(Shape{3}, cpu())});
  const std::string text = said([&] { compile(source); });
  EXPECT_NE(text.find("sort"), std::string::npos) << text;
  EXPECT_NE(text.find("in 2 places"), std::string::npos) << text;
  EXPECT_NE(text.find("random"), std::string::npos) << text;
}

// Each addition would round them.
TEST(Compile, RefusesSumsThatAreKeptInHalves) {
  const Values inputs{zeros(Shape{4, 3}, cpu(), DType::F16), zeros(Shape{4, 3}, cpu(), DType::I64),
                      zeros(Shape{4}, cpu(), DType::I64)};
  const std::string text = said([&] {
    compile(source_of(
        [](const Values& in) {
          return Values{scatter_add(in[0], 0, in[1], in[0]), select_add(in[0], 0, in[2], in[0])};
        },
        inputs));
  });
  EXPECT_NE(text.find("scatter"), std::string::npos) << text;
  EXPECT_NE(text.find("select"), std::string::npos) << text;
}

TEST(Compile, SaysWhichStepsNeedMoreThanTheTargetsMemory) {
  const Source source =
      source_of([](const Values& in) { return Values{sum(softmax(matmul(in[0], transpose(in[0])), 1))}; },
                {zeros(Shape{100, 4}, cpu())});
  const std::string text = said([&] { compile(source, {.target = "m0"}); });
  EXPECT_NE(text.find("m0 has 16 KB of RAM"), std::string::npos) << text;
  EXPECT_NE(text.find("(max) 39 KB"), std::string::npos) << text;
  EXPECT_EQ(said([&] { compile(source, {.target = "m0", .ram = 200000}); }), "nothing was thrown");
  const Source large = source_of([](const Values& in) { return Values{in[0] + uniform(Shape{100000}, 0, 1, cpu())}; },
                                 {zeros(Shape{100000}, cpu())});
  EXPECT_NE(said([&] { compile(large, {.target = "m0"}); }).find("of flash"), std::string::npos);
}

TEST(Compile, RefusesUnknownTargets) {
  const Source source = source_of([](const Values& in) { return Values{exp(in[0])}; }, {zeros(Shape{3}, cpu())});
  EXPECT_NE(said([&] { compile(source, {.target = "m5"}); }).find("the targets are host, m0"), std::string::npos);
  EXPECT_NE(said([&] { compile(source, {.weights = DType::I8}); }).find("float16"), std::string::npos);
}

TEST(Compile, RefusesBoundTensorsThatAreNotTheInputs) {
  Source source = source_of([](const Values& in) { return Values{in[0] + in[1]}; },
                            {zeros(Shape{3}, cpu()), zeros(Shape{3}, cpu())});
  const Value tensor = zeros(Shape{3}, cpu());
  source.bound = {tensor, tensor, tensor};
  EXPECT_NE(said([&] { compile(source); }).find("bind no more"), std::string::npos);
  source.bound = {zeros(Shape{1, 3}, cpu())};
  EXPECT_NE(said([&] { compile(source); }).find("the input 1 is float32 [3]"), std::string::npos);
  source.bound = {zeros(Shape{3}, cpu(), DType::I8)};
  EXPECT_NE(said([&] { compile(source); }).find("bind a tensor"), std::string::npos);
  source.bound = {Value()};
  EXPECT_NE(said([&] { compile(source); }).find("bind a tensor"), std::string::npos);
  source.bound = {tensor};
  EXPECT_EQ(said([&] { compile(source); }), "nothing was thrown");
}

TEST(Compile, RefusesWeightsBeyondFloat16) {
  const auto source_with = [](const Shape& shape) {
    const Value weights = full(shape, 70000.0, cpu());
    return source_of([&](const Values& in) { return Values{in[0] * weights}; }, {zeros(shape, cpu())});
  };
  const Source matrix = source_with({4, 8}), vector = source_with({1, 32});
  EXPECT_NE(said([&] { compile(matrix, {.weights = DType::F16}); }).find("beyond float16"), std::string::npos);
  EXPECT_EQ(compile(vector, {.weights = DType::F16}).constant_bytes, 32 * 4);  // numbers of channels stay floats
}

// Sizes that a file may ask for though no machine has them.
TEST(Compile, RefusesWhatItsCodeCannotCount) {
  const Source far = source_of(
      [](const Values& in) { return Values{conv(in[0], in[1], {}, {.stride = {1 << 30}, .padding = {1 << 30}})}; },
      {zeros(Shape{1, 1, 4}, cpu()), zeros(Shape{1, 1, 4}, cpu())});
  EXPECT_NE(said([&] { compile(far); }).find("2^31 - 1"), std::string::npos) << said([&] { compile(far); });
  const Source many = source_of([](const Values& in) { return Values{sum(expand(in[0], {1 << 17, 1 << 17, 1}))}; },
                                {zeros(Shape{1}, cpu())});
  EXPECT_EQ(said([&] { compile(many); }), "nothing was thrown");  // loops in each other, each of 2^17 steps
}

TEST(Compile, HandlesEmptyTensorsAndInputsThatNothingReads) {
  KILN_NEEDS_COMPILER();
  expect_same([](const Values& in) { return Values{in[0] + 1.0}; }, {zeros(Shape{3}, cpu()), zeros(Shape{2}, cpu())});
  expect_same([](const Values& in) { return Values{exp(in[0]), sum(in[0]), matmul(in[0], transpose(in[0]))}; },
              {zeros(Shape{3, 0}, cpu())});
}

TEST(Compile, LetsNoNameBecomeCode) {
  Source source = source_of([](const Values& in) { return Values{exp(in[0]), in[1] + 1.0}; },
                            {zeros(Shape{3}, cpu()), zeros(Shape{2}, cpu())});
  source.inputs = {"x); system(\"rm -rf /\"); //", "int"};
  source.outputs = {"*/ #include </etc/passwd> /*\n", "\xff\xfe\x00"};
  const CompiledCode code = compile(source, {.name = "../../model\n#line"});
  EXPECT_EQ(code.name, "model_line");
  for (const auto& [name, text] : code.files) {
    EXPECT_EQ(text.find("system("), std::string::npos);
    EXPECT_EQ(text.find("#line"), std::string::npos);
    EXPECT_EQ(text.find("passwd>"), std::string::npos);
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  }
  if (has_c_compiler()) {
    const Library library(code, source);
    std::vector<TensorData> outputs;
    EXPECT_EQ(library.run({TensorData({3}, DType::F32), TensorData({2}, DType::F32)}, outputs), 0);
    EXPECT_EQ(outputs[0].at(0), 1);
  }
}

TEST(Compile, MakesIdentifiersOfNames) {
  std::set<std::string> taken;
  EXPECT_EQ(identifier("image", "x", taken), "image");
  EXPECT_EQ(identifier("image", "x", taken), "image_2");
  EXPECT_EQ(identifier("a/b.c::d", "x", taken), "a_b_c_d");
  EXPECT_EQ(identifier("", "input0", taken), "input0");
  EXPECT_EQ(identifier("1x", "x", taken), "n1x");
  EXPECT_EQ(identifier("while", "x", taken), "while_value");
  EXPECT_EQ(identifier("\xe2\x82\xac", "x", taken), "x");
  EXPECT_EQ(identifier("Image", "x", taken), "Image_3");  // macros of both are in capitals
  EXPECT_EQ(identifier("kiln_step_0", "x", taken), "nkiln_step_0");
  EXPECT_EQ(identifier("KILN_RESTRICT", "x", taken), "nKILN_RESTRICT");
  EXPECT_EQ(identifier("reinterpret_cast", "x", taken), "reinterpret_cast_value");
  EXPECT_EQ(identifier("co_await", "x", taken), "co_await_value");
}

// The program's own names are of no tensor.
TEST(Compile, HidesNoNameOfItsOwn) {
  KILN_NEEDS_COMPILER();
  const Value weights = from_data(TensorData::of<float>({3}, {1, 2, 3}), cpu());
  Source source = source_of([&](const Values& in) { return Values{softmax(in[0] * weights, 0), in[1] + weights}; },
                            {zeros(Shape{3}, cpu()), zeros(Shape{3}, cpu())});
  source.inputs = {"kiln_constant_2", "MODEL_ARENA_BYTES"};
  source.outputs = {"kiln_arena", "Kiln_Arena"};
  const CompiledCode code = compile(source);
  EXPECT_NE(code.files.at("model.h").find("MODEL_NKILN_ARENA_2_COUNT"), std::string::npos);
  EXPECT_NE(code.files.at("model.h").find("const float* nMODEL_ARENA_BYTES"), std::string::npos);
  const Library library(code, source);
  std::vector<TensorData> outputs;
  ASSERT_EQ(library.run({TensorData({3}, DType::F32), TensorData({3}, DType::F32)}, outputs), 0);
  EXPECT_EQ(outputs[1].at(2), 3);
}

/// What plan_arena() must hold, from the loops alone: buffers that are alive at once do not overlap. Every loop is looked
/// at by itself, so that no list of lifetimes is believed.
void expect_no_overlap(const Program& program) {
  const auto last_read_or_written = [&](int buffer) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < program.loops.size(); ++i)
      each_buffer(program.loops[i], [&](int other, bool) { last = other == buffer ? i : last; });
    return last;
  };
  std::set<int> alive;
  for (std::size_t i = 0; i < program.loops.size(); ++i) {
    each_buffer(program.loops[i], [&](int buffer, bool writes) {
      if (program[buffer].place != Buffer::Place::Arena) return;
      EXPECT_TRUE(writes || alive.count(buffer))
          << "loop " << i << " reads buffer " << buffer << " before it is written";
      alive.insert(buffer);
      EXPECT_GE(program[buffer].offset, 0);
      EXPECT_LE(program[buffer].offset + program[buffer].bytes(), program.arena_bytes);
      EXPECT_EQ(program[buffer].offset % 8, 0);
    });
    for (const int a : alive)
      for (const int b : alive)
        EXPECT_TRUE(a >= b || program[a].offset + program[a].bytes() <= program[b].offset ||
                    program[b].offset + program[b].bytes() <= program[a].offset)
            << "buffers " << a << " and " << b << " overlap during loop " << i;
    std::erase_if(alive, [&](int buffer) { return last_read_or_written(buffer) == i; });
  }
}

TEST(Arena, HoldsNoTwoLiveBuffersInOnePlace) {
  const Source source = source_of(
      [](const Values& in) {
        Value x = in[0];
        Values all;
        for (int i = 0; i < 6; ++i) {
          const Value y = matmul(x, x) + transpose(x);
          all.push_back(sum(y, {1}));
          x = softmax(y * x, i % 2) + y;
        }
        return Values{x, cat(all, 0)};
      },
      {zeros(Shape{12, 12}, cpu())});
  std::vector<Value> bound;
  Program program = lowered(simplified(source.graph, bound), 1, bound);
  plan_arena(program);
  const std::int64_t before = program.arena_bytes;
  expect_no_overlap(program);
  work_in_place(program);
  plan_arena(program);
  expect_no_overlap(program);
  EXPECT_LE(program.arena_bytes, before);
  // A chain of fourty 12 x 12 results needs no more than those that live at once.
  EXPECT_LE(program.arena_bytes, 6 * 12 * 12 * 4);
}

TEST(Compile, KeepsEqualConstantsOnce) {
  KILN_NEEDS_COMPILER();
  const auto made = [](float last) { return from_data(TensorData::of<float>({4}, {1, 2, 3, last}), cpu()); };
  const Value a = made(4), b = made(4), zero = made(0), negative = made(-0.0F);
  const Source source = source_of(
      [&](const Values& in) {
        return Values{in[0] * a, in[0] - b, in[0] + reshape(b, {2, 2, 1}), in[0] * zero, in[0] * negative};
      },
      {full(Shape{4}, 1.0, cpu())});
  const CompiledCode code = compile(source);
  EXPECT_EQ(code.constant_bytes, 3 * 16);
  const Library library(code, source);
  std::vector<TensorData> outputs;
  const Value input = full(Shape{4}, 1.0, cpu());
  ASSERT_EQ(library.run({input.data()}, outputs), 0);
  const Values expected = source.graph.replay({&input, 1});
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(difference(outputs[i], expected[i].data()), "") << "output " << i;
}

TEST(Arena, IsOfTheSizeThatTheHeaderSays) {
  const Source source =
      source_of([](const Values& in) { return Values{softmax(in[0], 1)}; }, {zeros(Shape{4, 8}, cpu())});
  const CompiledCode code = compile(source, {.name = "digits"});
  EXPECT_NE(code.files.at("digits.h").find(text("#define DIGITS_ARENA_BYTES ", code.arena_bytes, "\n")),
            std::string::npos);
  EXPECT_EQ(code.files.at("digits.c").find("malloc"), std::string::npos);
}

// The same text is C11 and C++17, for every compiler that is there.
TEST(Compile, IsCAndCpp) {
  const Source source = source_of(
      [](const Values& in) {
        return Values{softmax(erf(in[0]) + tanh(in[0]), 1),
                      argmax(in[0], 1),
                      cast(in[0], DType::F16),
                      conv(in[1], in[2], {}, {.stride = {2, 2}}),
                      conv(in[1], in[2], {}, {.stride = {1, 3}}),
                      conv(in[1], in[2], {}, {.padding = {1, 1}})};
      },
      {zeros(Shape{4, 8}, cpu()), zeros(Shape{1, 2, 64, 64}, cpu()), zeros(Shape{3, 2, 3, 3}, cpu())});
  const TemporaryFile folder("x");
  write_code(compile(source), folder.directory);
  int tried = 0;
  for (const std::string compiler :
       {"gcc", "clang-19", "clang", "arm-none-eabi-gcc", "riscv64-unknown-elf-gcc --specs=picolibc.specs"}) {
    if (!failure_of(compiler + " --version").empty()) continue;
    for (const std::string language : {"-std=c11", "-x c++ -std=c++17"}) {
      if (compiler.starts_with("riscv64") && language != "-std=c11") continue;  // it has no C++
      // newlib's headers say more than -pedantic allows of other languages than C.
      EXPECT_EQ(failure_of(text("cd ", folder.directory, " && ", compiler, " ", language,
                                " -Wall -Wextra -Werror -pedantic -c model.c -o model.o")),
                "");
      ++tried;
    }
  }
  if (tried == 0) GTEST_SKIP() << "there is no compiler";
}

}  // namespace
}  // namespace kiln::compile
