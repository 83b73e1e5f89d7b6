#include "kiln/train/ranks/team.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/ops/collective/collective.hpp"
#include "kiln/ops/collective/host.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/wire/fields.hpp"

namespace kiln::training {
namespace {

template <class T>
std::vector<T> gathered(const Ranks& ranks, std::string_view what, const T& own) {
  std::vector<T> all(static_cast<std::size_t>(ranks->size()));
  collective::all_gather(*ranks, what, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::string bytes_of(const TensorSource& record) {
  std::string bytes;
  write_record(record, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return bytes;
}

/// Opens a record in bytes that outlive it.
TensorSource record_of(const std::string& bytes, std::string name) {
  return open_record({std::as_bytes(std::span(bytes)), std::move(name), nullptr});
}

/// Sends a text from rank 0 to the others.
std::string told(const Ranks& ranks, std::string_view what, const std::string& text) {
  return std::move(collective::gather_texts(*ranks, what, ranks->rank() == 0 ? text : "")[0]);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in >> std::ws, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

Team::Team(Ranks ranks, Sharding sharding) : ranks_(std::move(ranks)), sharding_(sharding) {
  require<ArgumentError>(ranks_ != nullptr, "training: no communicator was given");
}

std::unique_ptr<Shards> Team::shard(OptimizerState& state, const nn::ModuleView& model) {
  auto shards = std::make_unique<Shards>(ranks_, state, model);
  slices_ = shards->layout();
  return shards;
}

void Team::require_same(const nn::ModuleView& model, std::string_view optimizer, const LearnerConfig& config,
                        std::initializer_list<const MetricList*> metrics) const {
  if (!several()) return;
  std::string own;
  visit_tensors(model, [&](const std::string& path, const Value& value) {
    own += text("the tensor ", path, ", ", value.dtype(), ' ', value.shape(), '\n');
  });
  own += text("the optimizer ", optimizer, '\n', "the sharding ", reflect::enumerator_name(sharding_), '\n',
              write_json(to_json(config)), '\n');
  for (const MetricList* const list : metrics) {
    own += list ? "measures\n" : "no validation\n";
    for (const std::string& name : list ? list->names() : std::vector<std::string>())
      own += text("the metric ", name, '\n');
  }
  const std::vector<std::string> all = collective::gather_texts(*ranks_, "training: configuration", own);
  const auto other = std::ranges::find_if(all, [&](const std::string& each) { return each != all[0]; });
  if (other == all.end()) return;
  const std::vector<std::string> first = lines_of(all[0]), second = lines_of(*other);
  const auto line = std::ranges::mismatch(first, second);
  const auto said = [](const auto& at, const std::vector<std::string>& in) { return at == in.end() ? "nothing" : *at; };
  fail<ConfigError>("training: ranks differ in their training: rank 0 has ", said(line.in1, first), ", and rank ",
                    other - all.begin(), " ", said(line.in2, second));
}

void Team::require_same_weights(const nn::ModuleView& model) const {
  if (!several()) return;
  std::uint64_t own = 0;
  visit_params(model, [&](const std::string&, const nn::AnyLeaf& param) {
    const TensorData data = param.value().data();
    const auto bytes = data.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      own = reflect::detail::mix(own, word);
    }
  });
  const std::vector<std::uint64_t> all = gathered(ranks_, "training: weights", own);
  const auto other = std::ranges::find_if(all, [&](std::uint64_t each) { return each != all[0]; });
  require<DataError>(other == all.end(), "training: the weights of rank ", other - all.begin(),
                     " are no longer those of rank 0: all ranks need the same optimizer and schedule, and processors "
                     "of a kind");
}

void Team::share(RecordedObjects& objects) const {
  if (!several()) return;
  const std::string bytes = told(ranks_, "training: state", leads() ? bytes_of(objects.snapshot({})) : "");
  if (!leads()) objects.restore(record_of(bytes, "what rank 0 has"), "what rank 0 has");
}

void Team::share_buffers(const nn::ModuleRef& model) const {
  if (!several()) return;
  const NoGrad pause;
  visit_buffers(model, [&](const std::string&, auto& buffer) { buffer.set(broadcast(buffer.value(), ranks_)); });
}

std::int64_t Team::most(std::int64_t number) const {
  if (!several()) return number;
  return std::ranges::max(gathered(ranks_, "training: batches", number));
}

Team::BatchShare Team::part(std::int64_t items) const {
  if (!several()) return {static_cast<double>(items), 1};
  std::int64_t all = 0;
  for (const std::int64_t each : gathered(ranks_, "training: items", items)) all += each;
  const double mean = static_cast<double>(all) / ranks_->size();
  return {mean, all > 0 ? static_cast<double>(items) / mean : 1};
}

Team::Batch Team::total(double loss, std::int64_t items) const {
  if (!several()) return {loss, items};
  Batch total;
  double sum = 0;
  for (const Batch& part : gathered(ranks_, "training: loss", Batch{loss, items})) {
    if (part.items == 0) continue;
    sum += part.loss * static_cast<double>(part.items);
    total.items += part.items;
  }
  total.loss = sum / static_cast<double>(total.items);
  return total;
}

GradientsParams Team::combined(GradientsParams grads, Combine how, const nn::ModuleView& model,
                               Buckets::Halves halves) const {
  if (!several()) return grads;
  Buckets all = buckets(how, model, halves);
  for (auto& [path, grad] : grads.by_path) all.add(path, std::exchange(grad, {}));
  return all.finish();
}

GradientsParams Team::mean(GradientsParams grads, std::int64_t items, const nn::ModuleView& model) const {
  if (!several()) return grads;
  if (const double weight = part(items).weight; weight != 1) grads = scaled(std::move(grads), weight);
  auto halves = Buckets::Halves::AsTheyAre;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    const Value* const grad = grads.find(path);
    if (grad && grad->dtype() != param.value().dtype()) halves = Buckets::Halves::InFloat32;
  });
  return combined(std::move(grads), Combine::Mean, model, halves);
}

ValueAndGrad<Value> Team::value_and_grad_of(const nn::ModuleView& model, std::int64_t items,
                                            FunctionRef<Value()> loss) const {
  if (!several()) return nn::value_and_grad(model, loss);
  Buckets all = buckets(Combine::Mean, model, Buckets::Halves::AsTheyAre);
  Value own;
  const auto weighted = [&] {
    const Value plain = loss();
    own = plain.detach();
    const double weight = part(items).weight;
    return weight == 1 ? plain : plain * weight;
  };
  (void)nn::differentiate(model, weighted, [&](const std::string& path, Value grad) { all.add(path, grad); });
  return {own, all.finish()};
}

std::vector<std::uint8_t> Team::places(const StreamPlace& own) const {
  if (!several()) return {};
  wire::Writer each;
  wire::write_field(each, own);
  const std::vector<std::byte> bytes = each.take();
  const std::vector<std::string> all = collective::gather_texts(
      *ranks_, "training: streams", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  wire::Writer together;
  wire::write_field(together, all);
  std::vector<std::uint8_t> packed;
  for (const std::byte byte : together.take()) packed.push_back(std::to_integer<std::uint8_t>(byte));
  return packed;
}

StreamPlace Team::own_place(const std::vector<std::uint8_t>& places, const StreamPlace& alone) const {
  if (!several()) return places.empty() ? alone : StreamPlace{};
  const std::string_view packed(reinterpret_cast<const char*>(places.data()), places.size());
  const std::string known = told(ranks_, "training: streams", std::string(packed));
  std::vector<std::string> all;
  if (!known.empty()) {
    wire::Reader reader("the places of streams", std::as_bytes(std::span(known)));
    wire::read_field(reader, all);
  }
  StreamPlace own;
  if (std::ssize(all) != ranks_->size()) return own;
  wire::Reader reader("the place in a stream", std::as_bytes(std::span(all[static_cast<std::size_t>(rank())])));
  wire::read_field(reader, own);
  return own;
}

void Team::gather(MetricList& metrics) const {
  if (!several()) return;
  // All ranks send, so that each knows who takes part; only rank 0 receives anything.
  const std::string own = leads() ? "" : bytes_of(metrics.snapshot());
  const std::vector<std::uint64_t> lengths = gathered(ranks_, "training: metrics", std::uint64_t{own.size()});
  const auto ranks = static_cast<std::size_t>(ranks_->size());
  Communicator::Pieces pieces(ranks);
  Communicator::Places places(ranks);
  pieces[0] = std::as_bytes(std::span(own));
  std::vector<std::string> states;
  if (leads())
    for (const std::uint64_t length : lengths) states.emplace_back(length, ' ');
  for (std::size_t rank = 0; rank < states.size(); ++rank)
    places[rank] = std::as_writable_bytes(std::span(states[rank]));
  ranks_->exchange("training: metrics", pieces, places);
  if (!leads()) return metrics.clear();
  for (std::size_t rank = 1; rank < ranks; ++rank)
    metrics.merge(record_of(states[rank], text("the metrics of rank ", rank)));
}

std::vector<Reading> Team::readings(MetricList& metrics) const {
  gather(metrics);
  std::vector<Reading> readings = metrics.readings();
  if (!several()) return readings;
  std::string said;  // for each: its value, whether it has words, and the lengths and letters of problem and words
  const auto put = [&](const auto& number) { said.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const Reading& reading : readings) {
    put(reading.value);
    put(std::uint64_t{reading.words.has_value()});
    for (const std::string& words : {reading.problem, reading.words.value_or("")}) {
      put(std::uint64_t{words.size()});
      said += words;
    }
  }
  said = told(ranks_, "training: readings", said);
  const char* at = said.data();
  const auto take = [&](void* to, std::size_t count) {
    std::memcpy(to, at, count);
    at += count;
  };
  for (Reading& reading : readings) {
    std::uint64_t length = 0, has_words = 0;
    std::string words;
    take(&reading.value, sizeof reading.value);
    take(&has_words, sizeof has_words);
    for (std::string* const to : {&reading.problem, &words}) {
      take(&length, sizeof length);
      to->assign(at, length);
      at += length;
    }
    reading.words = has_words ? std::optional(std::move(words)) : std::nullopt;
  }
  return readings;
}

bool Team::agree(TrainingRun& run, bool save, bool discard) const {
  if (!several()) return save && !discard;
  struct Wish {
    double seconds = 0;
    std::int64_t save = 0, stop = 0, discard = 0;
    char reason[224] = {};
  };
  Wish own{.seconds = run.at.seconds, .save = save, .stop = run.control().should_stop(), .discard = discard};
  const std::string reason = run.control().reason();
  reason.copy(own.reason, sizeof own.reason - 1);
  bool saves = false, discards = false;
  std::optional<std::string> stop;
  const std::vector<Wish> wishes = gathered(ranks_, "training: end of a step", own);
  for (const Wish& wish : wishes) {
    saves = saves || wish.save;
    discards = discards || wish.discard;
    if (wish.stop && !stop) stop = wish.reason;
  }
  run.agree(wishes[0].seconds, std::move(stop));
  return saves && !discards;
}

}  // namespace kiln::training
