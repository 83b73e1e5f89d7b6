// Event files for TensorBoard: `tensorboard --logdir run`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/data/image.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/log/growing_file.hpp"

namespace kiln {

/// Writes records in TensorBoard's format: protocol buffers (tensorflow/core/util/event.proto and
/// framework/summary.proto), each framed by its length and masked CRC-32C checksums (core/lib/io/record_writer.h). The
/// bytes of each call are handed to the system when it returns. Throws IoError.
class EventFile {
 public:
  /// Creates a new file in `directory`, and the directory if needed. Entries of other files there for steps from `step`
  /// on become invalid: they belong to an interrupted process.
  EventFile(const std::filesystem::path& directory, std::int64_t step);

  void scalar(std::string_view tag, double value, std::int64_t step);
  void text(std::string_view tag, std::string_view words, std::int64_t step);
  /// A histogram of values in `buckets` of equal width. Values that are not finite are left out.
  void histogram(std::string_view tag, std::span<const float> values, std::int64_t step, int buckets = 30);
  /// One that was counted already; nothing where it has no values.
  void histogram(std::string_view tag, const Histogram& histogram, std::int64_t step);
  void image(std::string_view tag, const PngPicture& picture, std::int64_t step);
  /// Throws what encode_png() throws.
  void image(std::string_view tag, const Image& image, std::int64_t step);

  /// The entry of a run on the "HParams" page: its configuration, with nested keys joined by dots and lists as text.
  /// `metrics` are tags of scalars.
  void hyper_parameters(const Json& configuration, std::span<const std::string> metrics);
  /// The end of the run, for the same page.
  void ended(bool success, std::int64_t step);

  const std::filesystem::path& path() const { return path_; }

 private:
  void hyper_parameter_event(std::string_view tag, std::string_view content, std::int64_t step);
  void event(std::int64_t step, std::string_view part);
  void summary(std::string_view value, std::int64_t step);

  std::filesystem::path path_;
  GrowingFile file_;
};

/// A callback: logs loss and rates of each `every`th step, every metric as "split/metric", histograms, pictures, and
/// matrices of metrics as images "split/metric/matrix", since TensorBoard takes one kind of data for a tag.
class TensorBoard {
 public:
  static constexpr bool kIsALog = true;
  /// `configuration` is shown as text.
  explicit TensorBoard(std::filesystem::path directory, std::string configuration = "", std::int64_t every = 1);
  /// Logs hyper-parameters, by which runs are compared, with these metrics: "valid/accuracy".
  TensorBoard& hyper_parameters(Json configuration, std::vector<std::string> metrics = {"valid/loss"});
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Distribution& values);
  void on(const training::Drawing& drawing);
  void on(const training::Message& note);
  void on(const training::RunEnd& ending);

 private:
  std::filesystem::path directory_;
  std::string configuration_;
  std::optional<Json> hyper_parameters_;
  std::vector<std::string> compared_;
  std::int64_t every_, step_ = 0;
  std::optional<EventFile> file_;
};

/// The Castagnoli CRC of 32 bits (RFC 3720, section 12.1).
std::uint32_t crc32c(std::string_view bytes);

}  // namespace kiln
