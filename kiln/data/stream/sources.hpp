// Sources of streams: data sets in order, the lines of a file, functions.
#pragma once
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kiln/data/dataset.hpp"
#include "kiln/data/stream/stream.hpp"

namespace kiln {

template <class T>
class DatasetCursor final : public Cursor<T> {
 public:
  explicit DatasetCursor(DatasetPtr<T> from) : from_(std::move(from)) {}
  std::optional<Lazy<T>> next() override {
    if (at_ == from_->size()) return std::nullopt;
    return Lazy<T>::made_by([from = from_, index = at_++] { return from->get(index); });
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "data set");
    out.integer(at_);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "data set");
    at_ = restore_count(in, "the item of a data set", 0, from_->size());
  }

 private:
  DatasetPtr<T> from_;
  std::int64_t at_ = 0;
};

/// The items of a data set in order.
template <DatasetLike D>
Stream<ItemOf<D>> stream_of(D dataset) {
  using T = ItemOf<D>;
  return Stream<T>([from = share(std::move(dataset))](Key) -> std::unique_ptr<Cursor<T>> {
    return std::make_unique<DatasetCursor<T>>(from);
  });
}

/// The lines of a text file without their ends, "\n" or "\r\n"; a gzip file is decompressed. Only one line is in
/// memory, of at most `longest` bytes. Reading throws IoError, or DataError for a file that is damaged or truncated, or
/// a longer line.
Stream<std::string> stream_of_lines(const std::string& path, std::size_t longest = std::size_t{1} << 24);

template <class State, class Next>
class UnfoldingCursor final : public Cursor<typename std::invoke_result_t<const Next&, State&>::value_type> {
 public:
  using T = typename std::invoke_result_t<const Next&, State&>::value_type;
  UnfoldingCursor(State state, std::shared_ptr<const Next> next) : state_(std::move(state)), next_(std::move(next)) {}
  std::optional<Lazy<T>> next() override {
    if (std::optional<T> item = std::invoke(*next_, state_)) return Lazy<T>(*std::move(item));
    return std::nullopt;
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "unfolded");
    wire::write_field(out, state_);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "unfolded");
    wire::read_field(in, state_);
  }

 private:
  State state_;
  std::shared_ptr<const Next> next_;
};

/// A custom stream: next(state) returns the next item, or none at the end, and updates the state, which starts as
/// begin(key). A state is of a type that wire can write: numbers, texts, lists and structs of these.
template <class Begin, class Next>
auto unfolded(Begin begin, Next next, bool endless = false) {
  using State = std::invoke_result_t<const Begin&, Key>;
  using Made = UnfoldingCursor<State, Next>;
  return Stream<typename Made::T>(
      [begin = std::move(begin), next = std::make_shared<const Next>(std::move(next))](
          Key key) -> std::unique_ptr<Cursor<typename Made::T>> { return std::make_unique<Made>(begin(key), next); },
      endless);
}

}  // namespace kiln
