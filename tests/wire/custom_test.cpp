// Operations of the user's own travel by a name that both sides registered.
#include "kiln/tensor/custom_wire.hpp"

#include <gtest/gtest.h>

#include "kiln/wire/op_wire.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

struct Shift {
  double by = 1;
  std::vector<std::int64_t> table;
  std::string name() const { return "shift by " + text(by); }
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + by; }
};
struct Other {
  float by = 1;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] - static_cast<double>(by); }
};

template <class T>
op::Op op_of(T user) {
  return op::Custom{make_ref<const UserOpFace<T>>(std::move(user))};
}
op::Op sent(const op::Op& op) {
  wire::Writer out;
  wire::write_op(out, op);
  const auto bytes = out.take();
  wire::Reader in("a.kiln", bytes);
  op::Op arrived = wire::read_op(in);
  in.finish();
  return arrived;
}
const Shift& shift_of(const op::Op& op) {
  return static_cast<const UserOpFace<Shift>&>(*std::get<op::Custom>(op.is).op).op();
}

TEST(CustomWire, CarriesTheFieldsUnderARegisteredName) {
  register_custom_op<Shift>("test.shift");
  register_custom_op<Shift>("test.shift");  // again: nothing new
  const op::Op arrived = sent(op_of(Shift{2.5, {3, -1}}));
  EXPECT_EQ(shift_of(arrived).by, 2.5);
  EXPECT_EQ(shift_of(arrived).table, (std::vector<std::int64_t>{3, -1}));
  EXPECT_EQ(text(arrived), "shift by 2.5()");
  EXPECT_EQ(shift_of(sent(op_of(Shift{1, std::vector<std::int64_t>(1000, 7)}))).table.size(), 1000u);
}

TEST(CustomWire, CarriesThePrecisionOfTheCall) {
  register_custom_op<Shift>("test.shift");
  op::Op op = op_of(Shift{2.5, {}});
  EXPECT_EQ(std::get<op::Custom>(sent(op).is).precision, Float32Precision::OfDevice);
  std::get<op::Custom>(op.is).precision = Float32Precision::High;
  EXPECT_EQ(std::get<op::Custom>(sent(op).is).precision, Float32Precision::High);
}

TEST(CustomWire, RefusesWhatNobodyRegistered) {
  EXPECT_EQ(sentence_of([] { sent(op_of(Other{})); }),
            "ArgumentError: the operation 'Other' is the program's own: register_custom_op<Other>(name) lets it travel "
            "(kiln/tensor/custom_wire.hpp)");
  wire::Writer out;
  out.op("custom:elsewhere", 7);
  out.op("custom:test.shift", 7);
  out.op("custom", wire::fingerprint("custom"));
  const auto bytes = out.take();
  wire::Reader in("a.kiln", bytes);
  EXPECT_EQ(sentence_of([&] { wire::read_op(in); }),
            "DataError: a.kiln: byte 26 of the program: the operation 'elsewhere' is the writing program's own: "
            "register_custom_op in this one too, under that name");
  register_custom_op<Shift>("test.shift");
  EXPECT_EQ(
      sentence_of([&] { wire::read_op(in); }),
      "DataError: a.kiln: byte 53 of the program: the operation 'test.shift' has other fields in this program than "
      "in the one that wrote it");
  EXPECT_EQ(sentence_of([&] { wire::read_op(in); }),
            "DataError: a.kiln: byte 69 of the program: a user's own operation without its name");
}

TEST(CustomWire, NamesAreOneTypesAlone) {
  register_custom_op<Shift>("test.shift");
  EXPECT_EQ(sentence_of([] { register_custom_op<Other>("test.shift"); }),
            "ArgumentError: register_custom_op: another class is called 'test.shift'");
  EXPECT_EQ(sentence_of([] { register_custom_op<Other>(""); }),
            "ArgumentError: register_custom_op: a name has 1 to 64 letters, got ''");
}

}  // namespace
}  // namespace kiln
