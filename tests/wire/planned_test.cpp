// What planners make travels too, between those that trust each other: the programs and sequences that an op shares in
// memory are written out, and whatever arrives is checked.
#include <gtest/gtest.h>

#include <functional>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "kiln/wire/fields.hpp"
#include "tests/fusion/fused_device.hpp"
#include "tests/support/courier.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

/// Fusion around a courier, whose plans therefore arrive before they run.
struct Sent {
  explicit Sent(const Device& to = Device::cpu()) : courier(make_ref<Courier>(to)) {}
  Ref<Courier> courier;
  Device device{make_ref<fusion::Fusion>(courier), true};
  ~Sent() { device.flush(); }

  Value ramp(const Shape& shape) const {
    return reshape(arange(0.0, static_cast<double>(numel(shape)), 1.0, device, DType::F32), shape) /
           static_cast<double>(numel(shape));
  }
};

void expect_same(const Value& found, const Value& expected) {
  EXPECT_EQ(difference(found.data(), expected.data(), {1e-5, 1e-6}), "");
}

TEST(PlannedOnTheWire, FusedProgramsRunAsTheyWere) {
  const Sent sent;
  const auto f = [](const Value& x) {
    const Value y = exp(x) * 2 + x;
    return Values{where(gt(y, 2), y, -y), sum(y, {1}, true), cast(y, DType::BF16), max(y, {1}, true)};
  };
  const Values found = f(sent.ramp({6, 50}));
  const Values expected = f(Value(from_data(sent.ramp({6, 50}).data(), Device::cpu())));
  for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], expected[i]);
  EXPECT_TRUE(sent.courier->sent.contains("fused"));
}

TEST(PlannedOnTheWire, ProductsBringTheirEpilogues) {
  const Sent sent;
  const auto f = [](const Value& x, const Value& w, const Value& bias) { return relu(matmul(x, w) + bias) * 0.5; };
  const Value x = sent.ramp({512, 64}), w = sent.ramp({64, 256}), bias = sent.ramp({256});
  const auto plain = [](const Value& value) { return from_data(value.data(), Device::cpu()); };
  const Value expected = f(plain(x), plain(w), plain(bias));
  expect_same(f(x, w, bias), expected);
  EXPECT_TRUE(sent.courier->sent.contains("epilogue"));
}

TEST(PlannedOnTheWire, BlocksOfRowsAreMadeAgainFromTheWhole) {
  const Sent sent;
  const auto f = [](const Value& x) {
    const Value e = exp(x - max(x, {1}, true));
    return e / sum(e, {1}, true);
  };
  const Value x = sent.ramp({1300, 1000});  // blocks, and a rest
  expect_same(f(x), f(from_data(x.data(), Device::cpu())));
  EXPECT_TRUE(sent.courier->sent.contains("row_blocked"));
}

TEST(PlannedOnTheWire, ProgramsOfRowsArriveWhole) {
  const Sent sent(Device(make_ref<gpu::Gpu>(gpu::make_simulated())));
  const auto f = [](const Value& x, const Value& scale) {
    const Value e = exp(x - max(x, {1}, true)), share = e / sum(e, {1}, true) * scale;
    return Values{share + x, mean(share, {1}, true)};
  };
  const Value x = sent.ramp({7, 130}), scale = sent.ramp({130});
  const Values found = f(x, scale);
  const auto plain = [](const Value& value) { return from_data(value.data(), Device::cpu()); };
  const Values expected = f(plain(x), plain(scale));
  for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], expected[i]);
  EXPECT_TRUE(sent.courier->sent.contains("row_fused"));
  EXPECT_EQ(f(sent.ramp({0, 130}), scale)[0].data().shape(), (Shape{0, 130}));  // and nothing where there are none
}

TEST(PlannedOnTheWire, SmallOnesGoSideBySide) {
  const Sent sent;
  Values found, expected;
  for (const Shape& shape : {Shape{3, 5}, Shape{7}, Shape{2, 2, 2}}) {
    const Value x = sent.ramp(shape);
    expected.push_back(from_data(x.data(), Device::cpu()) * 0.5 + 1);
    found.push_back(x);
  }
  for (Value& value : found) value = value * 0.5 + 1;
  for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], expected[i]);
  EXPECT_TRUE(sent.courier->sent.contains("horizontal"));
}

// ---- what arrives damaged -------------------------------------------------------------------------------------------

/// x + x, and the sum of its rows.
std::shared_ptr<op::Program> program() {
  auto program = std::make_shared<op::Program>();
  program->shape = {2, 3};
  program->inputs = {DType::F32};
  using Operand = op::ProgramOperand;
  program->steps.push_back({op::Binary{op::BinaryFn::Add}, {Operand{Operand::Input, 0}, Operand{Operand::Input, 0}}});
  program->outputs = {0};
  program->folds = {{0, op::ReduceFn::Sum, {1}}};
  return program;
}
/// x + x alone, of another shape.
std::shared_ptr<op::Program> row_program(const Shape& shape) {
  auto made = program();
  made->shape = shape;
  made->folds = {};
  return made;
}
std::string refusal(const op::Op& op) {
  wire::Writer out;
  wire::write_op(out, op);
  const auto bytes = out.take();
  return sentence_of([&] {
    wire::Reader in("a.kiln", bytes, {.planned = true});
    const op::Op arrived = wire::read_op(in);
    in.finish();
    const Value x(make_ref<Node>(Desc{{2, 3}, DType::F32}, Device()));
    wire::results_of(arrived, {&x, 1});
  });
}
template <class F>
std::string refusal_of_program(F&& damage) {
  auto damaged = program();
  damage(*damaged);
  const std::string said = refusal(op::Fused{damaged});
  const std::size_t at = said.find(" of the program: ");
  return at == std::string::npos ? said : said.substr(at + 17);
}

TEST(PlannedOnTheWire, IndicesMustBeOfWhatThereIs) {
  using Operand = op::ProgramOperand;
  using Program = op::Program;
  EXPECT_EQ(refusal(op::Fused{program()}), "");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.steps[0].in[1].index = 1; }), "input 1 of 1");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.steps[0].in[1].from = Operand::Result; }), "result 0 of 0");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.steps[0].dtype = DType::F64; }),
            "a step makes float32 [2, 3], not float64");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.outputs = {1}; }), "result 1 of 1");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.outputs = {0, 0}; }), "result 0 is an output twice");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.folds[0].step = 1; }), "step 1 of 1");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.folds[0].dims = {2}; }), "dimension 2 folded of 2");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.folds[0].dims = {-1}; }), "dimension -1 folded of 2");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.folds[0].dims = {1, 1}; }), "dimension 1 folded of 2");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.outputs = {}, p.folds = {}; }), "a program without results");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.shape = {2, 4}; }),
            "ShapeError: fused: [2, 3] and [2, 4] do not broadcast: 3 and 4 differ in dimension -1");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.inputs = {DType::F64}, p.steps[0].dtype = DType::F64; }),
            "DTypeError: fused: operand 0 is float32 [2, 3], not float64");
  EXPECT_EQ(refusal_of_program([](Program& p) { p.inputs.push_back(DType::F32); }),
            "ArgumentError: fused: takes 2 operands, got 1");
}

TEST(PlannedOnTheWire, BlocksMustDoWhatTheWholeDoes) {
  const auto sequence = [](auto&& damage) {
    auto blocks = std::make_shared<op::RowBlocks>();
    blocks->rows = 2;
    blocks->block = 1;
    op::Sequence& sequence = blocks->sequence;
    sequence.steps.push_back({op::Unary{op::UnaryFn::Exp}, {{op::SequenceOperand::Input, 0}}, 1});
    sequence.results = {{{2, 3}, DType::F32}};
    sequence.outputs = {0};
    damage(*blocks, sequence);
    return refusal(op::RowBlocked{blocks});
  };
  using op::RowBlocks, op::Sequence;
  EXPECT_EQ(sequence([](RowBlocks&, Sequence&) {}), "");
  for (const auto& damage : std::initializer_list<std::function<void(RowBlocks&, Sequence&)>>{
           [](RowBlocks& b, Sequence&) { b.axis = 2; }, [](RowBlocks& b, Sequence&) { b.axis = -1; },
           [](RowBlocks& b, Sequence&) { b.rows = 3; }, [](RowBlocks& b, Sequence&) { b.block = -1; },
           [](RowBlocks& b, Sequence&) { b.block = 0; }, [](RowBlocks& b, Sequence&) { b.block = 3; },
           [](RowBlocks&, Sequence& s) { s.results.clear(); }, [](RowBlocks&, Sequence& s) { s.steps.clear(); },
           [](RowBlocks&, Sequence& s) { s.results.clear(), s.steps.clear(), s.outputs.clear(); },
           [](RowBlocks&, Sequence& s) { s.steps[0].in[0].index = 1; },
           [](RowBlocks&, Sequence& s) { s.steps[0].in[0].from = op::SequenceOperand::Result; },
           [](RowBlocks&, Sequence& s) { s.outputs = {1}; },
           [](RowBlocks&, Sequence& s) { s.results[0].dtype = DType::F64; },
           // Sound on all rows, and not on a block of them.
           [](RowBlocks&, Sequence& s) { s.steps[0].op = op::Reshape{{2, 3}}; },
           // Sound on a block, and not the same.
           [](RowBlocks&, Sequence& s) { s.steps[0].op = op::Softmax{0, false}; },
           // Rows of what has fewer dimensions, and of what has some before them.
           [](RowBlocks&, Sequence& s) { s.steps[0].op = op::Fused{row_program({})}; },
           [](RowBlocks& b, Sequence&) { b.axis = 1, b.rows = 3; }})
    EXPECT_NE(sequence(damage), "");
}

TEST(PlannedOnTheWire, RowsOfFusedStepsMustBeThere) {
  using op::Sequence;
  const auto sequence = [](auto&& damage, std::int64_t rows = 2) {
    auto sequence = std::make_shared<Sequence>();
    const auto add = [&](const op::Op& op, op::SequenceOperand from, const Shape& shape) {
      sequence->steps.push_back({op, {from}, 1});
      sequence->results.push_back({shape, DType::F32});
    };
    add(op::Unary{op::UnaryFn::Exp}, {op::SequenceOperand::Input, 0}, {2, 3});
    add(op::Reduce{op::ReduceFn::Max, {1}}, {op::SequenceOperand::Result, 0}, {2, 1});
    add(op::Expand{{2, 3}}, {op::SequenceOperand::Result, 1}, {2, 3});
    sequence->outputs = {0, 2};
    damage(*sequence);
    return refusal(op::RowFused{sequence, rows});
  };
  const auto with = [&](const op::Op& op, const Shape& shape) {  // in the place of the first step
    return sequence([&](Sequence& s) {
      s.steps.erase(s.steps.begin() + 1, s.steps.end());
      s.steps[0].op = op;
      s.results = {{shape, DType::F32}};
      s.outputs = {0};
    });
  };
  EXPECT_EQ(sequence([](Sequence&) {}), "");
  EXPECT_EQ(with(op::Reduce{op::ReduceFn::Max, {1}}, {2, 1}), "");
  EXPECT_EQ(with(op::Softmax{1, false}, {2, 3}), "");
  EXPECT_EQ(with(op::Fused{row_program({2, 3})}, {2, 3}), "");

  // Rows of another length, which do not come out even, of one element, and none.
  for (const std::int64_t rows : std::initializer_list<std::int64_t>{3, 4, 6, 7, std::int64_t{1} << 60, 0, -2})
    EXPECT_NE(sequence([](Sequence&) {}, rows), "") << rows;
  const auto first_alone = [](Sequence& s) {
    s.steps.erase(s.steps.begin() + 1, s.steps.end());
    s.results.resize(1);
    s.outputs = {0};
  };
  EXPECT_EQ(sequence(first_alone), "");
  EXPECT_EQ(sequence(first_alone, 6), "ShapeError: row_fused: 6 rows of no more than an element each");
  EXPECT_EQ(with(op::Reduce{op::ReduceFn::Max, {0}}, {1, 3}),
            "ShapeError: row_fused: max does not take 2 rows one by one");
  EXPECT_EQ(with(op::Softmax{0, false}, {2, 3}), "ShapeError: row_fused: softmax does not take 2 rows one by one");
  EXPECT_EQ(with(op::Reshape{{3, 2}}, {3, 2}), "ShapeError: row_fused: reshape does not take 2 rows one by one");
  EXPECT_EQ(with(op::Scan{op::ScanFn::Sum, 1}, {2, 3}),
            "ShapeError: row_fused: cumsum does not take 2 rows one by one");
  for (const auto& damage : std::initializer_list<std::function<void(Sequence&)>>{
           [](Sequence& s) { s.results.clear(); }, [](Sequence& s) { s.steps.clear(); },
           [](Sequence& s) { s.steps[0].in[0].index = 1; }, [](Sequence& s) { s.steps[1].in[0].index = 1; },
           [](Sequence& s) { s.steps[0].in.clear(); }, [](Sequence& s) { s.steps[0].results = 2; },
           [](Sequence& s) { s.steps[0].results = 0; }, [](Sequence& s) { s.outputs = {3}; },
           [](Sequence& s) { s.results[1].shape = {2}; }, [](Sequence& s) { s.results[0].dtype = DType::F64; }})
    EXPECT_NE(sequence(damage), "");
}

TEST(PlannedOnTheWire, NeverHoldOthersWithoutEnd) {
  op::Op op = op::Fused{program()};
  for (int i = 0; i < 100; ++i) {
    auto parts = std::make_shared<op::BatchedOps>();
    parts->all.push_back({op, {0, 1}, {0, 2}});
    op = op::Batched{parts};
  }
  EXPECT_NE(refusal(op).find("operations within operations, too deep"), std::string::npos);
}

}  // namespace
}  // namespace kiln::test
