// Data sets whose items are stored in a file once they are computed: for items that are slow to compute and do not fit
// in memory.
//
//   const auto small = cached_on_disk(mapped(photos, shrink), "photos.items", "shrunk to 64");
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/data/compose/item_file.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln {

/// Items of a type T that kiln/wire can write: numbers, enums, texts, lists, optionals and structs of these.
template <class T>
class OnDisk final : public Dataset<T> {
 public:
  explicit OnDisk(ItemFile file) : file_(std::move(file)) {}
  std::int64_t size() const override { return file_.size(); }

 private:
  T item(std::int64_t index) const override {
    wire::Reader reader(file_.name(), file_.at(index));
    T value{};
    wire::read_field(reader, value);
    reader.finish();
    return value;
  }
  ItemFile file_;
};

/// The items in `path`. If the file is missing, or has a different origin, computes all items, stores them atomically,
/// and throws what computing them throws. `made_of` describes the items: with another description, type or number of
/// items the file is written again. Throws IoError, or DataError if the file is damaged.
template <DatasetLike D>
[[nodiscard("a data set is not changed: a new one is returned")]] DatasetPtr<ItemOf<D>> cached_on_disk(
    D dataset, const std::string& path, std::string_view made_of) {
  using T = ItemOf<D>;
  const auto shared = share(std::move(dataset));
  std::string schema;
  wire::append_schema<T>(schema);
  const std::uint64_t fingerprint = wire::fingerprint_of(text(schema, ' ', shared->size(), ' ', made_of));
  if (std::error_code ignored; std::filesystem::exists(path, ignored)) {
    ItemFile file(map_file(path));
    if (file.fingerprint() == fingerprint) return share(OnDisk<T>(std::move(file)));
  }
  write_items(path, fingerprint, shared->size(), [&](std::int64_t index) {
    wire::Writer writer;
    wire::write_field(writer, shared->get(index));
    return writer.take();
  });
  return share(OnDisk<T>(ItemFile(map_file(path))));
}

}  // namespace kiln
