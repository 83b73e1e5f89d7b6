// Streams: items that are read sequentially, where a data set has an index. For sources without random access
// (compressed files, generators), or too large for an index.
//
//   const auto lines = interleaved({stream_of_lines("a.txt.gz"), stream_of_lines("b.txt.gz")});
//   const auto texts = mapped(shuffled(filtered(lines, not_empty), 10'000), tokens_of);
//   StreamLoader loader(texts, batcher, {.batch_size = 32, .seed = 7, .workers = 4});
//
// A single thread reads a stream, but the steps after its last shuffled() or filtered() are computed by the workers of
// a loader.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "kiln/core/random.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln {

/// An item, or a function that computes it.
template <class T>
class Lazy {
 public:
  explicit Lazy(T item) : is_(std::in_place_index<0>, std::move(item)) {}
  /// `make` is called at most once.
  static Lazy made_by(std::function<T()> make) { return Lazy(std::in_place_index<1>, std::move(make)); }

  T get() && {
    if (auto* const make = std::get_if<1>(&is_)) return (*make)();
    return std::get<0>(std::move(is_));
  }

 private:
  template <std::size_t I, class V>
  Lazy(std::in_place_index_t<I> index, V value) : is_(index, std::move(value)) {}
  std::variant<T, std::function<T()>> is_;
};

/// A position in a stream, from which items are read.
template <class T>
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;

  /// The next item; none after the last one.
  virtual std::optional<Lazy<T>> next() = 0;
  /// save() writes what restore() needs, on another cursor of the same stream and key, to continue with the same items.
  /// restore() throws DataError for the state of another stream.
  virtual void save(wire::Writer& out) const = 0;
  virtual void restore(wire::Reader& in) = 0;
};

/// A value that can open cursors at the first item. The same key always gives the same items.
template <class T>
class Stream {
 public:
  using Item = T;
  using Open = std::function<std::unique_ptr<Cursor<T>>(Key)>;

  explicit Stream(Open open, bool endless = false) : open_(std::move(open)), endless_(endless) {}

  std::unique_ptr<Cursor<T>> open(Key key) const { return open_(key); }
  /// Is it known that there is no last item?
  bool endless() const { return endless_; }

 private:
  Open open_;
  bool endless_;
};

/// Marks the beginning of a cursor's saved state, so that it is not mistaken for another's.
inline void save_stage(wire::Writer& out, std::string_view stage) { out.text(stage); }
inline void restore_stage(wire::Reader& in, std::string_view stage) {
  const std::string_view saved = in.text(64);
  require<DataError>(saved == stage, in.source(), ": was saved from another stream: from '", shown(saved),
                     "', not from '", stage, "'");
}
/// A saved number, from `least` to `most`. Throws DataError.
inline std::int64_t restore_count(wire::Reader& in, std::string_view what, std::int64_t least, std::int64_t most) {
  const std::int64_t value = in.integer();
  require<DataError>(value >= least && value <= most, in.source(), ": was saved from another stream: ", what, " is ",
                     value, ", not ", least, " to ", most);
  return value;
}

}  // namespace kiln
