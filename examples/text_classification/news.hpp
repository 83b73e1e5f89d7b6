// News and their topics, from a file of AG News.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "models/language/vocabulary.hpp"

namespace news {

/// Texts as numbers, still of any lengths.
struct Batch {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<std::int64_t> topics;  // 0 to 3: the world, sports, business, science and technology
};

struct Loaders {
  kiln::models::Vocabulary words;  // of the news that are learned from
  std::int64_t held_out;           // news that are not: a fifth
  kiln::DataLoader<Batch> train, valid;
};

/// A CSV file without a header: class (1 to 4), title, text. Throws kiln::DataError that names the file, and the record
/// where one is at fault.
Loaders load(const std::string& file, std::int64_t batch, std::uint64_t seed);

}  // namespace news
