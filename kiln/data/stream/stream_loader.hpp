// Reads a stream in batches that worker threads prepare in advance:
//
//   StreamLoader loader(texts, batcher, {.batch_size = 32, .seed = 7, .workers = 4, .batches = 1000});
//   for (auto& batch : loader) ...
//
// Each such loop is one epoch: a pass over the stream, or a fixed number of batches, after which the next epoch
// continues, and a stream that ends starts again. The contents of a batch depend on (seed, epoch, position) alone, not
// on the number of workers.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/data/stream/prepared_batches.hpp"
#include "kiln/data/stream/stream.hpp"

namespace kiln {

struct StreamLoaderConfig {
  std::int64_t batch_size = 32;
  std::uint64_t seed = 0;                 // determines orders, and the keys of batchers
  int workers = 0;                        // threads that prepare batches; with 0, the loop's own thread does
  int prefetch = 4;                       // batches prepared in advance, at least one for each worker
  bool drop_last = false;                 // leaves out a last batch of a pass that is smaller than the others
  std::optional<std::int64_t> batches{};  // per epoch; otherwise an epoch is a pass
  std::int64_t save_every = 100;          // the number of batches between two places that are kept to resume training
};

/// Returns the configuration. Throws ArgumentError if it is invalid.
StreamLoaderConfig checked(const StreamLoaderConfig& config);

/// A description of what determines the contents of batches, except the stream itself; see described() for a
/// LoaderConfig.
Json described(const StreamLoaderConfig& config);

/// Can a loader that is to begin with this batch start reading at `place`?
bool lies_before(const StreamPlace& place, std::int64_t epoch, std::int64_t batch, bool by_passes);

/// Calls `get`; adds the item of the stream to errors of Kiln that it throws.
void naming_stream_item(std::int64_t item, FunctionRef<void()> get);

/// The items of one batch, not yet computed.
template <class T>
struct PulledBatch {
  std::vector<Lazy<T>> items;
  std::int64_t first = 0;  // index of the first item in the pass
  Key keys{};              // each item has a key by its number
};

/// Splits the passes of a stream into batches.
template <class T>
class StreamReading {
 public:
  StreamReading(Stream<T> stream, const StreamLoaderConfig& config) : stream_(std::move(stream)), config_(config) {}

  /// Makes batch `batch` of `epoch` the next one, starting at `place` if that is before it.
  void seek(const StreamPlace& place, std::int64_t epoch, std::int64_t batch) {
    if (!place.state.empty() && lies_before(place, epoch, batch, !config_.batches)) {
      at_ = place;
      cursor_ = stream_.open(key().split(1));
      wire::Reader reader("the place in a stream", std::as_bytes(std::span(place.state)));
      cursor_->restore(reader);
      reader.finish();
      at_.state.clear();
    } else {
      at_ = {};
      if (!config_.batches) at_.epoch = at_.pass = epoch;
      cursor_ = stream_.open(key().split(1));
    }
    while ((at_.epoch < epoch || at_.batch < batch) && pull()) {}
  }

  /// The next batch of the epoch; none after the last one. Throws DataError if epochs have a fixed number of batches,
  /// and the stream is empty.
  std::optional<PulledBatch<T>> pull() {
    for (;;) {
      const std::int64_t first = at_.items;
      PulledBatch<T> batch{{}, first, key().split(0)};
      while (std::ssize(batch.items) < config_.batch_size) {
        std::optional<Lazy<T>> item;
        naming_stream_item(at_.items, [&] { item = cursor_->next(); });
        if (!item) break;
        batch.items.push_back(*std::move(item));
        ++at_.items;
      }
      const bool whole = std::ssize(batch.items) == config_.batch_size;
      if (whole || (!batch.items.empty() && !config_.drop_last)) {
        if (++at_.batch == config_.batches) at_.batch = 0, ++at_.epoch;
        return batch;
      }
      if (!config_.batches) return std::nullopt;
      require<DataError>(first > 0, "stream loader: the stream has less than one batch of ", config_.batch_size,
                         " items");
      at_.items = 0;
      ++at_.pass;
      cursor_ = stream_.open(key().split(1));
    }
  }

  /// Should this place be kept?
  bool keeps() const { return at_.batch % config_.save_every == 0; }
  StreamPlace place() const {
    StreamPlace place = at_;
    wire::Writer writer;
    cursor_->save(writer);
    for (const std::byte byte : writer.take()) place.state.push_back(std::to_integer<std::uint8_t>(byte));
    return place;
  }

 private:
  Key key() const { return Key{config_.seed}.split(static_cast<std::uint64_t>(at_.pass)); }

  Stream<T> stream_;
  StreamLoaderConfig config_;
  StreamPlace at_;
  std::unique_ptr<Cursor<T>> cursor_;
};

/// The batches of a stream, an input range. An error is thrown in the loop at its batch, and names the item.
template <class Batch>
class StreamLoader {
 public:
  /// Throws ArgumentError for an invalid configuration.
  template <class T, class B>
  StreamLoader(Stream<T> stream, B batcher, const StreamLoaderConfig& config = {})
      : config_(checked(config)), endless_(stream.endless()) {
    static_assert(!HasMethodBatch<B, T>,
                  "StreamLoader: a batcher is called like a function: rename batch() to operator()");
    static_assert(
        HasMethodBatch<B, T> || BatcherOf<B, T>,
        "StreamLoader: the batcher cannot be called, being const, with std::span<const Item>, or with that and "
        "std::span<const Key>, where Item is what the stream has");
    static_assert(!BatcherOf<B, T> || !std::same_as<BatchMadeBy<B, T>, NoBatch>,
                  "StreamLoader: the batcher returns nothing; it makes a batch of its items");
    static_assert(!BatcherOf<B, T> || std::convertible_to<BatchMadeBy<B, T>, Batch>,
                  "StreamLoader: the batcher makes no batches of the type that StreamLoader<Batch> names");
    if constexpr (MakesBatches<B, T, Batch>) read(std::move(stream), std::move(batcher));
  }

  /// The number of batches in the next epoch. If the configuration does not give it, the stream is read to count them,
  /// without computing items, once for each epoch. Throws ArgumentError if the stream is endless.
  std::int64_t size() const {
    if (config_.batches) return *config_.batches;
    require<ArgumentError>(!endless_, "stream loader: the stream has no end: set the number of `batches` of an epoch");
    if (!counted_ || counted_->first != epoch_) counted_.emplace(epoch_, count_(epoch_));
    return counted_->second;
  }
  /// See described().
  Json description() const { return described(config_); }
  std::int64_t epoch() const { return epoch_; }
  /// Makes the next loop epoch `epoch`, from batch `first_batch` on. The items between a known place and that batch
  /// (when training is resumed, at most `save_every` batches) are read again, but not computed.
  void set_epoch(std::int64_t epoch, std::int64_t first_batch = 0) {
    require<ArgumentError>(epoch >= 0 && first_batch >= 0, "stream loader: epoch ", epoch, " from batch ", first_batch,
                           " on does not exist");
    epoch_ = epoch;
    first_batch_ = first_batch;
  }

  /// The last place that was kept, before the next batch. To resume training, call restore(), then set_epoch().
  const StreamPlace& place() const { return *place_; }
  void restore(StreamPlace place) { *place_ = std::move(place); }

  PreparedBatches<Batch> begin() {
    const std::int64_t first = std::exchange(first_batch_, 0), epoch = epoch_++;
    const std::int64_t count = config_.batches ? std::max<std::int64_t>(*config_.batches - first, 0)
                                               : std::numeric_limits<std::int64_t>::max();
    auto make = count > 0 ? read_(*place_, epoch, first) : MakeBatch();
    return {std::make_unique<Prefetcher<Prepared>>(std::move(make), count, config_.workers, config_.prefetch), place_};
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  using Prepared = PreparedBatch<Batch>;
  using MakeBatch = std::function<Prepared(std::int64_t)>;

  /// What workers share: each in turn pulls a batch, and then computes it in parallel to the others.
  template <class T>
  struct Source {
    Source(const Stream<T>& stream, const StreamLoaderConfig& config) : reading(stream, config) {}
    std::mutex mutex;
    std::condition_variable turn;
    std::int64_t next = 0;
    bool ended = false;
    StreamReading<T> reading;
  };

  template <class T, class B>
  static Prepared make(Source<T>& source, const B& batcher, std::int64_t i) {
    Prepared made;
    std::optional<PulledBatch<T>> pulled;
    {
      std::unique_lock lock(source.mutex);
      source.turn.wait(lock, [&] { return source.next == i || source.ended; });
      if (source.ended) return made;
      try {
        pulled = source.reading.pull();
        if (pulled && source.reading.keeps()) made.after = std::make_shared<StreamPlace>(source.reading.place());
      } catch (...) {
        source.ended = true;
        source.turn.notify_all();
        throw;
      }
      ++source.next;
      source.ended = !pulled;
      source.turn.notify_all();
    }
    if (!pulled) return made;
    std::vector<T> items;
    std::vector<Key> keys;
    for (std::int64_t number = pulled->first; auto& item : pulled->items) {
      naming_stream_item(number, [&] { items.push_back(std::move(item).get()); });
      keys.push_back(pulled->keys.split(static_cast<std::uint64_t>(number++)));
    }
    if constexpr (KeyedBatcher<B, T>) made.batch = batcher(std::span<const T>(items), std::span<const Key>(keys));
    else made.batch = batcher(std::span<const T>(items));
    return made;
  }

  template <class T, class B>
  void read(Stream<T> stream, B batcher) {
    read_ = [stream, config = config_, batcher = std::make_shared<const B>(std::move(batcher))](
                const StreamPlace& place, std::int64_t epoch, std::int64_t batch) -> MakeBatch {
      auto source = std::make_shared<Source<T>>(stream, config);
      source->reading.seek(place, epoch, batch);
      return [source, batcher](std::int64_t i) { return make(*source, *batcher, i); };
    };
    count_ = [stream, config = config_](std::int64_t epoch) {
      StreamReading<T> reading(stream, config);
      reading.seek({}, epoch, 0);
      std::int64_t count = 0;
      while (reading.pull()) ++count;
      return count;
    };
  }

  StreamLoaderConfig config_;
  bool endless_;
  std::int64_t epoch_ = 0, first_batch_ = 0;
  std::shared_ptr<StreamPlace> place_ = std::make_shared<StreamPlace>();
  // An epoch and its number of batches, counted on demand.
  mutable std::optional<std::pair<std::int64_t, std::int64_t>> counted_;
  std::function<MakeBatch(const StreamPlace&, std::int64_t epoch, std::int64_t batch)> read_;
  std::function<std::int64_t(std::int64_t epoch)> count_;
};

/// StreamLoader(stream, batcher) has the batcher's result as its batches.
template <class T, class B>
StreamLoader(Stream<T>, B, StreamLoaderConfig = {}) -> StreamLoader<BatchMadeBy<B, T>>;

}  // namespace kiln
