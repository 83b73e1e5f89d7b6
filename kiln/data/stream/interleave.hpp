// A stream that takes items from several streams in turn: the shards of a data set.
#pragma once
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/data/permutation.hpp"
#include "kiln/data/stream/stream.hpp"

namespace kiln {

struct InterleaveConfig {
  std::int64_t at_once = 4;  // streams that are open; when one ends, the next is opened
  std::int64_t block = 1;    // items of one stream before the next one's turn
  bool shuffle = false;      // opens streams in a random order, by the key; otherwise in order
};

template <class T>
class InterleavingCursor final : public Cursor<T> {
 public:
  InterleavingCursor(std::shared_ptr<const std::vector<Stream<T>>> streams, const InterleaveConfig& config, Key key)
      : streams_(std::move(streams)), config_(config), key_(key.split(1)), order_(streams_->size()) {
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    if (config.shuffle) order_ = permutation(std::ssize(order_), key.split(0));
    while (opened_ < std::min<std::int64_t>(config.at_once, std::ssize(order_))) {
      open_.push_back(opened(opened_));
      ++opened_;
    }
  }

  std::optional<Lazy<T>> next() override {
    while (!open_.empty()) {
      if (given_ == config_.block) {
        given_ = 0;
        turn_ = (turn_ + 1) % open_.size();
      }
      if (auto item = open_[turn_].cursor->next()) return ++given_, std::move(item);
      given_ = 0;
      if (opened_ < std::ssize(order_)) {
        open_[turn_] = opened(opened_);
        ++opened_;
      } else {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(turn_));
        if (turn_ == open_.size()) turn_ = 0;
      }
    }
    return std::nullopt;
  }

  void save(wire::Writer& out) const override {
    save_stage(out, "interleaved");
    out.integer(opened_);
    out.integer(given_);
    out.integer(static_cast<std::int64_t>(turn_));
    out.integer(std::ssize(open_));
    for (const Opened& open : open_) {
      out.integer(open.place);
      open.cursor->save(out);
    }
  }
  void restore(wire::Reader& in) override {
    restore_stage(in, "interleaved");
    opened_ = restore_count(in, "the number of streams that were opened", 0, std::ssize(order_));
    given_ = restore_count(in, "the number of items given", 0, config_.block);
    const std::int64_t turn = in.integer();
    const std::int64_t open = restore_count(in, "the number of open streams", 0, opened_);
    require<DataError>(turn >= 0 && turn < std::max<std::int64_t>(open, 1), in.source(), ": stream ", turn,
                       " cannot be next of ", open);
    turn_ = static_cast<std::size_t>(turn);
    open_.clear();
    for (std::int64_t i = 0; i < open; ++i) {
      open_.push_back(opened(restore_count(in, "an open stream", 0, opened_ - 1)));
      open_.back().cursor->restore(in);
    }
  }

 private:
  struct Opened {
    std::int64_t place;  // in the order
    std::unique_ptr<Cursor<T>> cursor;
  };
  Opened opened(std::int64_t place) const {
    const auto index = static_cast<std::size_t>(order_[static_cast<std::size_t>(place)]);
    return {place, (*streams_)[index].open(key_.split(index))};
  }

  std::shared_ptr<const std::vector<Stream<T>>> streams_;
  InterleaveConfig config_;
  Key key_;
  std::vector<std::int64_t> order_;
  std::vector<Opened> open_;
  std::int64_t opened_ = 0, given_ = 0;
  std::size_t turn_ = 0;
};

/// The items of all streams, in turn, until each has ended. Throws ArgumentError.
template <class T>
Stream<T> interleaved(std::vector<Stream<T>> streams, const InterleaveConfig& config = {}) {
  require<ArgumentError>(config.at_once >= 1 && config.block >= 1, "interleaved: at_once ", config.at_once,
                         " and block ", config.block, " must be at least 1");
  bool endless = false;
  for (const auto& stream : streams) endless |= stream.endless();
  return Stream<T>(
      [streams = std::make_shared<const std::vector<Stream<T>>>(std::move(streams)), config](Key key)
          -> std::unique_ptr<Cursor<T>> { return std::make_unique<InterleavingCursor<T>>(streams, config, key); },
      endless);
}

}  // namespace kiln
