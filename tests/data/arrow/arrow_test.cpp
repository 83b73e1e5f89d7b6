// Tables that are made by hand, byte by byte as Arrow's specification has them; arrow_peers.py tries other libraries'.
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "kiln/data/arrow/export.hpp"
#include "kiln/data/arrow/table.hpp"

#include "tests/data/arrow/made.hpp"
#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::Made;
using test::raised;

// Three rows, and one before them that the offset of the table skips.
const std::int32_t kLabels[] = {-9, 1, 2, 300};
const std::uint8_t kLabelBits[] = {0b1011};  // row 1 is null
const std::int32_t kTextEnds[] = {0, 1, 1, 4, 8};
const char kTexts[] = "xabcdefg";
const std::int64_t kListEnds[] = {0, 0, 2, 2, 3};
const double kItems[] = {0.5, -1, 7};
const float kPairs[] = {9, 9, 1, 2, 3, 4, 5, 6};
const std::uint8_t kFlags[] = {0b1010};
const std::int8_t kWords[] = {0, 1, 1, 0};
const std::int32_t kWordEnds[] = {0, 3, 6};
const char kNames[] = "CatDog";

/// Made new for each test, as reading a table takes it.
std::unique_ptr<Made> some_table() {
  auto made = std::make_unique<Made>();
  *made = {.format = "+s", .name = "", .length = 3, .offset = 1, .buffers = {nullptr}};
  auto& columns = made->children;
  columns.push_back({.format = "i", .name = "label", .length = 4, .nulls = -1, .buffers = {kLabelBits, kLabels}});
  columns.push_back({.format = "u", .name = "title", .length = 4, .buffers = {nullptr, kTextEnds, kTexts}});
  columns.push_back({.format = "+L", .name = "items", .length = 4, .buffers = {nullptr, kListEnds}});
  columns.back().children.push_back({.format = "g", .name = "item", .length = 3, .buffers = {nullptr, kItems}});
  columns.push_back({.format = "+w:2", .name = "pair", .length = 4, .buffers = {nullptr}});
  columns.back().children.push_back({.format = "f", .name = "item", .length = 8, .buffers = {nullptr, kPairs}});
  columns.push_back({.format = "b", .name = "flag", .length = 4, .buffers = {nullptr, kFlags}});
  columns.push_back({.format = "c", .name = "kind", .length = 4, .buffers = {nullptr, kWords}});
  columns.back().dictionary.push_back(
      {.format = "u", .name = "", .length = 2, .buffers = {nullptr, kWordEnds, kNames}});
  made->fill();
  return made;
}

enum class Kind { Cat, Dog };
struct Item {
  std::optional<std::int16_t> label;
  std::string title;
  std::vector<double> items;
  std::vector<float> pair;
  bool flag = false;
  Kind kind = Kind::Cat;
  friend bool operator==(const Item&, const Item&) = default;
};

TEST(Arrow, ReadsRowsAndReleasesOnce) {
  const auto made = some_table();
  {
    const ArrowTable table(&made->schema, &made->array);
    EXPECT_EQ(made->schema.release, nullptr);
    EXPECT_EQ(made->array.release, nullptr);
    EXPECT_EQ(made->schemas_released, 1);
    EXPECT_EQ(table.columns(), (std::vector<std::string>{"label", "title", "items", "pair", "flag", "kind"}));
    const auto rows = arrow_rows<Item>(table);
    ASSERT_EQ(rows->size(), 3);
    EXPECT_EQ(rows->get(0), (Item{1, "", {0.5, -1}, {1, 2}, true, Kind::Dog}));
    EXPECT_EQ(rows->get(1), (Item{std::nullopt, "abc", {}, {3, 4}, false, Kind::Dog}));
    EXPECT_EQ(rows->get(2), (Item{300, "defg", {7}, {5, 6}, true, Kind::Cat}));
    EXPECT_EQ(made->arrays_released, 0);
  }
  EXPECT_EQ(made->arrays_released, 1);
  for (const Made& child : made->children) EXPECT_EQ(child.arrays_released + child.schemas_released, 0) << child.name;
}

TEST(Arrow, LendsItsNumbersToTensors) {
  const auto made = some_table();
  TensorData pair;
  {
    const ArrowTable table(&made->schema, &made->array);
    pair = table.tensor("pair");
    EXPECT_EQ(difference(table.tensor("flag"), TensorData::of<bool>({3}, {true, false, true})), "");
    EXPECT_EQ(raised<DataError>([&] { table.tensor("label"); }),
              "Arrow: column 'label' has a null, and a tensor has none: read the rows, with a std::optional");
    EXPECT_EQ(
        raised<DataError>([&] { table.tensor("title"); }),
        "Arrow: column 'title' has texts or bytes, and a tensor has numbers or lists of one size of them: read the "
        "rows");
    EXPECT_EQ(
        raised<DataError>([&] { table.tensor("kind"); }),
        "Arrow: column 'kind' has words of a dictionary, and a tensor has numbers or lists of one size of them: read "
        "the rows");
    EXPECT_EQ(raised<DataError>([&] { table.tensor("pairs"); }),
              "Arrow: the table has no column 'pairs' (did you mean 'pair'?)");
  }
  EXPECT_EQ(made->arrays_released, 0);  // the tensor holds it
  EXPECT_EQ(difference(pair, TensorData::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})), "");
  EXPECT_EQ(static_cast<const void*>(std::as_const(pair).bytes().data()), kPairs + 2);
  pair = {};
  EXPECT_EQ(made->arrays_released, 1);
}

/// What a table says that was changed before it was taken. Everything is released once, whatever it says.
std::string refused(const std::function<void(Made&)>& change) {
  const auto made = some_table();
  change(*made);
  const std::string sentence = raised<DataError>([&] { ArrowTable(&made->schema, &made->array); });
  EXPECT_EQ(made->schemas_released, 1) << sentence;
  EXPECT_EQ(made->arrays_released, 1) << sentence;
  return sentence;
}

TEST(Arrow, RefusesSchemasThatCannotBe) {
  const auto column = [](std::size_t i, auto change) {
    return refused([&](Made& made) { change(made.children[i].schema); });
  };
  EXPECT_EQ(column(0, [](ArrowSchema& s) { s.format = nullptr; }),
            "Arrow: column 'label' has no format: the pointer is null");
  for (const auto& [format, meaning] : std::map<const char*, const char*>{{"+ud:0,1", "a union"},
                                                                          {"+r", "run-end encoded"},
                                                                          {"+vl", "a list view"},
                                                                          {"tiM", "an interval"},
                                                                          {"d:3,900", "a decimal"},
                                                                          {"w:-1", "unknown"},
                                                                          {"+w:2x", "unknown"},
                                                                          {"", "unknown"}})
    EXPECT_EQ(column(0, [&](ArrowSchema& s) { s.format = format; }),
              text("Arrow: column 'label' has the format '", format, "' (", meaning,
                   "), which is not supported: convert it first"));
  EXPECT_EQ(column(2, [](ArrowSchema& s) { s.n_children = -1; }),
            "Arrow: column 'items' has -1 children, which the format '+L' does not");
  EXPECT_EQ(column(2, [](ArrowSchema& s) { s.n_children = 2; }),
            "Arrow: column 'items' has 2 children, which the format '+L' does not");
  EXPECT_EQ(column(2, [](ArrowSchema& s) { s.children = nullptr; }),
            "Arrow: column 'items' has children, and a null pointer to them");
  EXPECT_EQ(column(2, [](ArrowSchema& s) { s.children[0] = nullptr; }),
            "Arrow: column 'items' has a null pointer as child 0");
  EXPECT_EQ(column(2, [](ArrowSchema& s) { s.format = "+m"; }),
            "Arrow: column 'items' is a map whose entries are no structs of a key and a value");
  EXPECT_EQ(column(5, [](ArrowSchema& s) { s.format = "f"; }),
            "Arrow: column 'kind' has a dictionary, and 'f' is no integer");
  Made words{.format = "u", .name = ""};
  words.fill();
  EXPECT_EQ(column(5,
                   [&](ArrowSchema& s) {
                     s.dictionary->format = "c";
                     s.dictionary->dictionary = &words.schema;
                   }),
            "Arrow: column 'kind' has a dictionary whose words are those of another dictionary, which is not "
            "supported: convert it first");
  EXPECT_EQ(column(1, [](ArrowSchema& s) { s.release = nullptr; }), "Arrow: column 'title' was released before");
  EXPECT_EQ(refused([](Made& made) {
              made.schema.format = "+w:3";
              made.schema.n_children = 1;
            }),
            "Arrow: the table has the format '+w:3', and a table is a struct of columns, '+s'");
  EXPECT_EQ(refused([](Made& made) { made.schema.n_children = std::numeric_limits<std::int64_t>::min(); }),
            "Arrow: the table has -9223372036854775808 children, which the format '+s' does not");
  // A schema that leads to itself.
  EXPECT_EQ(refused([](Made& made) { made.children[2].schemas[0] = &made.children[2].schema; }).substr(0, 26),
            "Arrow: column 'items.items");
}

TEST(Arrow, RefusesArraysThatCannotBe) {
  const auto column = [](std::size_t i, auto change) {
    return refused([&](Made& made) { change(made.children[i].array); });
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.length = -1; }), "Arrow: column 'label' has the length -1");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.offset = -1; }), "Arrow: column 'label' has the offset -1");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.length = kMost; }),
            "Arrow: column 'label' has 9223372036854775807 elements from 0 on: that is no array");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.length = 3; }), "Arrow: column 'label' has 3 elements, and 4 are needed");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.null_count = 5; }),
            "Arrow: column 'label' has 4 elements, and says that 5 of them are null");
  EXPECT_EQ(column(1, [](ArrowArray& a) { a.null_count = 1; }),
            "Arrow: column 'title' has 1 nulls, and no bits that say which");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.n_buffers = 3; }),
            "Arrow: column 'label' has 3 buffers, and the format 'i' has 2");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.n_buffers = -1; }),
            "Arrow: column 'label' has -1 buffers, and the format 'i' has 2");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.buffers = nullptr; }),
            "Arrow: column 'label' has buffers, and a null pointer to them");
  EXPECT_EQ(column(0, [](ArrowArray& a) { a.buffers[1] = nullptr; }),
            "Arrow: column 'label' has 4 elements, and a null pointer to them");
  EXPECT_EQ(column(1, [](ArrowArray& a) { a.buffers[2] = nullptr; }),
            "Arrow: column 'title' has 8 bytes, and a null pointer to them");
  EXPECT_EQ(column(2, [](ArrowArray& a) { a.n_children = 0; }),
            "Arrow: column 'items' has 0 children, and its schema has 1");
  EXPECT_EQ(column(2, [](ArrowArray& a) { a.children = nullptr; }),
            "Arrow: column 'items' has children, and a null pointer to them");
  EXPECT_EQ(column(2, [](ArrowArray& a) { a.children[0] = nullptr; }),
            "Arrow: column 'items' has a null pointer as child 0");
  EXPECT_EQ(column(2, [](ArrowArray& a) { a.children[0]->length = 2; }),
            "Arrow: column 'items.item' has 2 elements, and 3 are needed");
  EXPECT_EQ(column(3, [](ArrowArray& a) { a.children[0]->length = 7; }),
            "Arrow: column 'pair.item' has 7 elements, and 8 are needed");
  EXPECT_EQ(column(3, [](ArrowArray& a) { a.children[0]->release = nullptr; }),
            "Arrow: column 'pair.item' was released before");
  EXPECT_EQ(column(5, [](ArrowArray& a) { a.dictionary = nullptr; }),
            "Arrow: column 'kind' has a dictionary in its schema or its array alone");
  EXPECT_EQ(column(5, [](ArrowArray& a) { a.dictionary->length = 1; }),
            "Arrow: column 'kind' has word 1 of a dictionary of 1, at element 1");
  const std::int32_t falling[] = {0, 3, 2, 4, 8}, negative[] = {-1, 0, 0, 0, 0};
  EXPECT_EQ(column(1, [&](ArrowArray& a) { a.buffers[1] = falling; }),
            "Arrow: column 'title' has the offset 2 after 3, at element 2");
  EXPECT_EQ(column(1, [&](ArrowArray& a) { a.buffers[1] = negative; }),
            "Arrow: column 'title' has the offset -1 at element 0");
  const std::uint8_t none[] = {0b0111};
  EXPECT_EQ(refused([&](Made& made) {
              made.buffers[0] = none;
              made.array.null_count = 1;
            }),
            "Arrow, row 2: the row is null, as no row of a table is");
}

TEST(Arrow, RefusesNullPointersAndWhatWasReleased) {
  const auto made = some_table();
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(nullptr, &made->array); }), "Arrow: the schema is a null pointer");
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(&made->schema, nullptr); }), "Arrow: the array is a null pointer");
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(static_cast<ArrowArrayStream*>(nullptr)); }),
            "Arrow: the stream is a null pointer");
  // What was there is taken.
  EXPECT_EQ(made->schemas_released, 1);
  EXPECT_EQ(made->arrays_released, 1);
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(&made->schema, &made->array); }),
            "Arrow: the schema was released before");
  const auto half = some_table();
  half->array.release = nullptr;
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(&half->schema, &half->array); }),
            "Arrow: the array was released before");
  EXPECT_EQ(half->schemas_released, 1);
  const auto whole = some_table();
  const ArrowTable table(&whole->schema, &whole->array);
  EXPECT_EQ(raised<ArgumentError>([&] { ArrowTable(&whole->schema, &whole->array); }),
            "Arrow: the schema was released before");
}

/// A table of one column.
ArrowTable of_one(Made& made, Made column) {
  made = {.format = "+s", .name = "", .length = column.length, .buffers = {nullptr}};
  made.children.push_back(std::move(column));
  made.fill();
  return ArrowTable(&made.schema, &made.array);
}
template <class T>
struct Value {
  T x{};
};
template <class T>
std::vector<T> read(Made column) {
  Made made;
  std::vector<T> values;
  const auto rows = arrow_rows<Value<T>>(of_one(made, std::move(column)));
  for (std::int64_t i = 0; i < rows->size(); ++i) values.push_back(rows->get(i).x);
  return values;
}

TEST(Arrow, ReadsWhatElseThereIs) {
  // Views: 12 bytes and less within, longer ones in a buffer.
  struct View {
    std::int32_t length;
    char start[12];
  };
  std::array<View, 3> views{};
  views[0].length = 12;
  std::memcpy(views[0].start, "twelve bytes", 12);
  views[2].length = 13;
  std::memcpy(views[2].start, "long", 4);
  const std::int32_t place[] = {0, 2};
  std::memcpy(views[2].start + 4, place, sizeof place);
  const std::string piece = "--long, as it is";
  const std::int64_t sizes[] = {15}, small[] = {14};
  const Made texts{.format = "vu", .name = "x", .length = 3, .buffers = {nullptr, views.data(), piece.data(), sizes}};
  EXPECT_EQ(read<std::string>(texts), (std::vector<std::string>{"twelve bytes", "", "long, as it i"}));
  Made cut = texts;
  cut.buffers[3] = small;
  EXPECT_EQ(raised<DataError>([&] { read<std::string>(cut); }),
            "Arrow: column 'x' has a text of 13 bytes from byte 2 of 14 on, at element 2");
  cut.buffers = {nullptr, views.data(), nullptr};
  EXPECT_EQ(raised<DataError>([&] { read<std::string>(cut); }),
            "Arrow: column 'x' has a text in buffer 0 of 0, at element 2");

  const std::uint8_t decimals[32] = {0x39, 0x30, 0,    0,    0,    0,    0,    0,    0,    0,    0,
                                     0,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(read<double>({.format = "d:9,2", .name = "x", .length = 2, .buffers = {nullptr, decimals}}),
            (std::vector<double>{123.45, -0.01}));
  EXPECT_EQ(read<double>({.format = "d:9,-1,64", .name = "x", .length = 1, .buffers = {nullptr, decimals}}),
            (std::vector<double>{123450}));
  const std::uint16_t halves[] = {0x3c00, 0xc000};
  EXPECT_EQ(read<float>({.format = "e", .name = "x", .length = 2, .buffers = {nullptr, halves}}),
            (std::vector<float>{1, -2}));
  const std::uint64_t large[] = {std::numeric_limits<std::uint64_t>::max()};
  const Made unsigned_column{.format = "L", .name = "x", .length = 1, .buffers = {nullptr, large}};
  EXPECT_EQ(read<std::uint64_t>(unsigned_column)[0], large[0]);
  EXPECT_EQ(read<double>(unsigned_column)[0], 0x1p64);
  EXPECT_EQ(raised<DataError>([&] { read<std::int64_t>(unsigned_column); }),
            "Arrow, row 0: column 'x' is too large a number: 18446744073709551615");
  EXPECT_EQ(read<std::string>({.format = "w:3", .name = "x", .length = 2, .buffers = {nullptr, "abcdef"}}),
            (std::vector<std::string>{"abc", "def"}));
  EXPECT_EQ(read<std::int64_t>({.format = "tsu:UTC", .name = "x", .length = 1, .buffers = {nullptr, sizes}})[0], 15);
  EXPECT_EQ(read<std::optional<int>>({.format = "n", .name = "x", .length = 2}),
            (std::vector<std::optional<int>>{std::nullopt, std::nullopt}));

  EXPECT_EQ(raised<DataError>([&] { read<int>({.format = "n", .name = "x", .length = 2}); }),
            "Arrow, row 0: column 'x' is missing (a field that may be is a std::optional)");
  EXPECT_EQ(raised<DataError>([&] { read<std::string>(unsigned_column); }),
            "Arrow: column 'x' has whole numbers, and is read as texts or bytes");
  EXPECT_EQ(raised<DataError>([&] { read<std::vector<int>>(unsigned_column); }),
            "Arrow: column 'x' has whole numbers, and is read as lists");
  EXPECT_EQ(
      raised<DataError>([&] { read<Kind>({.format = "w:1", .name = "x", .length = 1, .buffers = {nullptr, "a"}}); }),
      "Arrow, row 0: column 'x' is no Kind: 'a'");
  EXPECT_EQ(
      raised<DataError>([&] { read<bool>({.format = "l", .name = "x", .length = 1, .buffers = {nullptr, sizes}}); }),
      "Arrow, row 0: column 'x' is neither 0 nor 1: 15");
}

struct Inner {
  std::int32_t n = 0;
  std::optional<std::string> word;
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  std::int64_t id = 0;
  std::uint8_t small = 0;
  float real = 0;
  bool flag = false;
  std::optional<bool> maybe{};
  Kind kind = Kind::Cat;
  std::vector<std::byte> bytes{};
  std::optional<Inner> inner{};
  std::vector<Inner> list{};
  std::optional<std::vector<std::optional<double>>> numbers{};
  std::map<std::string, std::int64_t> counts{};
  friend bool operator==(const Outer&, const Outer&) = default;
};

std::vector<Outer> some_rows(int count) {
  std::vector<Outer> rows;
  for (int i = 0; i < count; ++i) {
    Outer row{i - 5, static_cast<std::uint8_t>(250 + i), static_cast<float>(i) / 8, i % 3 == 0};
    if (i % 2) row.maybe = i % 4 == 1;
    row.kind = i % 2 ? Kind::Dog : Kind::Cat;
    row.bytes.assign(static_cast<std::size_t>(i % 4), static_cast<std::byte>(i));
    if (i % 3)
      row.inner = Inner{i, i % 2 ? std::optional(std::string(static_cast<std::size_t>(i), 'w')) : std::nullopt};
    for (int j = 0; j < i % 3; ++j) row.list.push_back({j, text("in ", j)});
    if (i % 5) row.numbers = std::vector<std::optional<double>>{1.5, std::nullopt, -i * 1.0};
    for (int j = 0; j < i % 4; ++j) row.counts[text("key ", j)] = i * j;
    rows.push_back(row);
  }
  return rows;
}

TEST(Arrow, ExportsWhatItReads) {
  const auto rows = some_rows(21);
  ArrowSchema schema{};
  ArrowArray batch{};
  export_arrow(in_memory(rows), &schema, &batch);
  EXPECT_EQ(batch.length, 21);
  EXPECT_STREQ(schema.children[10]->format, "+m");
  ArrowArrayStream stream{};
  export_arrow(in_memory(rows), &stream, 8);
  const ArrowTable one(&schema, &batch), many(&stream);
  EXPECT_EQ(many.batches(), (std::vector<std::int64_t>{8, 8, 5}));
  for (const ArrowTable& table : {one, many}) {
    const auto read = arrow_rows<Outer>(table);
    ASSERT_EQ(read->size(), 21);
    for (std::int64_t i = 0; i < 21; ++i) EXPECT_EQ(read->get(i), rows[static_cast<std::size_t>(i)]) << i;
  }
  EXPECT_EQ(difference(many.tensor("id"), one.tensor("id")), "");
  EXPECT_EQ(one.tensor("id").at(20), 15);
  ArrowArrayStream none{};
  export_arrow(in_memory(std::vector<Outer>{}), &none);
  const ArrowTable empty(&none);
  EXPECT_EQ(arrow_rows<Outer>(empty)->size(), 0);
  EXPECT_EQ(empty.tensor("real").shape(), (Shape{0}));
  EXPECT_THROW(arrow_rows<Value<int>>(empty), DataError);
}

// A receiver may move a column out of a table, and release it after the rest.
TEST(Arrow, LetsColumnsOutliveTheTable) {
  TensorData numbers = TensorData::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const void* const there = std::as_const(numbers).bytes().data();
  ArrowSchema schema{};
  ArrowArray batch{};
  std::vector<ArrowColumn> columns;
  columns.push_back({"x", std::move(numbers)});
  columns.push_back({"flags", TensorData::of<bool>({3}, {true, false, true})});
  export_arrow(std::move(columns), &schema, &batch);
  ASSERT_STREQ(schema.children[0]->format, "+w:2");
  ArrowArray moved = *batch.children[0];
  batch.children[0]->release = nullptr;
  batch.release(&batch);
  EXPECT_EQ(batch.release, nullptr);
  ASSERT_EQ(moved.length, 3);
  EXPECT_EQ(moved.children[0]->buffers[1], there);  // nothing was copied
  EXPECT_EQ(static_cast<const float*>(moved.children[0]->buffers[1])[5], 6);
  moved.release(&moved);
  schema.release(&schema);
}

TEST(Arrow, SaysWhatCannotBeExported) {
  ArrowSchema schema{};
  ArrowArray batch{};
  const auto number = TensorData::of<float>({2}, {1, 2});
  EXPECT_EQ(raised<ArgumentError>([&] { export_arrow({{"x", number}}, nullptr, &batch); }),
            "Arrow: the schema to export to is a null pointer");
  EXPECT_EQ(raised<ArgumentError>([&] { export_arrow({{"x", number}}, &schema, nullptr); }),
            "Arrow: the array to export to is a null pointer");
  EXPECT_EQ(
      raised<ShapeError>([&] { export_arrow({{"x", number}, {"y", TensorData({3}, DType::I8)}}, &schema, &batch); }),
      "Arrow: column 'y' has 3 rows, and column 'x' has 2");
  EXPECT_EQ(raised<ShapeError>([&] { export_arrow({{"x", TensorData({}, DType::I8)}}, &schema, &batch); }),
            "Arrow: column 'x' is a tensor without dimensions, and rows are the first");
  EXPECT_EQ(raised<DTypeError>([&] { export_arrow({{"x", TensorData({3}, DType::BF16)}}, &schema, &batch); }),
            "Arrow: has no type for bfloat16: convert the tensor to float32");
  EXPECT_EQ(raised<DataError>(
                [&] { export_arrow(in_memory(std::vector<Value<Kind>>{{static_cast<Kind>(7)}}), &schema, &batch); }),
            "Arrow: a value has no name among those of Kind");
  EXPECT_EQ(schema.release, nullptr);
  EXPECT_EQ(batch.release, nullptr);
  ArrowArrayStream stream{};
  EXPECT_EQ(raised<ArgumentError>([&] { export_arrow(in_memory(some_rows(1)), &stream, 0); }),
            "Arrow: batches of 0 rows: they have at least one");
  // An item's error comes out of the stream, and nothing leaks.
  const auto broken = mapped(in_memory(some_rows(9)), [](Outer row) {
    require<DataError>(row.id != 3, "row 8 is damaged");
    return row;
  });
  export_arrow(broken, &stream, 4);
  EXPECT_EQ(raised<DataError>([&] { ArrowTable{&stream}; }), "Arrow: the stream failed: DataError: row 8 is damaged");
}

}  // namespace
}  // namespace kiln
