// Ops by name and fields; what changes with versions, and what does not.
#include "kiln/wire/op_wire.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

#include <gtest/gtest.h>

#include <set>

#include "kiln/wire/fields.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::wire {
namespace {

template <class F>
std::vector<std::byte> written(F&& write) {
  Writer out;
  write(out);
  return out.take();
}
std::vector<std::byte> bytes_of(const op::Op& op) {
  return written([&](Writer& out) { write_op(out, op); });
}
op::Op op_of(std::span<const std::byte> bytes) {
  Reader in("a.kiln", bytes);
  op::Op op = read_op(in);
  in.finish();
  return op;
}
template <class F>
std::string refusal(F&& write) {
  const auto bytes = written(write);
  return sentence_of([&] { op_of(bytes); });
}

/// Calls f<T>() for each op of the table that has fields of its own.
template <class F, class... Ops>
void for_each_op(const std::variant<Ops...>*, F&& f) {
  const auto one = [&]<class T>(const T*) {
    if constexpr (!op::Planned<T> && !std::is_same_v<T, op::Custom>) f.template operator()<T>();
  };
  (one(static_cast<const Ops*>(nullptr)), ...);
}
template <class F>
void for_each_op(F&& f) {
  for_each_op(static_cast<const op::Op::Alternatives*>(nullptr), f);
}

/// Calls f() with each value that an enum among the fields of `object` can have, the rest as it is.
template <class T, class F>
void for_each_enumerator(T& object, F&& f) {
  reflect::for_each_field(object, [&]<class Field>(std::string_view, Field& field) {
    if constexpr (reflect::ScopedEnum<Field>) {
      const Field before = field;
      for (const auto& [value, name] : reflect::enumerators<Field>()) field = value, f();
      field = before;
    } else if constexpr (reflect::Aggregate<Field>) {
      for_each_enumerator(field, f);
    }
  });
}

TEST(OpWire, CarriesEveryOpAndEveryEnumerator) {
  int count = 0;
  for_each_op([&]<class T>() {
    T op{};
    const auto check = [&] {
      EXPECT_TRUE(op_of(bytes_of(op)) == op::Op(op)) << text(op::Op(op));
      ++count;
    };
    check();
    for_each_enumerator(op, check);
  });
  EXPECT_GT(count, 200);
}

// Stored bytes: the same for every compiler and machine. The fingerprint is SplitMix64 over the letters of
// "softmax{dim:i32,log:bool}", as computed apart from this.
TEST(OpWire, IsAsTheDocumentsSay) {
  const auto bytes = bytes_of(op::Softmax{1, true});
  std::string expected{'\0', 7};
  expected += "softmax";
  expected += "\x62\x16\xbf\x0a\xec\x43\xab\x2b";
  expected += {2, 1};
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(OpWire, TakesFewBytesOnceItsNameIsKnown) {
  Writer out;
  write_op(out, op::Binary{op::BinaryFn::Add});
  out.take();
  write_op(out, op::Binary{op::BinaryFn::Add});
  EXPECT_EQ(out.take().size(), 2u);
}

TEST(OpWire, FingerprintsDifferFromOpToOp) {
  std::set<std::uint64_t> seen;
  int count = 0;
  for_each_op([&]<class T>() { seen.insert(fingerprint(T::kName)), ++count; });
  for (const auto planned : {"custom", "fused", "epilogue", "row_blocked", "row_fused", "horizontal"})
    seen.insert(fingerprint(planned)), ++count;
  EXPECT_EQ(std::ssize(seen), count);
  EXPECT_FALSE(seen.contains(table_fingerprint()));
  EXPECT_EQ(sentence_of([] { fingerprint("frobnicate"); }),
            "ArgumentError: fingerprint: there is no operation 'frobnicate'");
}

TEST(OpWire, RefusesWhatAnotherVersionWrote) {
  EXPECT_EQ(
      refusal([](Writer& out) { out.op("frobnicate", 7); }),
      "DataError: a.kiln: byte 20 of the program: this version of Kiln has no operation 'frobnicate': another one "
      "wrote it, or it is damaged");
  EXPECT_EQ(
      refusal([](Writer& out) { out.op("softmax", fingerprint("softmax") ^ 1); }),
      "DataError: a.kiln: byte 17 of the program: the operation 'softmax' has other fields in this version of Kiln, "
      "softmax{dim:i32,log:bool}: read it with the version that wrote it, or write it again with this one");
  EXPECT_EQ(
      refusal([](Writer& out) {
        out.op("binary", fingerprint("binary"));
        out.name("frobnicate");
      }),
      "DataError: a.kiln: byte 28 of the program: this version of Kiln knows no BinaryFn 'frobnicate': another one "
      "wrote it, or it is damaged");
  EXPECT_EQ(refusal([](Writer& out) { out.op("fused", fingerprint("fused")); }),
            "DataError: a.kiln: byte 15 of the program: 'fused' is only for the device that planned it");
}

// A table of other ops is no reason to refuse those that are the same.
TEST(OpWire, HeadersSayWhichTableWroteThem) {
  auto bytes = written([](Writer& out) { write_header(out); });
  EXPECT_EQ(Reader("a.kiln", bytes).left(), 13u);
  {
    Reader in("a.kiln", bytes);
    EXPECT_EQ(read_header(in), table_fingerprint());
    in.finish();
  }
  bytes[6] ^= std::byte{1};
  {
    Reader in("a.kiln", bytes);
    EXPECT_NE(read_header(in), table_fingerprint());
  }
  bytes[4] = std::byte{kVersion + 1};
  EXPECT_EQ(sentence_of([&] {
              Reader in("a.kiln", bytes);
              read_header(in);
            }),
            "DataError: a.kiln: byte 5 of the program: it is written in version 2 of the format, this version of Kiln "
            "reads version 1: read it with the version that wrote it");
  bytes[0] = std::byte{'K'};
  EXPECT_EQ(sentence_of([&] {
              Reader in("a.kiln", bytes);
              read_header(in);
            }),
            "DataError: a.kiln: byte 4 of the program: it does not begin like a program of Kiln");
}

TEST(OpWire, RefusesTensorsThatCannotBe) {
  const auto refused = [](const Shape& shape) {
    const auto bytes = written([&](Writer& out) { write_desc(out, {shape, DType::F64}); });
    return sentence_of([&] {
      Reader in("here", bytes);
      read_desc(in);
    });
  };
  EXPECT_EQ(refused({2, 3}), "");
  EXPECT_EQ(refused({2, -3}), "DataError: here: byte 12 of the program: a tensor of shape [2, -3] cannot be");
  EXPECT_NE(refused({std::int64_t{1} << 31, std::int64_t{1} << 31}), "");
  EXPECT_NE(refused({0, std::int64_t{1} << 61}), "");
}

}  // namespace
}  // namespace kiln::wire
