#include "kiln/data/stream/stream_loader.hpp"

#include "kiln/core/error/trace.hpp"

namespace kiln {

StreamLoaderConfig checked(const StreamLoaderConfig& config) {
  checked(LoaderConfig{.batch_size = config.batch_size, .workers = config.workers, .prefetch = config.prefetch});
  require<ArgumentError>(config.batches.value_or(1) >= 1 && config.save_every >= 1, "stream loader: batches ",
                         config.batches.value_or(1), " and save_every ", config.save_every, " must be at least 1");
  return config;
}

Json described(const StreamLoaderConfig& config) {
  Json::Object said{
      {"batch_size", Json{config.batch_size}}, {"seed", Json{config.seed}}, {"drop_last", Json{config.drop_last}}};
  if (config.batches) said.emplace_back("batches", Json{*config.batches});
  return Json{std::move(said)};
}

bool lies_before(const StreamPlace& place, std::int64_t epoch, std::int64_t batch, bool by_passes) {
  return place.epoch == epoch ? place.batch <= batch : !by_passes && place.epoch < epoch;
}

void naming_stream_item(std::int64_t item, FunctionRef<void()> get) {
  try {
    get();
  } catch (const Error& error) {
    raise(error.kind(), with_end(error.message(), text(" (item ", item, " of the stream)")));
  }
}

}  // namespace kiln
