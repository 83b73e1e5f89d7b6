// Texts and their classes: news of AG News, or articles of DbPedia.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "models/language/vocabulary.hpp"

namespace articles {

/// AgNews has 4 classes (the world, sports, business, science and technology), DbPedia 14 (what an article is about).
enum class Set { AgNews, DbPedia };
std::int64_t classes_of(Set set);

/// Texts as numbers, still of any lengths.
struct Batch {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<std::int64_t> topics;  // from 0
};

struct Options {
  Set set;
  std::int64_t batch;
  std::optional<std::int64_t> sample;  // learns from so many texts, and measures on a tenth of that; else on all
  std::uint64_t seed;
};

struct Loaders {
  kiln::models::Vocabulary words;  // of the texts that are learned from, unless they were known before
  std::int64_t held_out;           // texts that are not learned from
  kiln::DataLoader<Batch> train, valid;
};

/// `path` is a folder with train.csv and test.csv, or one CSV file, of which a fifth is held out. A record is class
/// (counted from 1), title, text, without a header. Throws kiln::DataError that names the file, and ArgumentError for
/// a sample of fewer than ten.
Loaders load(const std::string& path, const Options& options, std::optional<kiln::models::Vocabulary> known);

}  // namespace articles
