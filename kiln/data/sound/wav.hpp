// WAV files, read and written (Microsoft, IBM, "Multimedia programming interface and data specifications 1.0", 1991, and
// Microsoft's "Multiple channel audio data and WAVE files", 2007).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/tensor_data.hpp"

namespace kiln {

/// The samples of all channels at a time lie side by side; -1 to 1 is the loudest that whole numbers can say.
struct Sound {
  std::vector<float> samples;  // frames * channels of them
  std::int64_t channels = 1;
  std::int64_t rate = 16'000;  // frames a second

  std::int64_t frames() const { return channels > 0 ? std::ssize(samples) / channels : 0; }
};

/// `name` is what errors call the file. Whole numbers of 1 to 32 bits and floats of 32 and 64, also in an extensible format, for
/// any number of channels; a number n of b bits is n / 2^(b-1), rounded to float32, and one of 12 bits lies in the upper ones of
/// 16. Also RIFX, whose numbers have their highest byte first, and RF64 and BW64, the forms beyond 4 GB. Throws DataError for other
/// formats, and files that are damaged, cut off, or have more than `most_samples`.
Sound decode_wav(std::span<const std::byte> file, std::string_view name,
                 std::int64_t most_samples = std::int64_t{1} << 31);
/// Throws IoError as well.
Sound read_wav(const std::string& path);

enum class WavFormat { Pcm8, Pcm16, Pcm24, Pcm32, Float32, Float64 };

/// The bytes of a file. Whole numbers are the nearest, and the largest or smallest for samples beyond them; NaN is silence.
/// Throws ShapeError where the samples are no frames of the channels, ArgumentError for 0 or more than 65,535 channels, a rate
/// that is not 1 to 2^32 - 1, and what is longer than a file can say.
std::vector<std::byte> encode_wav(const Sound& sound, WavFormat format = WavFormat::Pcm16);
/// Replaces the file in one step. Throws IoError as well.
void write_wav(const Sound& sound, const std::string& path, WavFormat format = WavFormat::Pcm16);

struct LabelledSound {
  Sound sound;
  std::int64_t label = 0;
};

struct SoundBatch {
  TensorData samples;  // float32 [batch, channels, longest]; silence behind the shorter ones
  TensorData frames;   // int64 [batch]
  TensorData targets;  // int64 [batch]
  std::int64_t items() const { return targets.numel(); }
};
struct SoundBatcher {
  std::int64_t frames = 0;  // of each: longer sounds are cut off; 0: of the longest
  /// Throws ShapeError where there are no sounds, or not all have as many channels, ArgumentError where their rates differ.
  SoundBatch operator()(std::span<const LabelledSound> sounds) const;
};

}  // namespace kiln
