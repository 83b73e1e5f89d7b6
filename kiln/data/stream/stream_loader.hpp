// Goes through a stream in batches, prepared ahead by worker threads:
//
//   StreamLoader loader(texts, batcher, {.batch_size = 32, .seed = 7, .workers = 4, .batches = 1000});
//   for (auto& batch : loader) ...
//
// Each such loop is one epoch: a pass through the stream, or a number of batches, where the next epoch goes on behind them and a
// stream that ends begins anew. What a batch holds depends on (seed, epoch, position) alone, whatever the number of workers.
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
#include "kiln/data/prefetch.hpp"
#include "kiln/data/stream/place.hpp"
#include "kiln/data/stream/stream.hpp"

namespace kiln {

struct StreamLoaderConfig {
  std::int64_t batch_size = 32;
  std::uint64_t seed = 0;                 // decides orders and the keys that a batcher draws from
  int workers = 0;                        // threads that prepare batches; with none, the loop's own thread does
  int prefetch = 4;                       // batches prepared ahead of the one in use, at least one for each worker
  bool drop_last = false;                 // leave out a last batch of a pass that is smaller than the others
  std::optional<std::int64_t> batches{};  // of an epoch; otherwise an epoch is a pass
  std::int64_t save_every = 100;          // batches from one place that is kept for a resumed training to the next
};

/// The configuration itself. Throws ArgumentError where it makes no sense.
StreamLoaderConfig checked(const StreamLoaderConfig& config);

/// What decides which items batches hold, but for the stream itself; see described() of a LoaderConfig.
Json described(const StreamLoaderConfig& config);

/// Can a loader that is to begin with this batch begin at `place`, and go on from there?
bool lies_before(const StreamPlace& place, std::int64_t epoch, std::int64_t batch, bool by_passes);

/// Calls `get`; an error of Kiln's that comes out of it ends with which item of the stream it was about.
void naming_stream_item(std::int64_t item, FunctionRef<void()> get);

/// The items of one batch, not yet made.
template <class T>
struct PulledBatch {
  std::vector<Late<T>> items;
  std::int64_t first = 0;  // of the pass
  Key keys{};              // of which each item has one by its number
};

/// Cuts the passes of a stream into batches.
template <class T>
class StreamReading {
 public:
  StreamReading(Stream<T> stream, const StreamLoaderConfig& config) : stream_(std::move(stream)), config_(config) {}

  /// Makes batch `batch` of `epoch` the next one, from `place` on if that lies before it.
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

  /// The next batch of the epoch; nothing behind the last one. Throws DataError where an epoch has a number of batches, and the
  /// stream has none.
  std::optional<PulledBatch<T>> pull() {
    for (;;) {
      const std::int64_t first = at_.items;
      PulledBatch<T> batch{{}, first, key().split(0)};
      while (std::ssize(batch.items) < config_.batch_size) {
        std::optional<Late<T>> item;
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
      require<DataError>(first > 0, "stream loader: the stream has not one batch of ", config_.batch_size, " items");
      at_.items = 0;
      ++at_.pass;
      cursor_ = stream_.open(key().split(1));
    }
  }

  /// Whether the place is to be kept.
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

/// Batches of a stream, an input range. An error comes out of the loop at the batch it belongs to, and says the item.
template <class Batch>
class StreamLoader {
 public:
  /// Throws ArgumentError on a configuration that makes no sense.
  template <class T, Batcher<T> B>
  StreamLoader(Stream<T> stream, B batcher, const StreamLoaderConfig& config = {})
      : config_(checked(config)), endless_(stream.endless()) {
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

  /// Batches in the epoch that the next loop goes through. Where the configuration does not say, the stream is gone through for
  /// it, without making items: once for each epoch. Throws ArgumentError where that would not end.
  std::int64_t size() const {
    if (config_.batches) return *config_.batches;
    require<ArgumentError>(!endless_, "stream loader: the stream has no end: say how many `batches` are an epoch");
    if (!counted_ || counted_->first != epoch_) counted_.emplace(epoch_, count_(epoch_));
    return counted_->second;
  }
  /// See described().
  Json description() const { return described(config_); }
  std::int64_t epoch() const { return epoch_; }
  /// Lets the next loop be epoch `epoch`, from batch `first_batch` on. What lies between that and a place that is known, at most
  /// `save_every` batches before it in a training that goes on, is read once more, but not made.
  void set_epoch(std::int64_t epoch, std::int64_t first_batch = 0) {
    require<ArgumentError>(epoch >= 0 && first_batch >= 0, "stream loader: epoch ", epoch, " from batch ", first_batch,
                           " on does not exist");
    epoch_ = epoch;
    first_batch_ = first_batch;
  }

  /// The last place that was kept, before the next batch. A training that goes on calls restore(), then set_epoch().
  const StreamPlace& place() const { return *place_; }
  void restore(StreamPlace place) { *place_ = std::move(place); }

  class Iterator;
  Iterator begin() {
    const std::int64_t first = std::exchange(first_batch_, 0), epoch = epoch_++;
    const std::int64_t count = config_.batches ? std::max<std::int64_t>(*config_.batches - first, 0)
                                               : std::numeric_limits<std::int64_t>::max();
    auto make = count > 0 ? read_(*place_, epoch, first) : MakeBatch();
    return Iterator(std::make_unique<Prefetcher<Made>>(std::move(make), count, config_.workers, config_.prefetch),
                    place_);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct Made {
    std::optional<Batch> batch;  // nothing behind the last one
    std::shared_ptr<StreamPlace> behind{};
  };
  using MakeBatch = std::function<Made(std::int64_t)>;

 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Batch& operator*() const { return *batch_; }
    Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      std::optional<Made> made = batches_->next();
      batch_ = made ? std::move(made->batch) : std::nullopt;
      if (made && made->behind) *place_ = std::move(*made->behind);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    friend StreamLoader;
    Iterator(std::unique_ptr<Prefetcher<Made>> batches, std::shared_ptr<StreamPlace> place)
        : batches_(std::move(batches)), place_(std::move(place)) {
      ++*this;
    }
    std::unique_ptr<Prefetcher<Made>> batches_;
    std::shared_ptr<StreamPlace> place_;
    mutable std::optional<Batch> batch_;
  };

 private:
  /// What workers share: each in its turn pulls a batch, which it then makes beside the others.
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
  static Made make(Source<T>& source, const B& batcher, std::int64_t i) {
    Made made;
    std::optional<PulledBatch<T>> pulled;
    {
      std::unique_lock lock(source.mutex);
      source.turn.wait(lock, [&] { return source.next == i || source.ended; });
      if (source.ended) return made;
      try {
        pulled = source.reading.pull();
        if (pulled && source.reading.keeps()) made.behind = std::make_shared<StreamPlace>(source.reading.place());
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

  StreamLoaderConfig config_;
  bool endless_;
  std::int64_t epoch_ = 0, first_batch_ = 0;
  std::shared_ptr<StreamPlace> place_ = std::make_shared<StreamPlace>();
  mutable std::optional<std::pair<std::int64_t, std::int64_t>> counted_;  // of an epoch, once asked for
  std::function<MakeBatch(const StreamPlace&, std::int64_t epoch, std::int64_t batch)> read_;
  std::function<std::int64_t(std::int64_t epoch)> count_;
};

/// StreamLoader(stream, batcher) makes the batches that the batcher returns.
template <class T, PlainBatcher<T> B>
StreamLoader(Stream<T>, B, StreamLoaderConfig = {}) -> StreamLoader<std::invoke_result_t<const B&, std::span<const T>>>;
template <class T, KeyedBatcher<T> B>
StreamLoader(Stream<T>, B, StreamLoaderConfig = {})
    -> StreamLoader<std::invoke_result_t<const B&, std::span<const T>, std::span<const Key>>>;

}  // namespace kiln
