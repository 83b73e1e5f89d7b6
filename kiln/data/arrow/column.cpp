#include "kiln/data/arrow/column.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/half.hpp"
#include "kiln/data/table/decimal.hpp"

namespace kiln::arrow {
namespace {

static_assert(std::endian::native == std::endian::little, "Arrow's arrays have the order of bytes of the machine");

/// Element `at`, which need not be aligned.
template <class T>
T load(const std::byte* elements, std::int64_t at) {
  T value;
  std::memcpy(&value, elements + at * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

std::int64_t offset_at(const Column& column, std::int64_t at) {
  return column.field->type.width == 4 ? std::int64_t{load<std::int32_t>(column.data, at)}
                                       : load<std::int64_t>(column.data, at);
}

struct View {
  std::int32_t length;
  char start[4];
  std::int32_t piece, offset;
};
constexpr std::int32_t kInline = 12;  // shorter texts are in the view itself

}  // namespace

bool Column::bit(std::int64_t i) const {
  const std::int64_t at = offset + i;
  return (std::to_integer<unsigned>(data[at / 8]) >> (at % 8) & 1) != 0;
}

std::int64_t Column::integer(std::int64_t i) const {
  const std::int64_t at = offset + i;
  const bool has_sign = field->type.has_sign;
  switch (field->type.width) {
    case 1: return has_sign ? std::int64_t{load<std::int8_t>(data, at)} : std::int64_t{load<std::uint8_t>(data, at)};
    case 2: return has_sign ? std::int64_t{load<std::int16_t>(data, at)} : std::int64_t{load<std::uint16_t>(data, at)};
    case 4: return has_sign ? std::int64_t{load<std::int32_t>(data, at)} : std::int64_t{load<std::uint32_t>(data, at)};
    default: return load<std::int64_t>(data, at);
  }
}

double Column::number(std::int64_t i) const {
  const std::int64_t at = offset + i;
  const Type& type = field->type;
  if (type.layout == Layout::Integers) {
    const std::int64_t whole = integer(i);
    return type.width == 8 && !type.has_sign ? static_cast<double>(static_cast<std::uint64_t>(whole))
                                             : static_cast<double>(whole);
  }
  if (type.layout == Layout::Decimals) {
    std::string bytes(reinterpret_cast<const char*>(elements(i)), static_cast<std::size_t>(type.width));
    std::ranges::reverse(bytes);
    return decimal_of(bytes, type.scale);
  }
  if (type.width == 2) return static_cast<double>(F16::from_bits(load<std::uint16_t>(data, at)));
  return type.width == 4 ? static_cast<double>(load<float>(data, at)) : load<double>(data, at);
}

std::string_view Column::text(std::int64_t i) const {
  const std::int64_t at = offset + i;
  if (field->type.layout == Layout::FixedBytes)
    return {reinterpret_cast<const char*>(elements(i)), static_cast<std::size_t>(field->type.width)};
  if (field->type.layout == Layout::Views) {
    const auto view = load<View>(data, at);
    const auto length = static_cast<std::size_t>(view.length);
    if (view.length <= kInline) return {reinterpret_cast<const char*>(data + at * 16 + 4), length};
    return {static_cast<const char*>(pieces[view.piece]) + view.offset, length};
  }
  const std::int64_t first = offset_at(*this, at), behind = offset_at(*this, at + 1);
  if (first == behind) return {};
  return {reinterpret_cast<const char*>(bytes) + first, static_cast<std::size_t>(behind - first)};
}

std::pair<std::int64_t, std::int64_t> Column::items(std::int64_t i) const {
  const std::int64_t at = offset + i;
  if (field->type.layout == Layout::FixedLists) return {at * field->type.width, field->type.width};
  const std::int64_t first = offset_at(*this, at);
  return {first, offset_at(*this, at + 1) - first};
}

namespace {

/// The number of buffers of a layout; for views the least.
std::int64_t buffers_of(Layout layout) {
  switch (layout) {
    case Layout::Nothing: return 0;
    case Layout::FixedLists:
    case Layout::Structs: return 1;
    case Layout::Bytes:
    case Layout::Views: return 3;
    default: return 2;
  }
}

class Check {
 public:
  Check(const Field& field, const ArrowArray& array, const std::string& table)
      : field_(field), array_(array), table_(table) {}

  Column column(std::int64_t needed) {
    numbers(needed);
    column_.field = &field_;
    column_.length = array_.length;
    column_.offset = array_.offset;
    buffers();
    switch (field_.type.layout) {
      case Layout::Bytes:
      case Layout::Lists:
      case Layout::Maps: offsets(); break;
      case Layout::Views: views(); break;
      case Layout::FixedLists: fixed_lists(); break;
      case Layout::Structs:
        for (std::size_t i = 0; i < field_.children.size(); ++i) child(i, array_.offset + array_.length);
        break;
      default: break;
    }
    if (!field_.dictionary.empty()) dictionary();
    return std::move(column_);
  }

 private:
  template <class... Words>
  void that(bool holds, const Words&... words) const {
    require<DataError>(holds, table_, ": ", place_of(field_), ' ', words...);
  }

  void numbers(std::int64_t needed) {
    const ArrowArray& a = array_;
    that(a.release != nullptr, "was released before");
    that(a.length >= 0, "has the length ", a.length);
    that(a.offset >= 0, "has the offset ", a.offset);
    // Bits, bytes and offsets of so many elements can be counted.
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
    that(a.length < kMost && a.offset < kMost, "has ", a.length, " elements from ", a.offset, " on: that is no array");
    that(a.length >= needed, "has ", a.length, " elements, and ", needed, " are needed");
    that(a.null_count >= -1 && a.null_count <= a.length, "has ", a.length, " elements, and says that ", a.null_count,
         " of them are null");
    const std::int64_t wanted = buffers_of(field_.type.layout);
    that(a.n_buffers == wanted || (field_.type.layout == Layout::Views && a.n_buffers > wanted), "has ", a.n_buffers,
         " buffers, and the format '", shown(field_.format), "' has ", wanted);
    that(a.n_buffers == 0 || a.buffers, "has buffers, and a null pointer to them");
    that(a.n_children == std::ssize(field_.children), "has ", a.n_children, " children, and its schema has ",
         field_.children.size());
    that(a.n_children == 0 || a.children, "has children, and a null pointer to them");
    for (std::int64_t i = 0; i < a.n_children; ++i) that(a.children[i] != nullptr, "has a null pointer as child ", i);
    that((a.dictionary != nullptr) == !field_.dictionary.empty(), "has a dictionary in its schema or its array alone");
  }

  void buffers() {
    const auto layout = field_.type.layout;
    if (layout == Layout::Nothing) return;
    column_.validity = static_cast<const std::uint8_t*>(array_.buffers[0]);
    that(column_.validity || array_.null_count <= 0, "has ", array_.null_count, " nulls, and no bits that say which");
    if (array_.null_count == 0) column_.validity = nullptr;
    if (array_.n_buffers < 2) return;
    column_.data = static_cast<const std::byte*>(array_.buffers[1]);
    that(column_.data || array_.length == 0 || (layout == Layout::FixedBytes && field_.type.width == 0), "has ",
         array_.length, " elements, and a null pointer to them");
  }

  void offsets() {
    const bool is_bytes = field_.type.layout == Layout::Bytes;
    std::int64_t last = 0, first = 0;
    if (array_.length > 0) {
      first = last = offset_at(column_, array_.offset);
      that(first >= 0, "has the offset ", first, " at element 0");
      for (std::int64_t i = 1; i <= array_.length; ++i) {
        const std::int64_t next = offset_at(column_, array_.offset + i);
        that(next >= last, "has the offset ", next, " after ", last, ", at element ", i);
        last = next;
      }
    }
    if (!is_bytes) return child(0, last);
    column_.bytes = static_cast<const std::byte*>(array_.buffers[2]);
    that(column_.bytes || last == first, "has ", last - first, " bytes, and a null pointer to them");
  }

  void views() {
    const std::int64_t pieces = array_.n_buffers - 3;
    const auto* const sizes = static_cast<const std::byte*>(array_.buffers[array_.n_buffers - 1]);
    that(sizes || pieces == 0, "has ", pieces, " buffers of bytes, and a null pointer to their sizes");
    column_.pieces = array_.buffers + 2;
    for (std::int64_t i = 0; i < array_.length; ++i) {
      if (column_.is_null(i)) continue;
      const auto view = load<View>(column_.data, array_.offset + i);
      that(view.length >= 0, "has a text of ", view.length, " bytes, at element ", i);
      if (view.length <= kInline) continue;
      that(view.piece >= 0 && view.piece < pieces && column_.pieces[view.piece], "has a text in buffer ", view.piece,
           " of ", pieces, ", at element ", i);
      const auto size = load<std::int64_t>(sizes, view.piece);
      that(view.offset >= 0 && std::int64_t{view.offset} + view.length <= size, "has a text of ", view.length,
           " bytes from byte ", view.offset, " of ", size, " on, at element ", i);
    }
  }

  void fixed_lists() {
    std::int64_t items = 0;
    that(!__builtin_mul_overflow(array_.offset + array_.length, field_.type.width, &items), "has ", array_.length,
         " lists of ", field_.type.width, " items, which cannot be counted");
    child(0, items);
  }

  void child(std::size_t i, std::int64_t needed) {
    column_.children.push_back(column_of(field_.children[i], *array_.children[i], needed, table_));
  }

  void dictionary() {
    column_.dictionary.push_back(column_of(field_.dictionary.front(), *array_.dictionary, 0, table_));
    const std::int64_t words = column_.dictionary.front().length;
    for (std::int64_t i = 0; i < array_.length; ++i)
      if (!column_.is_null(i)) {
        const std::int64_t word = column_.integer(i);
        that(word >= 0 && word < words, "has word ", word, " of a dictionary of ", words, ", at element ", i);
      }
  }

  const Field& field_;
  const ArrowArray& array_;
  const std::string& table_;
  Column column_;
};

}  // namespace

Column column_of(const Field& field, const ArrowArray& array, std::int64_t needed, const std::string& table) {
  return Check(field, array, table).column(needed);
}

}  // namespace kiln::arrow
