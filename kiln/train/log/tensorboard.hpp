// Event files that TensorBoard shows: `tensorboard --logdir run`.
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

/// Writes records of TensorBoard's format: protocol buffers (tensorflow/core/util/event.proto and
/// framework/summary.proto), each framed by its length and masked CRC-32C checksums (core/lib/io/record_writer.h). Each
/// call's bytes are on their way to the disk when it returns. Throws IoError.
class EventFile {
 public:
  /// A new file in `directory`, which is made if need be. What other files there say of steps from `step` on no longer
  /// counts: a training that was killed takes it back.
  EventFile(const std::filesystem::path& directory, std::int64_t step);

  void scalar(std::string_view tag, double value, std::int64_t step);
  void text(std::string_view tag, std::string_view words, std::int64_t step);
  /// How values are spread: `buckets` of equal width. Values that are no finite numbers are left out.
  void histogram(std::string_view tag, std::span<const float> values, std::int64_t step, int buckets = 30);
  /// Throws what encode_png() does.
  void image(std::string_view tag, const Image& image, std::int64_t step);

  /// What the "HParams" page shows of a run: its configuration, of which nested keys are joined by dots and lists are texts.
  /// Metrics are scalars of these tags.
  void hyper_parameters(const Json& configuration, std::span<const std::string> metrics);
  /// The run's end, for the same page.
  void ended(bool success, std::int64_t step);

  const std::filesystem::path& path() const { return path_; }

 private:
  void hyper_parameter_event(std::string_view tag, std::string_view content, std::int64_t step);
  void event(std::int64_t step, std::string_view part);
  void summary(std::string_view value, std::int64_t step);

  std::filesystem::path path_;
  GrowingFile file_;
};

/// A callback: loss and rates of each `every`th step, and every metric as "split/metric".
class TensorBoard {
 public:
  static constexpr bool kIsALog = true;
  /// `configuration`, as text, is shown among the texts.
  explicit TensorBoard(std::filesystem::path directory, std::string configuration = "", std::int64_t every = 1);
  /// Hyper-parameters, by which runs are compared, with these of the metrics: "valid/accuracy".
  TensorBoard& hyper_parameters(Json configuration, std::vector<std::string> metrics = {"valid/loss"});
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Note& note);
  void on(const training::Ending& ending);

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
