// Reads structs from the columns of a Parquet file: maps fields to columns, and assembles rows from lists.
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/data/parquet/file.hpp"
#include "kiln/data/table/row_types.hpp"

namespace kiln::parquet {

using namespace row;

/// A column that a type reads, or an optional struct: then a column inside it, and the definition level from which the
/// struct is present.
struct Node {
  std::size_t column = 0;
  int definition = 0;
};

/// The number of nodes of a T.
template <class T>
consteval std::size_t nodes() {
  if constexpr (Leaf<T> || OptionalLeaf<T>) {
    return 1;
  } else if constexpr (List<T>) {
    return nodes<Item<T>>();
  } else if constexpr (reflect::OptionalLike<T>) {
    return nodes<typename T::value_type>() + !OptionalList<T>;
  } else {
    static_assert(reflect::Aggregate<T>, "a column is not read as this type");
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (std::size_t{0} + ... + nodes<std::remove_cvref_t<F>>());
    }(std::type_identity<reflect::FieldReferences<T>>());
  }
}

/// The column of that name within `lists` lists. Throws DataError if there is none, or if it has another kind.
std::size_t find_column(const ParquetFile& file, std::string_view name, std::string_view wanted, std::size_t lists);

/// Appends the nodes of a T of that name.
template <class T>
void find_nodes(const ParquetFile& file, const std::string& name, std::size_t lists, std::vector<Node>& found) {
  if constexpr (Leaf<T> || OptionalLeaf<T>) {
    found.push_back({find_column(file, name, wanted<T>(), lists)});
  } else if constexpr (List<T>) {
    find_nodes<Item<T>>(file, name, lists + 1, found);
  } else if constexpr (OptionalList<T>) {
    find_nodes<typename T::value_type>(file, name, lists, found);
  } else if constexpr (reflect::OptionalLike<T>) {
    static_assert(nodes<T>() > 1, "a struct without fields says nothing");
    const std::size_t at = found.size();
    found.emplace_back();
    find_nodes<typename T::value_type>(file, name, lists, found);
    found[at] = {found[at + 1].column, file.columns()[found[at + 1].column].definition_of(name)};
  } else {
    T fields{};
    reflect::for_each_field(fields, [&]<class F>(std::string_view field, const F&) {
      find_nodes<F>(file, name.empty() ? std::string(field) : text(name, '.', field), lists, found);
    });
  }
}

/// Why an element cannot be read as a T; empty if it can.
template <Leaf T>
std::string read_element(const Values& elements, std::size_t element, T& value) {
  if constexpr (std::floating_point<T>) {
    value = static_cast<T>(elements.numbers.empty() ? static_cast<double>(elements.integers[element])
                                                    : elements.numbers[element]);
  } else if constexpr (std::integral<T>) {
    const std::int64_t whole = elements.integers[element];
    if constexpr (std::same_as<T, bool>) {
      if (whole != 0 && whole != 1) return text("is neither 0 nor 1: ", whole);
    } else if (!std::in_range<T>(whole)) {
      return text("is too large or too small a number: ", whole);
    }
    value = static_cast<T>(whole);
  } else if constexpr (reflect::ScopedEnum<T>) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (name == elements.bytes[element]) return value = enumerator, "";
    return text("is no ", reflect::type_name<T>());
  } else {
    const auto* const first = reinterpret_cast<const typename T::value_type*>(elements.bytes[element].data());
    value.assign(first, first + elements.bytes[element].size());
  }
  return "";
}

/// Assembles a row from the columns of its nodes.
class RowReader {
 public:
  RowReader(const ParquetFile& file, const std::vector<Node>& nodes, std::int64_t index) : file_(file), nodes_(nodes) {
    seek(index);
  }

  /// Makes `index` the row that is read; the columns of its group stay with the reader.
  void seek(std::int64_t index) {
    const ParquetFile::RowPosition at = file_.find(index);
    index_ = index;
    row_ = static_cast<std::uint32_t>(at.row);
    if (at.group == group_) return;
    chunks_.clear();
    for (const Node& node : nodes_) chunks_.push_back(file_.chunk(node.column, at.group));
    group_ = at.group;
  }

  template <class T>
  void read(T& row) const {
    std::array<std::uint32_t, nodes<T>()> entries;
    entries.fill(row_);
    read(row, 0, 0, entries.data());
  }

 private:
  /// Reads a value that begins at `node`, within `depth` lists; `entries` has the current entry of each node from there
  /// on.
  template <class T>
  void read(T& value, std::size_t node, std::size_t depth, const std::uint32_t* entries) const {
    if constexpr (Leaf<T>) {
      if (level(node, depth, *entries) < column(node).most_definition) fail_at(node, kMissing);
      const std::string problem = read_element(chunks_[node]->elements, *entries, value);
      if (!problem.empty()) fail_at(node, problem);
    } else if constexpr (reflect::OptionalLike<T>) {
      using There = typename T::value_type;
      value.reset();
      constexpr bool kStruct = !Leaf<There> && !List<There>;
      const int there = kStruct       ? nodes_[node].definition
                        : List<There> ? column(node).lists[depth] - 1
                                      : column(node).most_definition;
      if (level(node, depth, *entries) >= there) read(value.emplace(), node + kStruct, depth, entries + kStruct);
    } else if constexpr (List<T>) {
      read_list(value, node, depth, entries);
    } else {
      reflect::for_each_field(value, [&]<class F>(std::string_view, F& field) {
        read(field, node, depth, entries);
        node += nodes<F>();
        entries += nodes<F>();
      });
    }
  }

  template <class T>
  void read_list(T& list, std::size_t node, std::size_t depth, const std::uint32_t* entries) const {
    std::array<std::uint32_t, nodes<Item<T>>()> items;
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (level(node + i, depth, entries[i]) < column(node + i).lists[depth] - 1) fail_at(node + i, kMissing);
      const auto* const begin = &chunks_[node + i]->lists[depth].begins[entries[i]];
      items[i] = begin[0];
      if (i == 0) count = begin[1] - begin[0];
      if (begin[1] - begin[0] != count)
        fail_at(node + i, text("has ", begin[1] - begin[0], " items where another has ", count));
    }
    list.clear();
    if constexpr (!reflect::MapLike<T>) list.reserve(count);
    for (; count > 0; --count) {
      Item<T> item{};
      read(item, node, depth + 1, items.data());
      if constexpr (reflect::MapLike<T>) list.insert_or_assign(std::move(item.key), std::move(item.value));
      else list.push_back(std::move(item));
      for (auto& each : items) ++each;
    }
  }

  const Column& column(std::size_t node) const { return file_.columns()[nodes_[node].column]; }
  int level(std::size_t node, std::size_t depth, std::size_t entry) const {
    return chunks_[node]->level_of(depth, entry);
  }
  [[noreturn]] void fail_at(std::size_t node, std::string_view problem) const;

  const ParquetFile& file_;
  const std::vector<Node>& nodes_;
  std::int64_t index_ = 0;
  std::size_t group_ = std::numeric_limits<std::size_t>::max();
  std::uint32_t row_ = 0;
  std::vector<std::shared_ptr<const Chunk>> chunks_;  // one per node
};

}  // namespace kiln::parquet
