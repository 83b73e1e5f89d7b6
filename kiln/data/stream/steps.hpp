// Streams computed from others: mapped, filtered, shuffled, batched, taken, repeated, sharded.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/data/permutation.hpp"
#include "kiln/data/stream/stream.hpp"

namespace kiln {

template <class T>
using CursorPtr = std::unique_ptr<Cursor<T>>;

/// A stream whose cursors wrap those of another: make(cursor of `from`, key).
template <class U, class T, class Make>
Stream<U> stream_through(const Stream<T>& from, Make make, bool endless) {
  return Stream<U>(
      [from, make = std::move(make)](Key key) -> CursorPtr<U> { return make(from.open(key.split(0)), key.split(1)); },
      endless);
}

template <class T, class Function>
class MappingCursor final : public Cursor<std::invoke_result_t<const Function&, T>> {
 public:
  using U = std::invoke_result_t<const Function&, T>;
  MappingCursor(CursorPtr<T> from, std::shared_ptr<const Function> function)
      : from_(std::move(from)), function_(std::move(function)) {}
  std::optional<Lazy<U>> next() override {
    auto item = from_->next();
    if (!item) return std::nullopt;
    return Lazy<U>::made_by([function = function_, item = *std::move(item)]() mutable {
      return std::invoke(*function, std::move(item).get());
    });
  }
  void save(wire::Writer& out) const override { from_->save(out); }
  void restore(wire::Reader& in) override { from_->restore(in); }

 private:
  CursorPtr<T> from_;
  std::shared_ptr<const Function> function_;
};

/// function(item) for each item. It is called from several threads.
template <class T, class Function>
auto mapped(const Stream<T>& from, Function function) {
  using Made = MappingCursor<T, Function>;
  return stream_through<typename Made::U>(
      from,
      [function = std::make_shared<const Function>(std::move(function))](CursorPtr<T> cursor, Key) {
        return std::make_unique<Made>(std::move(cursor), function);
      },
      from.endless());
}

template <class T>
class FilteringCursor final : public Cursor<T> {
 public:
  FilteringCursor(CursorPtr<T> from, std::function<bool(const T&)> keeps)
      : from_(std::move(from)), keeps_(std::move(keeps)) {}
  std::optional<Lazy<T>> next() override {
    while (auto late = from_->next())
      if (T item = std::move(*late).get(); keeps_(item)) return Lazy<T>(std::move(item));
    return std::nullopt;
  }
  void save(wire::Writer& out) const override { from_->save(out); }
  void restore(wire::Reader& in) override { from_->restore(in); }

 private:
  CursorPtr<T> from_;
  std::function<bool(const T&)> keeps_;
};

/// The items for which the predicate holds.
template <class T>
Stream<T> filtered(const Stream<T>& from, std::function<bool(const std::type_identity_t<T>&)> predicate) {
  return stream_through<T>(
      from,
      [predicate = std::move(predicate)](CursorPtr<T> cursor, Key) {
        return std::make_unique<FilteringCursor<T>>(std::move(cursor), predicate);
      },
      from.endless());
}

template <class T>
class ShufflingCursor final : public Cursor<T> {
 public:
  ShufflingCursor(CursorPtr<T> from, std::size_t size, Key key) : from_(std::move(from)), size_(size), key_(key) {}
  std::optional<Lazy<T>> next() override {
    while (!ended_ && buffer_.size() < size_) {
      if (auto item = from_->next()) buffer_.push_back(std::move(*item).get());
      else ended_ = true;
    }
    if (buffer_.empty()) return std::nullopt;
    Random random(key_.split(drawn_++));
    std::swap(buffer_[static_cast<std::size_t>(random.below(std::ssize(buffer_)))], buffer_.back());
    Lazy<T> drawn(std::move(buffer_.back()));
    buffer_.pop_back();
    return drawn;
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "shuffled");
    wire::write_field(out, drawn_);
    wire::write_field(out, ended_);
    wire::write_field(out, buffer_);
    from_->save(out);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "shuffled");
    wire::read_field(in, drawn_);
    wire::read_field(in, ended_);
    wire::read_field(in, buffer_);
    require<DataError>(buffer_.size() <= size_, in.source(), ": was saved from another stream: it holds ",
                       buffer_.size(), " items to be shuffled, more than ", size_);
    from_->restore(in);
  }

 private:
  CursorPtr<T> from_;
  std::size_t size_;
  Key key_;
  std::vector<T> buffer_;
  std::uint64_t drawn_ = 0;
  bool ended_ = false;
};

/// Picks each item at random from the next `buffer` items, in another order for every key. The buffer is saved with the
/// place, so its items must be of types that wire can write: numbers, texts, lists and structs of these. Shuffle before
/// steps that make items larger. Throws ArgumentError.
template <class T>
Stream<T> shuffled(const Stream<T>& from, std::int64_t buffer) {
  require<ArgumentError>(buffer >= 1, "shuffled: a buffer of ", buffer, " items; it must hold at least 1");
  return stream_through<T>(
      from,
      [size = static_cast<std::size_t>(buffer)](CursorPtr<T> cursor, Key key) {
        return std::make_unique<ShufflingCursor<T>>(std::move(cursor), size, key);
      },
      from.endless());
}

template <class T>
class BatchingCursor final : public Cursor<std::vector<T>> {
 public:
  BatchingCursor(CursorPtr<T> from, std::int64_t size, bool whole)
      : from_(std::move(from)), size_(size), whole_(whole) {}
  std::optional<Lazy<std::vector<T>>> next() override {
    std::vector<Lazy<T>> items;
    while (std::ssize(items) < size_)
      if (auto item = from_->next()) items.push_back(*std::move(item));
      else break;
    if (items.empty() || (whole_ && std::ssize(items) < size_)) return std::nullopt;
    return Lazy<std::vector<T>>::made_by([items = std::move(items)]() mutable {
      std::vector<T> batch;
      batch.reserve(items.size());
      for (auto& item : items) batch.push_back(std::move(item).get());
      return batch;
    });
  }
  void save(wire::Writer& out) const override { from_->save(out); }
  void restore(wire::Reader& in) override { from_->restore(in); }

 private:
  CursorPtr<T> from_;
  std::int64_t size_;
  bool whole_;
};

/// Lists of `size` consecutive items; the last one may be shorter, or is left out (`drop_last`). Throws ArgumentError.
template <class T>
Stream<std::vector<T>> batched(const Stream<T>& from, std::int64_t size, bool drop_last = false) {
  require<ArgumentError>(size >= 1, "batched: a batch of ", size, " items; it must have at least 1");
  return stream_through<std::vector<T>>(
      from,
      [size, drop_last](CursorPtr<T> cursor, Key) {
        return std::make_unique<BatchingCursor<T>>(std::move(cursor), size, drop_last);
      },
      from.endless());
}

template <class T>
class TakingCursor final : public Cursor<T> {
 public:
  TakingCursor(CursorPtr<T> from, std::int64_t count) : from_(std::move(from)), count_(count) {}
  std::optional<Lazy<T>> next() override {
    if (taken_ == count_) return std::nullopt;
    ++taken_;
    return from_->next();
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "taken");
    out.integer(taken_);
    from_->save(out);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "taken");
    taken_ = restore_count(in, "the number of items taken", 0, count_);
    from_->restore(in);
  }

 private:
  CursorPtr<T> from_;
  std::int64_t count_, taken_ = 0;
};

/// The first `count` items. Throws ArgumentError.
template <class T>
Stream<T> taken(const Stream<T>& from, std::int64_t count) {
  require<ArgumentError>(count >= 0, "taken: ", count, " items cannot be taken");
  return stream_through<T>(
      from, [count](CursorPtr<T> cursor, Key) { return std::make_unique<TakingCursor<T>>(std::move(cursor), count); },
      false);
}

template <class T>
class ShardedCursor final : public Cursor<T> {
 public:
  ShardedCursor(CursorPtr<T> from, int rank, int ranks) : from_(std::move(from)), rank_(rank), ranks_(ranks) {}
  std::optional<Lazy<T>> next() override {
    std::optional<Lazy<T>> own;
    for (int i = 0; i < ranks_; ++i) {
      auto item = from_->next();
      if (!item) return std::nullopt;
      if (i == rank_) own = std::move(item);
    }
    return own;
  }
  void save(wire::Writer& out) const override { from_->save(out); }
  void restore(wire::Reader& in) override { from_->restore(in); }

 private:
  CursorPtr<T> from_;
  int rank_, ranks_;
};

/// Each `ranks`th item, from `rank` on. All ranks get equally many: the rest at the end is left out. Throws
/// ArgumentError.
template <class T>
Stream<T> sharded(const Stream<T>& from, int rank, int ranks) {
  require<ArgumentError>(ranks >= 1 && rank >= 0 && rank < ranks, "sharded: rank ", rank, " of ", ranks,
                         " does not exist");
  return stream_through<T>(
      from,
      [rank, ranks](CursorPtr<T> cursor, Key) {
        return std::make_unique<ShardedCursor<T>>(std::move(cursor), rank, ranks);
      },
      from.endless());
}

template <class T>
class RepeatingCursor final : public Cursor<T> {
 public:
  RepeatingCursor(Stream<T> from, Key key) : from_(std::move(from)), key_(key), pass_(open(0)) {}
  std::optional<Lazy<T>> next() override {
    for (;;) {
      if (auto item = pass_->next()) return empty_ = false, std::move(item);
      if (empty_) return std::nullopt;
      empty_ = true;
      pass_ = open(++number_);
    }
  }
  void save(wire::Writer& out) const override {
    save_stage(out, "repeated");
    out.integer(number_);
    wire::write_field(out, empty_);
    pass_->save(out);
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "repeated");
    number_ = restore_count(in, "a pass", 0, std::numeric_limits<std::int64_t>::max() - 1);
    wire::read_field(in, empty_);
    pass_ = open(number_);
    pass_->restore(in);
  }

 private:
  CursorPtr<T> open(std::int64_t number) const { return from_.open(key_.split(static_cast<std::uint64_t>(number))); }

  Stream<T> from_;
  Key key_;
  CursorPtr<T> pass_;
  std::int64_t number_ = 0;
  bool empty_ = true;  // has the pass given no item yet?
};

/// Repeats the stream without end, each time with a new key; an empty stream stays empty.
template <class T>
Stream<T> repeated(const Stream<T>& from) {
  return Stream<T>([from](Key key) -> CursorPtr<T> { return std::make_unique<RepeatingCursor<T>>(from, key); }, true);
}

}  // namespace kiln
