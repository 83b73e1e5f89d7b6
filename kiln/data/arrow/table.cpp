#include "kiln/data/arrow/table.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln {
namespace arrow {

/// One of Arrow's structs, taken from whoever had it: the only one that calls its release().
template <class Struct>
class Owned {
 public:
  Owned() = default;
  /// Has nothing if `from` is a null pointer or was released.
  explicit Owned(Struct* from) {
    if (!from) return;
    content_ = *from;
    from->release = nullptr;
  }
  Owned(Owned&& other) noexcept : content_(other.content_) { other.content_.release = nullptr; }
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (content_.release) content_.release(&content_);
  }
  Struct& operator*() { return content_; }
  Struct* operator->() { return &content_; }

 private:
  Struct content_{};
};

namespace {

const std::string kName = "Arrow";  // the start of errors

template <class Struct>
void require_there(const Struct* given, Owned<Struct>& taken, std::string_view what) {
  require<ArgumentError>(given != nullptr, kName, ": ", what, " is a null pointer");
  require<ArgumentError>(taken->release != nullptr, kName, ": ", what, " was released before");
}

std::string_view contents_of(Layout layout) {
  switch (layout) {
    case Layout::Nothing: return "nulls";
    case Layout::Bits: return "truth values";
    case Layout::Integers: return "whole numbers";
    case Layout::Floats: return "numbers";
    case Layout::Decimals: return "decimals";
    case Layout::Bytes:
    case Layout::Views:
    case Layout::FixedBytes: return "texts or bytes";
    case Layout::Lists:
    case Layout::FixedLists: return "lists";
    case Layout::Structs: return "structs";
    case Layout::Maps: return "maps";
  }
  return "";
}

bool is_of(Layout layout, Wanted wanted) {
  switch (wanted) {
    case Wanted::Truth:
    case Wanted::Whole: return layout == Layout::Bits || layout == Layout::Integers;
    case Wanted::Number: return layout == Layout::Integers || layout == Layout::Floats || layout == Layout::Decimals;
    case Wanted::Text: return layout == Layout::Bytes || layout == Layout::Views || layout == Layout::FixedBytes;
    case Wanted::List: return layout == Layout::Lists || layout == Layout::FixedLists || layout == Layout::Maps;
    case Wanted::Struct: return layout == Layout::Structs;
  }
  return false;
}

}  // namespace

void require_kind(const Field& field, Wanted wanted) {
  constexpr std::string_view kNames[] = {"truth values",   "whole numbers", "numbers",
                                         "texts or bytes", "lists",         "structs"};
  // A column of nulls alone fits every optional field.
  if (field.type.layout == Layout::Nothing && wanted != Wanted::Struct && wanted != Wanted::List) return;
  require<DataError>(is_of(field.type.layout, wanted), kName, ": ", place_of(field), " has ",
                     contents_of(field.type.layout), ", and is read as ", kNames[static_cast<std::size_t>(wanted)]);
}

std::size_t find_child(const Field& field, std::string_view name) {
  const auto found = std::ranges::find(field.children, name, &Field::name);
  if (found != field.children.end()) return static_cast<std::size_t>(found - field.children.begin());
  std::vector<std::string_view> names;
  for (const Field& child : field.children) names.push_back(child.name);
  fail<DataError>(kName, ": ", place_of(field), " has no column '", shown(name), "'", did_you_mean(name, names));
}

void RowReader::fail_at(const Column& column, std::string_view problem) const {
  fail<DataError>(kName, ", row ", row_, ": ", place_of(*column.field), ' ', problem);
}

}  // namespace arrow

using arrow::Column;
using arrow::Layout;

struct ArrowTable::Content {
  explicit Content(arrow::Owned<ArrowSchema>& schema) : root(arrow::field_of(*schema, arrow::kName)) {
    require<DataError>(root.type.layout == Layout::Structs, arrow::kName, ": the table has the format '",
                       shown(root.format), "', and a table is a struct of columns, '+s'");
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() = default;

  void add(arrow::Owned<ArrowArray> array) {
    arrays.push_back(std::move(array));
    Column batch = arrow::column_of(root, *arrays.back(), 0, arrow::kName);
    for (std::int64_t i = 0; i < batch.length; ++i)
      require<DataError>(!batch.is_null(i), arrow::kName, ", row ", rows + i,
                         ": the row is null, as no row of a table is");
    rows += batch.length;
    ends.push_back(rows);
    batches.push_back(std::move(batch));
  }

  const arrow::Field root;
  std::vector<arrow::Owned<ArrowArray>> arrays;
  std::vector<Column> batches;
  std::vector<std::int64_t> ends;  // the rows of all batches up to each
  std::int64_t rows = 0;
};

ArrowTable::ArrowTable(ArrowSchema* schema, ArrowArray* batch) try {
  arrow::Owned<ArrowSchema> type(schema);
  arrow::Owned<ArrowArray> array(batch);
  arrow::require_there(schema, type, "the schema");
  arrow::require_there(batch, array, "the array");
  const auto content = std::make_shared<Content>(type);
  content->add(std::move(array));
  content_ = content;
} catch (...) { rethrow_as_memory_error("an Arrow table"); }

ArrowTable::ArrowTable(ArrowArrayStream* stream) try {
  arrow::Owned<ArrowArrayStream> from(stream);
  arrow::require_there(stream, from, "the stream");
  require<ArgumentError>(from->get_schema && from->get_next, arrow::kName,
                         ": the stream has null pointers as functions");
  const auto check = [&](int code) {
    if (code == 0) return;
    const char* const words = from->get_last_error ? from->get_last_error(&*from) : nullptr;
    fail<DataError>(arrow::kName, ": the stream failed: ",
                    words ? shown(words) : std::error_code(code, std::generic_category()).message());
  };
  ArrowSchema schema{};
  check(from->get_schema(&*from, &schema));
  arrow::Owned<ArrowSchema> type(&schema);
  const auto content = std::make_shared<Content>(type);
  for (;;) {
    ArrowArray array{};
    check(from->get_next(&*from, &array));
    if (!array.release) break;
    content->add(arrow::Owned<ArrowArray>(&array));
  }
  content_ = content;
} catch (...) { rethrow_as_memory_error("an Arrow table"); }

std::int64_t ArrowTable::size() const { return content_->rows; }

const arrow::Field& ArrowTable::root() const { return content_->root; }

std::vector<std::string> ArrowTable::columns() const {
  std::vector<std::string> names;
  for (const arrow::Field& child : content_->root.children) names.push_back(child.name);
  return names;
}

std::vector<std::int64_t> ArrowTable::batches() const {
  std::vector<std::int64_t> rows;
  for (const Column& batch : content_->batches) rows.push_back(batch.length);
  return rows;
}

std::pair<const Column*, std::int64_t> ArrowTable::find(std::int64_t row) const {
  const auto& ends = content_->ends;
  const auto at = static_cast<std::size_t>(std::ranges::upper_bound(ends, row) - ends.begin());
  return {&content_->batches[at], at == 0 ? row : row - ends[at - 1]};
}

namespace {

/// The element type of a column of numbers, or of lists of one size of them, and how many each row has.
struct Elements {
  DType dtype = DType::F32;
  std::int64_t width = 0;  // bytes; 0 for bits
  Shape row;
};

Elements elements_of(const arrow::Field& column) {
  Elements elements;
  const arrow::Field* field = &column;
  for (; field->type.layout == Layout::FixedLists; field = &field->children[0])
    elements.row.push_back(field->type.width);
  const arrow::Type& type = field->type;
  const bool is_number =
      type.layout == Layout::Bits || type.layout == Layout::Integers || type.layout == Layout::Floats;
  require<DataError>(is_number && field->dictionary.empty(), arrow::kName, ": ", arrow::place_of(*field), " has ",
                     field->dictionary.empty() ? arrow::contents_of(type.layout) : "words of a dictionary",
                     ", and a tensor has numbers or lists of one size of them: read the rows");
  constexpr DType kSigned[] = {DType::I8, DType::I16, DType::I32, DType::I64};
  constexpr DType kUnsigned[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  constexpr DType kFloats[] = {DType::F32, DType::F16, DType::F32, DType::F64};
  const std::size_t power = type.width == 8 ? 3 : type.width == 4 ? 2 : type.width == 2 ? 1 : 0;
  if (type.layout == Layout::Bits) elements.dtype = DType::Bool;
  else if (type.layout == Layout::Floats) elements.dtype = kFloats[power];
  else elements.dtype = type.has_sign ? kSigned[power] : kUnsigned[power];
  elements.width = type.layout == Layout::Bits ? 0 : type.width;
  return elements;
}

/// Finds the elements of `count` values from `first` on. Throws DataError for a null.
const Column& innermost(const Column& column, std::int64_t& first, std::int64_t& count) {
  const Column* at = &column;
  for (;; at = &at->children[0]) {
    for (std::int64_t i = first; at->validity && i < first + count; ++i)
      require<DataError>(!at->is_null(i), arrow::kName, ": ", arrow::place_of(*at->field),
                         " has a null, and a tensor has none: read the rows, with a std::optional");
    if (at->field->type.layout != Layout::FixedLists) return *at;
    first = (at->offset + first) * at->field->type.width;
    count *= at->field->type.width;
  }
}

}  // namespace

TensorData ArrowTable::tensor(std::string_view column) const {
  return or_memory_error("an Arrow table", [&] {
    const std::size_t child = arrow::find_child(content_->root, column);
    const Elements elements = elements_of(content_->root.children[child]);
    Shape shape{content_->rows};
    for (const std::int64_t size : elements.row) shape.push_back(size);
    std::vector<std::byte> bytes;
    for (const Column& batch : content_->batches) {
      std::int64_t first = batch.offset, count = batch.length;
      const Column& found = innermost(batch.children[child], first, count);
      if (elements.width == 0) {
        for (std::int64_t i = 0; i < count; ++i) bytes.push_back(std::byte{found.bit(first + i)});
        continue;
      }
      if (count == 0) continue;
      const std::span<const std::byte> there(found.elements(first), static_cast<std::size_t>(count * elements.width));
      if (content_->batches.size() == 1) return TensorData::lent(shape, elements.dtype, there, content_);
      bytes.insert(bytes.end(), there.begin(), there.end());
    }
    return TensorData(shape, elements.dtype, std::move(bytes));
  });
}

}  // namespace kiln
