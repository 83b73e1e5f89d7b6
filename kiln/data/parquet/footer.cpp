#include "kiln/data/parquet/footer.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::parquet {
namespace {

constexpr int kDepth = 32;
constexpr std::uint64_t kLeastStruct = 3;  // bytes of the smallest useful one
constexpr std::int32_t kMostScale = 255;

enum Repetition { kRequired, kOptional, kRepeated };
enum Converted { kMap = 1, kMapKeyValue = 2, kListOf = 3, kDecimal = 5, kUint8 = 11, kUint64 = 14, kInterval = 21 };

struct Element {
  std::optional<std::int32_t> type{}, converted{};
  std::int32_t width = 0, repetition = kRequired, children = 0, scale = 0;
  std::string name;
  bool list = false, map = false, decimal = false, half = false, without_sign = false;
};

Element read_element(Thrift& in) {
  Element e;
  in.structure([&](int field) {
    if (field == 1) e.type = in.whole32();
    if (field == 2) e.width = in.whole32();
    if (field == 3) e.repetition = in.whole32();
    if (field == 4) e.name = in.text();
    if (field == 5) e.children = in.whole32();
    if (field == 6) e.converted = in.whole32();
    if (field == 7) e.scale = in.whole32();
    if (field == 10)
      in.structure([&](int logical) {
        e.map = e.map || logical == 2;
        e.list = e.list || logical == 3;
        e.decimal = e.decimal || logical == 5;
        e.half = e.half || logical == 15;
        if (logical == 5)
          in.structure([&](int part) {
            if (part == 1) e.scale = in.whole32();
          });
        if (logical == 10)
          in.structure([&](int part) {
            if (part == 2) e.without_sign = !in.flag();
          });
      });
  });
  e.list = e.list || e.converted == kListOf;
  e.map = e.map || e.converted == kMap || e.converted == kMapKeyValue;
  e.decimal = e.decimal || e.converted == kDecimal;
  e.without_sign = e.without_sign || (e.converted && *e.converted >= kUint8 && *e.converted <= kUint64);
  return e;
}

class Schema {
 public:
  Schema(const std::vector<Element>& elements, std::string_view file) : elements_(elements), file_(file) {}

  std::vector<Column> columns() {
    if (elements_.empty()) throw_damaged(file_, "it has no schema");
    const Element& root = elements_[at_++];
    for (std::int32_t i = 0; i < root.children; ++i) node({}, Role::Named, 1);
    if (at_ != elements_.size()) throw_damaged(file_, "its schema has ", elements_.size() - at_, " nodes too many");
    return std::move(columns_);
  }

 private:
  /// Lists and maps have intermediate nodes without meaningful names: the repeated node, and within it the item of a
  /// list.
  enum class Role { Named, OfList, OfMap, Item };

  void node(Column way, Role role, int depth) {
    if (at_ >= elements_.size()) throw_damaged(file_, "its schema ends too early");
    if (depth > kDepth) throw_damaged(file_, "its schema nests more than ", kDepth, " deep");
    const Element& e = elements_[at_++];
    if (role == Role::Named) way.name += (way.name.empty() ? "" : ".") + e.name;
    way.most_definition += e.repetition != kRequired;
    if (e.repetition == kRepeated) way.lists.push_back(way.most_definition);
    way.nodes.emplace_back(way.name.size(), way.most_definition);
    if (e.type) return leaf(e, std::move(way));
    for (std::int32_t i = 0; i < e.children; ++i) node(way, role_in(e, role), depth + 1);
  }

  Role role_in(const Element& parent, Role role) const {
    const bool repeated = at_ < elements_.size() && elements_[at_].repetition == kRepeated;
    if (repeated && parent.list) return Role::OfList;
    if (repeated && parent.map && parent.repetition != kRepeated) return Role::OfMap;
    // In lists of older writers the repeated node is the item itself.
    const bool item = parent.children == 1 && !repeated && parent.name != "array" && !parent.name.ends_with("_tuple");
    return role == Role::OfList && item ? Role::Item : Role::Named;
  }

  void leaf(const Element& e, Column way) {
    if (e.children != 0) throw_damaged(file_, "the column '", shown(way.name), "' has parts and values");
    if (*e.type < 0 || *e.type > static_cast<std::int32_t>(PhysicalType::FixedLenByteArray))
      throw_damaged(file_, "the column '", shown(way.name), "' has the type ", *e.type);
    way.stored = static_cast<PhysicalType>(*e.type);
    way.width = e.width;
    way.without_sign = e.without_sign;
    if (way.stored == PhysicalType::FixedLenByteArray && (e.width <= 0 || e.width > 1 << 20))
      throw_damaged(file_, "the column '", shown(way.name), "' has values of ", e.width, " bytes");
    if (way.stored == PhysicalType::Int96) {
      way.meaning = LogicalType::Time96;
      way.width = 12;
    } else if (e.half && way.stored == PhysicalType::FixedLenByteArray) {
      way.meaning = LogicalType::Half;
    } else if (e.decimal && (way.stored_kind() == Kind::Integers || way.stored_kind() == Kind::Bytes)) {
      way.meaning = LogicalType::Decimal;
      way.scale = e.scale;
      if (e.scale < 0 || e.scale > kMostScale)
        way.problem = text("decimals with ", e.scale, " digits after the point are not supported");
    }
    columns_.push_back(std::move(way));
  }

  const std::vector<Element>& elements_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::vector<Column> columns_;
};

ChunkPlace read_chunk(Thrift& in, const FileBytes& file) {
  ChunkPlace chunk;
  std::int64_t data = 0, dictionary = 0, size = 0;
  bool elsewhere = false, described = false;
  in.structure([&](int field) {
    if (field == 1) elsewhere = !in.text().empty();
    if (field == 3) {
      described = true;
      in.structure([&](int part) {
        if (part == 4) chunk.codec = in.whole32();
        if (part == 5) chunk.values = in.whole();
        if (part == 7) size = in.whole();
        if (part == 9) data = in.whole();
        if (part == 11) dictionary = in.whole();
      });
    }
  });
  require<DataError>(!elsewhere, file.name,
                     ": is a Parquet file whose data lie in other files, which are not supported");
  if (!described) throw_damaged(file.name, "it does not state where its data are stored");
  if (chunk.values == 0) return chunk;
  const std::int64_t begin = dictionary > 0 && dictionary < data ? dictionary : data;
  const auto all = static_cast<std::int64_t>(file.bytes.size());
  if (begin < 4 || size < 0 || begin > all || size > all - begin)
    throw_damaged(file.name, size, " bytes from byte ", begin, " on are not in it");
  if (chunk.values < 0) throw_damaged(file.name, "a column has ", chunk.values, " values");
  chunk.begin = static_cast<std::uint64_t>(begin);
  chunk.size = static_cast<std::uint64_t>(size);
  return chunk;
}

RowGroup read_group(Thrift& in, const FileBytes& file) {
  RowGroup group;
  in.structure([&](int field) {
    if (field == 1) in.list([&] { group.chunks.push_back(read_chunk(in, file)); }, kLeastStruct);
    if (field == 3) group.rows = in.whole();
  });
  return group;
}

bool is_at(std::span<const std::byte> bytes, std::size_t at, std::string_view letters) {
  return std::ranges::equal(bytes.subspan(at, letters.size()), std::as_bytes(std::span(letters)));
}

/// The description between the data and the last eight bytes, which contain its size and a magic number.
Thrift description_of(const FileBytes& file) {
  constexpr std::string_view kMark = "PAR1", kEncrypted = "PARE";
  const std::size_t size = file.bytes.size();
  require<DataError>(size >= 12 && is_at(file.bytes, 0, kMark), file.name, ": is no Parquet file");
  require<DataError>(!is_at(file.bytes, size - 4, kEncrypted), file.name,
                     ": is an encrypted Parquet file, which is not supported");
  if (!is_at(file.bytes, size - 4, kMark)) throw_damaged(file.name, "it is cut off");
  const auto length = Bytes(file.bytes.subspan(size - 8), file.name, "it").number<std::uint32_t>();
  if (length > size - 12) throw_damaged(file.name, "its description of ", length, " bytes is not in it");
  return Thrift(Bytes(file.bytes.subspan(size - 8 - length, length), file.name, "its description"));
}

}  // namespace

Kind Column::kind() const {
  switch (meaning) {
    case LogicalType::Decimal:
    case LogicalType::Half: return Kind::Numbers;
    case LogicalType::Time96: return Kind::Integers;
    default: return stored_kind();
  }
}

int Column::definition_of(std::string_view node) const {
  int definition = 0;
  for (const auto& [size, level] : nodes)
    if (size == node.size()) definition = level;
  return definition;
}

Kind Column::stored_kind() const {
  switch (stored) {
    case PhysicalType::Boolean: return Kind::Flags;
    case PhysicalType::Int32:
    case PhysicalType::Int64: return Kind::Integers;
    case PhysicalType::Float:
    case PhysicalType::Double: return Kind::Numbers;
    default: return Kind::Bytes;
  }
}

Footer read_footer(const FileBytes& file) {
  Thrift in = description_of(file);
  Footer footer;
  std::vector<Element> elements;
  in.structure([&](int field) {
    if (field == 2) in.list([&] { elements.push_back(read_element(in)); }, kLeastStruct);
    if (field == 4) in.list([&] { footer.groups.push_back(read_group(in, file)); }, kLeastStruct);
    if (field == 5)
      in.list(
          [&] {
            auto& [key, value] = footer.metadata.emplace_back();
            in.structure([&, &key = key, &value = value](int part) {
              if (part == 1) key = in.text();
              if (part == 2) value = in.text();
            });
          },
          kLeastStruct);
  });
  footer.columns = Schema(elements, file.name).columns();
  // The file also has a total number of rows, which some writers leave at 0; instead, each chunk is compared with its
  // columns.
  for (RowGroup& group : footer.groups) {
    group.first = footer.rows;
    if (group.rows < 0 || __builtin_add_overflow(footer.rows, group.rows, &footer.rows))
      throw_damaged(file.name, "a part of ", group.rows, " rows behind ", group.first);
    if (group.chunks.size() != footer.columns.size())
      throw_damaged(file.name, "a part has ", group.chunks.size(), " columns of ", footer.columns.size());
  }
  return footer;
}

}  // namespace kiln::parquet
