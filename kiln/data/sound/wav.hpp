// Reads and writes WAV files (Microsoft, IBM, "Multimedia programming interface and data specifications 1.0", 1991, and
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

/// The samples of all channels are interleaved; -1 to 1 is the range of integer formats.
struct Sound {
  std::vector<float> samples;  // frames * channels of them
  std::int64_t channels = 1;
  std::int64_t rate = 16'000;  // frames per second

  std::int64_t frames() const { return channels > 0 ? std::ssize(samples) / channels : 0; }
};

/// Decodes a file; `name` is used in errors. Supports integers of 1 to 32 bits and floats of 32 and 64, also in an
/// extensible format, for any number of channels; a b-bit number n becomes n / 2^(b-1), rounded to float32, and 12-bit
/// numbers are in the upper bits of 16. Also RIFX, with the highest byte first, and RF64 and BW64 for more than 4 GB.
/// Throws DataError for other formats, and files that are damaged, truncated, or have more than `most_samples`.
Sound decode_wav(std::span<const std::byte> file, std::string_view name,
                 std::int64_t most_samples = std::int64_t{1} << 31);
/// decode_wav() of a file. Throws IoError, too.
Sound read_wav(const std::string& path);

enum class WavFormat { Pcm8, Pcm16, Pcm24, Pcm32, Float32, Float64 };

/// The bytes of a file. Integers are rounded to nearest, with samples outside of the range clamped; NaN is silence.
/// Throws ShapeError if the samples are not whole frames, ArgumentError for 0 or more than 65,535 channels, a rate that
/// is not 1 to 2^32 - 1, and sounds that are too long for the format.
std::vector<std::byte> encode_wav(const Sound& sound, WavFormat format = WavFormat::Pcm16);
/// Replaces the file atomically. Also throws IoError.
void write_wav(const Sound& sound, const std::string& path, WavFormat format = WavFormat::Pcm16);

struct LabelledSound {
  Sound sound;
  std::int64_t label = 0;
};

struct SoundBatch {
  TensorData samples;  // float32 [batch, channels, longest]; padded with silence
  TensorData frames;   // int64 [batch]
  TensorData targets;  // int64 [batch]
  std::int64_t items() const { return targets.numel(); }
};
struct SoundBatcher {
  std::int64_t frames = 0;  // length of each sound: longer ones are cut; 0: that of the longest
  /// Throws ShapeError if there are no sounds, or their channels differ, ArgumentError if their rates differ.
  SoundBatch operator()(std::span<const LabelledSound> sounds) const;
};

}  // namespace kiln
