// Pictures, sounds, archives and texts.
#include <cmath>

#include "kiln/data/compose/item_file.hpp"
#include "kiln/data/gzip.hpp"
#include "kiln/data/idx.hpp"
#include "kiln/data/picture/cifar.hpp"
#include "kiln/data/picture/folder.hpp"
#include "kiln/data/picture/masked.hpp"
#include "kiln/data/png.hpp"
#include "kiln/data/sound/wav.hpp"
#include "kiln/data/table/lines.hpp"
#include "kiln/data/tar.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/picture/decode.hpp"
#include "kiln/store/zip/deflate.hpp"
#include "kiln/wire/fields.hpp"
#include "tests/data/idx_files.hpp"
#include "tests/data/picture/figures.hpp"
#include "tests/data/text/figures.hpp"
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

FileContents contents(std::span<const std::uint8_t> bytes) {
  const auto as_bytes = std::as_bytes(bytes);
  return {as_bytes.begin(), as_bytes.end()};
}

void put(FileContents& bytes, std::size_t at, std::uint64_t number, int count, bool big) {
  for (int i = 0; i < count; ++i)
    bytes[at + static_cast<std::size_t>(big ? count - 1 - i : i)] = static_cast<std::byte>(number >> 8 * i);
}
std::uint64_t big_number(const FileContents& bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return number;
}

void read_picture_file(std::span<const std::byte> file) {
  for (const Channels channels : {Channels::Grey, Channels::Colour}) {
    const Picture picture =
        door([&] { return decode_picture(file, "picture", {.channels = channels, .most_pixels = 1 << 22}); });
    const std::int64_t size = picture.height * picture.width * picture.channels;
    expect(std::ssize(picture.pixels) == size && picture.channels == (channels == Channels::Grey ? 1 : 3),
           "a picture is not what it says");
    look_at(std::as_bytes(std::span(picture.pixels)));
  }
}

/// The CRC of each chunk of a PNG file.
void mend_png(FileContents& file) {
  for (std::size_t at = 8; at + 12 <= file.size();) {
    const std::uint64_t length = big_number(file, at);
    if (length > file.size() - at - 12) return;
    const auto size = static_cast<std::size_t>(length);
    put(file, at + 8 + size, crc32_of(std::span(file).subspan(at + 4, size + 4)), 4, true);
    at += size + 12;
  }
}

void read_sound_file(std::span<const std::byte> file) {
  const Sound sound = door([&] { return decode_wav(file, "sound", 1 << 22); });
  expect(sound.channels > 0 && std::ssize(sound.samples) % sound.channels == 0, "a sound has half a frame");
  look_at(std::as_bytes(std::span(sound.samples)));
  (void)door([&] { return encode_wav(sound, WavFormat::Pcm24); });
}

Files sounds() {
  Sound sound{.samples = {0, 0.5f, -1, 0.25f, 1, -0.125f}, .channels = 2, .rate = 8000};
  Files files;
  for (const WavFormat format : {WavFormat::Pcm8, WavFormat::Pcm16, WavFormat::Pcm24, WavFormat::Float64})
    files.push_back(encode_wav(sound, format));
  return files;
}

void read_idx_file(std::span<const std::byte> file) {
  const IdxArray array = door([&] { return read_idx(file, "idx", 1 << 22); });
  expect(std::ssize(array.values) == numel(array.shape), "an array is not what it says");
  try {
    (void)door([&] { return Mnist::parse(file, "images", file, "labels"); });
  } catch (const DataError&) {}  // as one file is not both
}

void read_cifar(std::span<const std::byte> file) {
  Ways ways;
  for (const CifarKind kind : {CifarKind::Hundred, CifarKind::Ten})
    ways.take([&] {
      std::vector<FileBytes> files{{file, "a", nullptr}, {file, "b", nullptr}};
      const Cifar pictures = door([&] { return Cifar(std::move(files), kind); });
      for (std::int64_t i = 0; i < std::min<std::int64_t>(pictures.size(), 8); ++i) {
        const LabelledPicture one = door([&] { return pictures.get(i); });
        expect(one.picture.pixels.size() == 3072 && one.label >= 0 && one.label < 100, "a picture is not what it says");
      }
    });
  ways.finish();
}

void mend_tar(FileContents& file) {
  for (std::size_t at = 0; at + 512 <= file.size(); at += 512) {
    if (text_of(file).substr(at + 257, 5) != "ustar") continue;
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : std::to_integer<unsigned>(file[at + i]);
    for (int i = 5; i >= 0; --i, sum /= 8)
      file[at + 148 + static_cast<std::size_t>(i)] = static_cast<std::byte>('0' + sum % 8);
    file[at + 154] = std::byte{0};
    file[at + 155] = std::byte{' '};
  }
}

/// Names and contents as `tar --format=ustar` has them.
FileContents tar_of(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  std::string archive;
  for (const auto& [name, contents] : files) {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    header.replace(100, 7, "0000644");
    std::string octal(11, '0');
    for (std::size_t size = contents.size(), at = 11; size > 0; size /= 8)
      octal[--at] = static_cast<char>('0' + size % 8);
    header.replace(124, 11, octal);
    header[156] = '0';
    header.replace(257, 8, std::string_view("ustar\00000", 8));
    archive += header;
    archive += contents;
    archive.resize((archive.size() + 511) / 512 * 512);
  }
  archive.resize(archive.size() + 1024);
  FileContents file = contents_of(archive);
  mend_tar(file);
  return file;
}
void read_tar_file(std::span<const std::byte> file) {
  const FileBytes archive{file, "a.tar", nullptr};
  for (const TarEntry& entry : door([&] { return read_tar(archive); })) look_at(entry.bytes);
  std::vector<FileBytes> shards{archive, archive};
  const TarSamples samples = door([&] { return TarSamples(std::move(shards)); });
  for (std::int64_t i = 0; i < samples.size(); ++i) (void)door([&] { return samples.get(i); });
}

void read_gzip(std::span<const std::byte> file) {
  GzipReader reader = door([&] { return GzipReader(file, "gzip"); });
  std::vector<std::byte> out(4096);
  for (std::size_t total = 0, count;
       (count = door([&] { return reader.read(out); })) > 0 && (total += count) < (1 << 22);)
    look_at(std::span(out).first(count));
}

struct Item {
  std::int64_t id = 0;
  std::string name;
  std::optional<double> score;
  std::vector<std::int32_t> list;
};
FileContents items() {
  const std::string path = on_disk("written.items", {});
  write_items(path, 7, 5, [](std::int64_t i) {
    wire::Writer out;
    wire::write_field(out, Item{i, "abc", 0.5, {1, 2}});
    return out.take();
  });
  return read_file(path);
}
void read_items(std::span<const std::byte> file) {
  const FileBytes bytes{file, "items", nullptr};
  const ItemFile all = door([&] { return ItemFile(bytes); });
  for (std::int64_t i = 0; i < std::min<std::int64_t>(all.size(), 100); ++i) {
    wire::Reader in("items", all.at(i));
    Item item;
    wire::read_field(in, item);
    in.finish();
  }
}

constexpr std::string_view kCoco = R"({"images": [{"id": 1, "file_name": "a.png", "height": 2, "width": 3}],
  "categories": [{"id": 7, "name": "cat"}, {"id": 3, "name": "dog"}],
  "annotations": [{"image_id": 1, "category_id": 7, "bbox": [0, 0.5, 1, 1], "iscrowd": 0}]})";
void read_coco(std::span<const std::byte> file) {
  const std::string path = on_disk("coco.json", file);
  const std::filesystem::path directory = "/nowhere";
  const CocoPictures pictures = door([&] { return CocoPictures(directory, path); });
  expect(pictures.size() < 100, "there are more pictures than the file has letters for");
}

constexpr std::string_view kCocoMasks = R"({"images": [{"id": 1, "file_name": "a.png"}],
  "categories": [{"id": 7, "name": "cat"}, {"id": 3, "name": "dog"}], "annotations": [
  {"image_id": 1, "category_id": 7, "segmentation": [[0, 0.5, 1, 1, 3, 2], [1, 1, 2, 1, 2, 2, 1, 2]]},
  {"image_id": 1, "category_id": 3, "segmentation": {"size": [5, 7], "counts": [4, 1, 30]}, "iscrowd": 1},
  {"image_id": 1, "category_id": 3, "segmentation": {"size": [5, 7], "counts": "4162L000004"}}]})";
void read_coco_masks(std::span<const std::byte> file) {
  const std::string path = on_disk("coco_masks.json", file);
  const std::filesystem::path directory = "/nowhere";
  const CocoMasks masks = door([&] { return CocoMasks(directory, path); });
  expect(masks.size() < 100, "there are more pictures than the file has letters for");
}

Files tokenizers() {
  Files files;
  for (const char* name :
       {"ByteLevel", "WordPieces", "Llama", "Gpt4", "Qwen", "Words", "Unigram", "UnigramBytes", "SentencePiece"})
    files.push_back(contents_of(tokenizer_json(name)));
  return files;
}

void use(const Tokenizer& tokenizer) {
  constexpr std::string_view kTexts[] = {
      "the quick brown fox, isn't na\xc3\xafve caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87 1234567 [CLS] <unk> \n\n \t x",
      std::string_view("\xff\xfe hello\0world \xed\xa0\x80 \xf0\x9f\x98\x80", 23), ""};
  for (const std::string_view text : kTexts) {
    const std::vector<std::int64_t> ids = door([&] { return tokenizer.encode(text); });
    for (const std::int64_t id : ids) expect(id >= 0 && id < std::int64_t{1} << 31, "an id is none");
    for (const bool skip : {false, true}) (void)door([&] { return tokenizer.decode(ids, skip); });
  }
}
void read_tokenizer(std::span<const std::byte> file) {
  const Json json = door([&] { return parse_json(text_of(file), "tokenizer.json"); });
  const Tokenizer tokenizer = door([&] { return Tokenizer::from_json(json, "tokenizer.json"); });
  use(tokenizer);
  (void)door([&] { return write_json(tokenizer.json()); });
}

Files pngs() {
  Picture picture{.pixels = {}, .height = 3, .width = 4, .channels = 3};
  for (int i = 0; i < 36; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(7 * i));
  return {contents(pillow("png")), contents(pillow("palette_png")), contents(pillow("png_16")),
          contents(pillow("transparent_png")), encode_picture(picture)};
}

const Reader kDataReaders[] = {
    {.name = "png", .sound = pngs, .read = read_picture_file, .mend = mend_png},
    {.name = "jpeg", .sound = [] { return Files{contents(pillow("jpeg"))}; }, .read = read_picture_file},
    {.name = "wav", .sound = sounds, .read = read_sound_file},
    {.name = "idx",
     .sound =
         [] {
           const FileContents plain = idx_file({5, 4, 3}, counting(60));
           return Files{plain, gzipped(plain), joined(gzipped(plain), gzipped({})), idx_file({5}, {0, 9, 4, 1, 7})};
         },
     .read = read_idx_file},
    {.name = "cifar",
     .sound = [] { return Files{FileContents(2 * 3073, std::byte{5}), FileContents(3074, std::byte{9})}; },
     .read = read_cifar},
    {.name = "tar",
     .sound =
         [] {
           return Files{tar_of({{"a/0001.jpg", "picture"}, {"a/0001.cls", "3"}, {"a/0002.jpg", ""}}),
                        tar_of({{"x.txt", std::string_view("a text of some length, twice a text of some length")}})};
         },
     .read = read_tar_file,
     .mend = mend_tar},
    {.name = "gzip",
     .sound =
         [] {
           return Files{gzipped(FileContents(20'000, std::byte{7})), joined(gzipped(contents_of("a")), gzipped({}))};
         },
     .read = read_gzip},
    {.name = "items", .sound = [] { return Files{items()}; }, .read = read_items},
    {.name = "coco",
     .sound = [] { return Files{contents_of(kCoco)}; },
     .read = read_coco,
     .change = change_json,
     .text = true},
    {.name = "coco_masks",
     .sound = [] { return Files{contents_of(kCocoMasks)}; },
     .read = read_coco_masks,
     .change = change_json,
     .text = true},
    {.name = "tokenizer", .sound = tokenizers, .read = read_tokenizer, .change = change_json, .text = true},
};

}  // namespace

std::span<const Reader> data_readers() { return kDataReaders; }

}  // namespace kiln::test
