#include "kiln/train/log/tensorboard.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <system_error>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

template <class T>
std::string little_endian(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> 8 * i & 0xff);
  return bytes;
}

// Protocol buffers: a field is its number and kind, followed by a varint, eight or four bytes, or a length and bytes.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes += static_cast<char>(number);
}
std::string field(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
std::string field(int number, double value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string field(int number, float value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}
std::string field(int number, std::string_view bytes) {
  std::string out = varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size());
  return out += bytes;
}
std::string packed(int number, const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += little_endian(std::bit_cast<std::uint64_t>(value));
  return field(number, bytes);
}

std::uint32_t masked(std::uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8u; }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
      made[i] = crc;
    }
    return made;
  }();
  std::uint32_t crc = 0xffff'ffffu;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& directory, std::int64_t step) {
  static std::atomic<int> number{0};
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
  path_ = directory / kiln::text("events.out.tfevents.", now, '.', host, '.', ::getpid(), '.', number++);
  file_.open(path_, false);
  event(0, field(3, std::string_view("brain.Event:2")));
  event(step, field(7, field(1, std::uint64_t{1})));  // a session starts
}

void EventFile::event(std::int64_t step, std::string_view part) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string data = field(1, now) + field(2, static_cast<std::uint64_t>(step)) + std::string(part);
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  file_.append(length + little_endian(masked(crc32c(length))) + data + little_endian(masked(crc32c(data))));
}

void EventFile::summary(std::string_view value, std::int64_t step) { event(step, field(5, field(1, value))); }

void EventFile::scalar(std::string_view tag, double value, std::int64_t step) {
  summary(field(1, tag) + field(2, static_cast<float>(value)), step);
}

void EventFile::text(std::string_view tag, std::string_view words, std::int64_t step) {
  constexpr std::uint64_t kString = 7;
  const std::string tensor = field(1, kString) + field(2, field(2, field(1, std::uint64_t{1}))) + field(8, words);
  summary(field(1, tag) + field(8, tensor) + field(9, field(1, field(1, std::string_view("text")))), step);
}

void EventFile::histogram(std::string_view tag, std::span<const float> values, std::int64_t step, int buckets) {
  require<ArgumentError>(buckets >= 1, "event file: a histogram of ", buckets, " buckets");
  std::vector<double> finite;
  for (const float value : values)
    if (std::isfinite(value)) finite.push_back(value);
  if (finite.empty()) return;
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  const double width = std::max((*most - *least) / buckets, 1e-12);
  std::vector<double> limits, counts(static_cast<std::size_t>(buckets));
  for (int i = 1; i <= buckets; ++i)
    limits.push_back(i < buckets ? *least + i * width : std::max(*most, *least + i * width));
  double sum = 0, squares = 0;
  for (const double value : finite) {
    const auto bucket = std::min(static_cast<int>((value - *least) / width), buckets - 1);
    ++counts[static_cast<std::size_t>(bucket)];
    sum += value;
    squares += value * value;
  }
  const std::string histogram = field(1, *least) + field(2, *most) + field(3, static_cast<double>(finite.size())) +
                                field(4, sum) + field(5, squares) + packed(6, limits) + packed(7, counts);
  summary(field(1, tag) + field(5, histogram), step);
}

void EventFile::histogram(std::string_view tag, const Histogram& values, std::int64_t step) {
  if (values.counts.empty()) return;
  const std::vector<double> limits(values.edges.begin() + 1, values.edges.end());
  const std::string content = field(1, values.edges.front()) + field(2, values.edges.back()) +
                              field(3, values.count()) + field(4, values.sum) + field(5, values.squares) +
                              packed(6, limits) + packed(7, values.counts);
  summary(field(1, tag) + field(5, content), step);
}

void EventFile::image(std::string_view tag, const PngPicture& picture, std::int64_t step) {
  const std::string part = field(1, static_cast<std::uint64_t>(picture.height)) +
                           field(2, static_cast<std::uint64_t>(picture.width)) +
                           field(3, static_cast<std::uint64_t>(picture.channels)) + field(4, picture.bytes);
  summary(field(1, tag) + field(4, part), step);
}
void EventFile::image(std::string_view tag, const Image& image, std::int64_t step) {
  EventFile::image(tag, png_of(image), step);
}

namespace {

/// google.protobuf.Value; a list becomes its JSON text, since HParams has no lists.
std::string value_of(const Json& json) {
  if (std::holds_alternative<std::nullptr_t>(json.is)) return field(1, std::uint64_t{0});
  if (const auto* const flag = std::get_if<bool>(&json.is)) return field(4, static_cast<std::uint64_t>(*flag));
  if (const auto* const number = std::get_if<double>(&json.is)) return field(2, *number);
  if (const auto* const number = std::get_if<std::int64_t>(&json.is)) return field(2, static_cast<double>(*number));
  if (const auto* const number = std::get_if<std::uint64_t>(&json.is)) return field(2, static_cast<double>(*number));
  if (const auto* const word = std::get_if<std::string>(&json.is)) return field(3, *word);
  std::string written = write_json(json);
  std::erase(written, '\n');
  return field(3, written);
}

/// Calls use(path, value) for each value that is not an object.
template <class Use>
void for_each_leaf(const Json& json, const std::string& path, Use use) {
  const auto* const object = std::get_if<Json::Object>(&json.is);
  if (!object) return use(path, json);
  for (const auto& [key, value] : *object) for_each_leaf(value, path.empty() ? key : text(path, '.', key), use);
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

// Messages of tensorboard/plugins/hparams (plugin_data.proto, api.proto), each in a summary with an empty tensor.
void EventFile::hyper_parameter_event(std::string_view tag, std::string_view content, std::int64_t step) {
  constexpr std::uint64_t kFloat = 1, kTensors = 2;
  const std::string plugin = field(1, std::string_view("hparams")) + field(2, content);
  const std::string nothing =
      field(1, kFloat) + field(2, std::string_view()) + field(5, little_endian(std::uint32_t{0}));
  summary(field(1, tag) + field(8, nothing) + field(9, field(1, plugin) + field(4, kTensors)), step);
}

void EventFile::hyper_parameters(const Json& configuration, std::span<const std::string> metrics) {
  std::string infos, values;
  for_each_leaf(configuration, "", [&](const std::string& path, const Json& value) {
    infos += field(4, field(1, path));
    values += field(1, field(1, path) + field(2, value_of(value)));
  });
  for (const std::string& metric : metrics) infos += field(5, field(1, field(2, metric)));
  hyper_parameter_event("_hparams_/experiment", field(2, infos), 0);
  hyper_parameter_event("_hparams_/session_start_info", field(3, values + field(5, now())), 0);
}

void EventFile::ended(bool success, std::int64_t step) {
  const std::uint64_t status = success ? 1 : 2;  // STATUS_SUCCESS, STATUS_FAILURE
  hyper_parameter_event("_hparams_/session_end_info", field(4, field(1, status) + field(2, now())), step);
}

TensorBoard::TensorBoard(std::filesystem::path directory, std::string configuration, std::int64_t every)
    : directory_(std::move(directory)), configuration_(std::move(configuration)), every_(every) {
  require<ArgumentError>(every >= 1, "tensorboard: every is ", every, ", it must be at least 1");
}

TensorBoard& TensorBoard::hyper_parameters(Json configuration, std::vector<std::string> metrics) {
  hyper_parameters_ = std::move(configuration);
  compared_ = std::move(metrics);
  return *this;
}

void TensorBoard::on(const training::Begin& begin) {
  step_ = begin.at.step;
  file_.emplace(directory_, step_ + 1);
  if (!configuration_.empty() && step_ == 0) file_->text("configuration", "```\n" + configuration_ + "\n```", 0);
  if (hyper_parameters_ && step_ == 0) file_->hyper_parameters(*hyper_parameters_, compared_);
}

void TensorBoard::on(const training::Step& step) {
  step_ = step.at.step;
  if (!file_ || step_ % every_ != 0) return;
  file_->scalar("step/loss", step.loss, step_);
  for (std::size_t i = 0; i < step.rates.size(); ++i)
    file_->scalar("step/" + training::rate_name(i), step.rates[i], step_);
}

void TensorBoard::on(const training::Evaluation& evaluation) {
  if (!file_) file_.emplace(directory_, 0);
  for (const Reading& reading : evaluation.readings)
    if (reading.words) file_->text(evaluation.split + '/' + reading.name, *reading.words, evaluation.at.step);
    else file_->scalar(evaluation.split + '/' + reading.name, reading.value, evaluation.at.step);
  for (const Reading& reading : evaluation.readings)
    if (reading.matrix)
      file_->image(evaluation.split + '/' + reading.name + "/matrix", image_of(*reading.matrix), evaluation.at.step);
}

void TensorBoard::on(const training::Distribution& values) {
  if (file_) file_->histogram(values.name, values.histogram, values.at.step);
}

void TensorBoard::on(const training::Drawing& drawing) {
  if (file_) file_->image(drawing.name, drawing.picture, drawing.at.step);
}

void TensorBoard::on(const training::Message& note) {
  if (file_) file_->text("notes", note.text, step_);
}

void TensorBoard::on(const training::RunEnd& ending) {
  if (file_ && hyper_parameters_) file_->ended(true, ending.at.step);
}

}  // namespace kiln
