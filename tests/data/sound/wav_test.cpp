#include "kiln/data/sound/wav.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/data/damaged.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;
using Bytes = std::vector<std::byte>;
using Samples = std::vector<float>;

// Written by wav_figures.py.
constexpr std::string_view kPcm8 =
    "524946462a00000057415645666d74201000000001000200401f0000803e00000200080064617461060000000080ff40817f";
constexpr std::string_view kPcm16 =
    "524946463000000057415645666d74201000000001000200401f0000007d000004001000646174610c00000000800000ff7f0100ffff0040";
constexpr std::string_view kPcm24 =
    "524946463600000057415645666d74201000000001000200401f000080bb0000060018006461746112000000000080000000ffff7f010000ff"
    "ffff000040";
constexpr std::string_view kPcm32 =
    "524946463c00000057415645666d74201000000001000200401f000000fa000008002000646174611800000000000080000000000000004000"
    "01000000ffffff00000060";
constexpr std::string_view kFloat32 =
    "524946463e00000057415645666d7420120000000300010044ac000010b10200040020000000666163740400000003000000646174610c0000"
    "000000003f0000a0bf08e53c1e";
constexpr std::string_view kFloat64 =
    "524946465200000057415645666d7420120000000300020044ac000040c40a0010004000000066616374040000000200000064617461200000"
    "00000000000000e03f000000000000f4bf9a9999999999b93f0000000000000840";

Bytes bytes_of(std::string_view digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return bytes;
}
Sound decoded(const Bytes& bytes) { return decode_wav(bytes, "t.wav"); }

TEST(Wav, ReadsWhatOthersWrite) {
  for (const auto& [file, samples] : {
           std::pair(kPcm8, Samples{-1, 0, 127.0f / 128, -0.5f, 1.0f / 128, -1.0f / 128}),
           std::pair(kPcm16, Samples{-1, 0, 32767.0f / 32768, 1.0f / 32768, -1.0f / 32768, 0.5f}),
           std::pair(kPcm24, Samples{-1, 0, 8388607.0f / 8388608, 1.0f / 8388608, -1.0f / 8388608, 0.5f}),
           std::pair(kPcm32, Samples{-1, 0, 0.5f, 0x1p-23f, -0x1p-23f, 0.75f}),
       }) {
    const Sound sound = decoded(bytes_of(file));
    EXPECT_EQ(sound.samples, samples);
    EXPECT_EQ(sound.channels, 2);
    EXPECT_EQ(sound.rate, 8000);
    EXPECT_EQ(sound.frames(), 3);
  }
  const Sound mono = decoded(bytes_of(kFloat32)), stereo = decoded(bytes_of(kFloat64));
  EXPECT_EQ(mono.samples, (Samples{0.5f, -1.25f, 1e-20f}));
  EXPECT_TRUE(mono.channels == 1 && mono.rate == 44100);
  EXPECT_EQ(stereo.samples, (Samples{0.5f, -1.25f, 0.1f, 3}));
  EXPECT_EQ(stereo.channels, 2);
}

TEST(Wav, WritesWhatOthersWrite) {
  for (const auto& [file, format] : {std::pair(kPcm8, WavFormat::Pcm8), std::pair(kPcm16, WavFormat::Pcm16),
                                     std::pair(kPcm24, WavFormat::Pcm24), std::pair(kPcm32, WavFormat::Pcm32)})
    EXPECT_EQ(encode_wav(decoded(bytes_of(file)), format), bytes_of(file));
  for (const WavFormat format : {WavFormat::Float32, WavFormat::Float64}) {
    const Sound sound{{0.1f, -7, 1e-30f, 0, 0.25f, 1}, 3, 22'050};
    const Sound back = decoded(encode_wav(sound, format));
    EXPECT_EQ(back.samples, sound.samples);
    EXPECT_TRUE(back.channels == 3 && back.rate == 22'050);
  }
}

TEST(Wav, KeepsToWhatWholeNumbersCanSay) {
  const float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const Sound loud{{1, 2, -3, kInfinity, kNan}, 1, 8000};
  EXPECT_EQ(decoded(encode_wav(loud)).samples, (Samples{32767.0f / 32768, 32767.0f / 32768, -1, 32767.0f / 32768, 0}));
  // An odd number of bytes is followed by one that counts for none.
  const Bytes odd = encode_wav({{0, 0.5f, -0.5f}, 1, 8000}, WavFormat::Pcm8);
  EXPECT_EQ(odd.size(), 48u);
  EXPECT_EQ(decoded(odd).samples, (Samples{0, 0.5f, -0.5f}));
}

/// `file` with another number of `count` bytes at `at`.
Bytes with(Bytes file, std::size_t at, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) file[at + static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> 8 * i);
  return file;
}

TEST(Wav, ReadsExtensibleFormatsAndSkipsWhatItDoesNotKnow) {
  // 24 bits in an extensible format of 40 bytes, and a part of three bytes, and one behind it, before it.
  const Bytes plain = bytes_of(kPcm24);
  Bytes file = bytes_of(
      "52494646000000005741564549443320030000006162630066"
      "6d742028000000");
  Bytes format(plain.begin() + 20, plain.begin() + 36);
  format[0] = std::byte{0xfe}, format[1] = std::byte{0xff};
  file.insert(file.end(), format.begin(), format.end());
  const Bytes guid = bytes_of(
      "1600"
      "1800"
      "03000000"
      "0100000000001000800000aa00389b71");
  file.insert(file.end(), guid.begin(), guid.end());
  file.insert(file.end(), plain.begin() + 36, plain.end());
  EXPECT_EQ(decoded(file).samples, decoded(plain).samples);
  EXPECT_EQ(raised<DataError>([&] { decoded(with(file, 12 + 12 + 8 + 38, 0, 1)); }),
            "t.wav: is a WAV file of format 65534, which is not supported: PCM (1) and floats (3) are");
  // From a pipe, whose writer did not know the length.
  EXPECT_EQ(decoded(with(plain, 40, 0xffffffff, 4)).samples, decoded(plain).samples);
}

/// Of one channel, by what holds a number and the bits of it that count; numbers as `highest_first` says.
Bytes wav_of(std::uint64_t bits, const std::vector<std::int64_t>& samples, std::string_view mark = "RIFF") {
  const std::uint64_t held = (bits + 7) / 8;
  const bool highest_first = mark == "RIFX", large = mark == "RF64" || mark == "BW64";
  Bytes file;
  const auto put = [&](std::uint64_t value, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i)
      file.push_back(static_cast<std::byte>(value >> 8 * (highest_first ? bytes - 1 - i : i)));
  };
  const auto letters = [&](std::string_view text) {
    for (const char c : text) file.push_back(static_cast<std::byte>(c));
  };
  letters(mark), put(large ? 0xffffffff : 0, 4), letters("WAVE");
  if (large) {
    letters("ds64"), put(40, 4), put(0, 8), put(held * samples.size(), 8), put(samples.size(), 8), put(1, 4);
    letters("note"), put(6, 8);
    letters("note"), put(0xffffffff, 4), letters("behind");
  }
  letters("fmt "), put(16, 4), put(1, 2), put(1, 2), put(8000, 4), put(8000 * held, 4), put(held, 2), put(bits, 2);
  letters("data"), put(large ? 0xffffffff : held * samples.size(), 4);
  // In the upper bits; those of a byte have no sign.
  for (const std::int64_t sample : samples)
    put(static_cast<std::uint64_t>(sample) << (8 * held - bits) ^ (held == 1 ? 0x80 : 0), held);
  return file;
}

TEST(Wav, ReadsAnyNumberOfBits) {
  for (std::uint64_t bits = 2; bits <= 32; ++bits) {
    const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
    const Sound sound = decoded(wav_of(bits, {-most - 1, 0, most, 1, -1}));
    const double scale = std::ldexp(1.0, 1 - static_cast<int>(bits));
    const auto value = [&](std::int64_t n) { return static_cast<float>(static_cast<double>(n) * scale); };
    EXPECT_EQ(sound.samples, (Samples{-1, 0, value(most), value(1), value(-1)})) << bits;
  }
}

TEST(Wav, ReadsTheFormsForLargeFilesAndForTheOtherOrderOfBytes) {
  for (const std::string_view mark : {"RIFF", "RF64", "BW64", "RIFX"})
    for (const std::uint64_t bits : {8u, 12u, 16u, 24u, 32u}) {
      const Sound sound = decoded(wav_of(bits, {1, -2, 3}, mark));
      EXPECT_EQ(sound.rate, 8000) << mark;
      const float one = std::ldexp(1.0f, 1 - static_cast<int>(bits));
      EXPECT_EQ(sound.samples, (Samples{one, -2 * one, 3 * one})) << mark << ", " << bits;
    }
  const Bytes large = wav_of(16, {1, 2}, "RF64");
  const auto refused = [](const Bytes& bytes) { return raised<DataError>([&] { decoded(bytes); }).substr(7); };
  EXPECT_EQ(refused(with(large, 28, 1 << 20, 8)).find("is a damaged WAV file, or cut off: a part of 1048576 bytes"),
            0u);
  EXPECT_EQ(refused(with(large, 44, 2, 4)), "is a damaged WAV file: 2 large sizes in 40 bytes");
  EXPECT_EQ(refused(with(large, 16, 20, 4)).find("is a damaged WAV file: its large sizes have 20 bytes"), 0u);
}

TEST(Wav, SaysWhatIsWrong) {
  const Bytes sound = bytes_of(kPcm16);
  const auto refused = [](const Bytes& bytes) { return raised<DataError>([&] { decoded(bytes); }).substr(7); };
  EXPECT_EQ(refused({}), "is no WAV file");
  EXPECT_EQ(refused(with(sound, 8, 'X', 1)), "is no WAV file");
  EXPECT_EQ(refused(Bytes(sound.begin(), sound.begin() + 36)), "is a damaged WAV file, or cut off: it has no data");
  EXPECT_EQ(refused(Bytes(sound.begin(), sound.end() - 1)),
            "is a damaged WAV file, or cut off: a part of 12 bytes begins at byte 36 of 55");
  EXPECT_EQ(refused(with(sound, 20, 7, 2)),
            "is a WAV file of format 7, which is not supported: PCM (1) and floats (3) are");
  EXPECT_EQ(refused(with(sound, 34, 33, 2)), "is a WAV file of whole numbers of 33 bits, which are not supported");
  EXPECT_EQ(refused(with(sound, 34, 0, 2)), "is a WAV file of whole numbers of 0 bits, which are not supported");
  EXPECT_EQ(refused(with(with(sound, 22, 0, 2), 32, 0, 2)),
            "is a damaged WAV file of 0 channels and 8000 frames a second");
  EXPECT_EQ(refused(with(sound, 32, 3, 2)),
            "is a damaged WAV file: a frame has 3 bytes, not those of 2 channels of 16 bits");
  EXPECT_EQ(refused(with(sound, 40, 10, 4)), "is a damaged WAV file: 10 bytes are no frames of 4 bytes each");
  EXPECT_EQ(refused(with(sound, 12, 'x', 1)), "is a damaged WAV file: its format does not stand before its data");
  EXPECT_EQ(raised<DataError>([&] { decode_wav(sound, "t.wav", 5); }),
            "t.wav: has 6 samples, more than the 5 that are allowed");
  EXPECT_EQ(raised<ArgumentError>([] { encode_wav({{}, 0, 8000}); }), "write_wav: 0 channels of 8000 frames a second");
  EXPECT_EQ(raised<ShapeError>([] { encode_wav({{1, 2, 3}, 2, 8000}); }),
            "write_wav: 3 samples are no frames of 2 channels");
  EXPECT_THROW(encode_wav({{}, 40'000, 8000}), ArgumentError);  // a frame has more bytes than the file can say
}

TEST(Wav, ReadsOrRefusesDamagedFiles) {
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    try {
      const Sound sound = decoded(test::damaged(bytes_of(seed % 2 ? kPcm24 : kFloat64), random));
      EXPECT_EQ(std::ssize(sound.samples), sound.frames() * sound.channels);
      ++read;
    } catch (const DataError&) { ++refused; }
  }
  EXPECT_GT(read, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(SoundBatcher, PadsWithSilence) {
  const std::vector<LabelledSound> sounds = {{{{1, 2, 3, 4, 5, 6}, 2, 8000}, 4}, {{{7, 8}, 2, 8000}, 9}};
  const SoundBatch batch = SoundBatcher{}(sounds);
  EXPECT_EQ(batch.samples.shape(), (Shape{2, 2, 3}));
  const auto samples = batch.samples.as<float>();
  EXPECT_EQ(Samples(samples.begin(), samples.end()), (Samples{1, 3, 5, 2, 4, 6, 7, 0, 0, 8, 0, 0}));
  EXPECT_EQ(batch.frames.as<std::int64_t>()[1], 1);
  EXPECT_EQ(batch.targets.as<std::int64_t>()[1], 9);
  const SoundBatch cut = SoundBatcher{.frames = 2}(sounds);
  EXPECT_EQ(cut.samples.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(cut.frames.as<std::int64_t>()[0], 2);
  EXPECT_EQ(raised<ShapeError>([] { SoundBatcher{}({}); }), "sound batch: a batch needs at least one sound");
  const std::vector<LabelledSound> mixed = {{{{1}, 1, 8000}, 0}, {{{1}, 1, 16'000}, 0}};
  EXPECT_EQ(raised<ArgumentError>([&] { SoundBatcher{}(mixed); }),
            "sound batch: sound 1 has 16000 frames a second, the first 8000");
}

}  // namespace
}  // namespace kiln
