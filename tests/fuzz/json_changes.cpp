#include <cstring>

#include "kiln/core/config/json.hpp"
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

/// A text's values, to be changed in place.
struct Tree {
  enum class Kind { Scalar, List, Object } kind = Kind::Scalar;
  Json scalar{};
  std::vector<std::pair<std::string, Tree>> parts{};  // of a list, whose names are empty, or an object
};

Tree tree_of(const Json& json) {
  Tree tree;
  if (const auto* const list = std::get_if<Json::List>(&json.is)) {
    tree.kind = Tree::Kind::List;
    for (const Json& element : *list) tree.parts.emplace_back("", tree_of(element));
  } else if (const auto* const object = std::get_if<Json::Object>(&json.is)) {
    tree.kind = Tree::Kind::Object;
    for (const auto& [key, member] : *object) tree.parts.emplace_back(key, tree_of(member));
  } else {
    tree.scalar = json;
  }
  return tree;
}
Json json_of(const Tree& tree) {
  if (tree.kind == Tree::Kind::Scalar) return tree.scalar;
  Json::List list;
  Json::Object object;
  for (const auto& [key, part] : tree.parts) {
    if (tree.kind == Tree::Kind::List) list.push_back(json_of(part));
    else object.emplace_back(key, json_of(part));
  }
  if (tree.kind == Tree::Kind::List) return Json(std::move(list));
  return Json(std::move(object));
}

/// All values of a tree, the outermost first.
void gather(Tree& tree, std::vector<Tree*>& all) {
  all.push_back(&tree);
  for (auto& [key, part] : tree.parts) gather(part, all);
}

std::string odd_word(Random& random) {
  static const std::string kWords[] = {
      "",           " ",        "\n",         "a",       "ab",    "\xc3\xa9",  "\xef\xbf\xbd", "\xf0\x9f\x98\x80",
      "[UNK]",      "##a",      "<0x41>",     ".",       ".*",    "\\s",       "\\p{L}+",      "(a|b)*",
      "[^\\s]+",    "a{0,9}",   "(?i:'s|'t)", "../x",    "$1",    "F64",       "U8",           "I64",
      "BOOL",       "Sequence", "ByteLevel",  "Replace", "Split", "WordPiece", "BPE",          "Unigram",
      "Isolated",   "Removed",  "Prepend",    "Strip",   "NFKC",  "Metaspace", "ByteFallback", "Fuse",
      "Precompiled"};
  return kWords[one_of(std::size(kWords), random)];
}

/// Mostly of the same type as before, since another is soon refused.
void change_value(Tree& tree, Random& random) {
  Json& json = tree.scalar;
  const bool keeps_type = random.below(8) != 0;
  if (keeps_type && tree.kind != Tree::Kind::Scalar && !tree.parts.empty()) {
    auto& parts = tree.parts;
    const std::size_t at = one_of(parts.size(), random);
    switch (random.below(5)) {
      case 0: parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: parts.emplace_back(odd_word(random), Tree(parts[at].second)); break;
      case 2: std::swap(parts[at].second, parts[one_of(parts.size(), random)].second); break;
      case 3: parts[at].first = odd_word(random); break;
      default: parts.clear();
    }
  } else if (auto* const number = std::get_if<std::int64_t>(&json.is); number && keeps_type) {
    *number = random.below(3) ? extreme(random) : *number / 2 + 1;
  } else if (auto* const real = std::get_if<double>(&json.is); real && keeps_type) {
    *real = extreme_real(random);
  } else if (auto* const flag = std::get_if<bool>(&json.is); flag && keeps_type) {
    *flag = !*flag;
  } else if (auto* const word = std::get_if<std::string>(&json.is); word && keeps_type) {
    const std::size_t at = one_of(word->size() + 1, random);
    switch (random.below(4)) {
      case 0: *word = odd_word(random); break;
      case 1: word->insert(at, odd_word(random)); break;
      case 2: *word += std::string(*word); break;
      default: word->resize(at);
    }
  } else {
    switch (random.below(7)) {
      case 0: tree = {}; break;
      case 1: tree = {.scalar = Json(extreme(random))}; break;
      case 2: tree = {.scalar = Json(true)}; break;
      case 3: tree = {.scalar = Json(odd_word(random))}; break;
      case 4: tree = {.kind = Tree::Kind::List}; break;
      case 5: tree = {.kind = Tree::Kind::Object}; break;
      default: tree = {.scalar = Json(extreme_real(random))};
    }
  }
}

}  // namespace

std::size_t one_of(std::size_t count, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
}

std::int64_t extreme(Random& random) {
  constexpr std::int64_t kNumbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       64,
                                       255,
                                       65'536,
                                       2'147'483'647,
                                       2'147'483'648,
                                       4'294'967'295,
                                       4'294'967'296,
                                       8'589'934'592,
                                       1'099'511'627'776,
                                       2'305'843'009'213'693'952,
                                       4'611'686'018'427'387'904,
                                       9'223'372'036'854'775'807,
                                       3'037'000'500,  // whose square is beyond 63 bits
                                       -1,
                                       -2,
                                       -2'147'483'648,
                                       -4'294'967'296,
                                       -9'223'372'036'854'775'807 - 1};
  return kNumbers[one_of(std::size(kNumbers), random)];
}

double extreme_real(Random& random) {
  constexpr double kNumbers[] = {0.0, -1.0, 0.5, 1e-30, 1e30, -1e30, 3e38, 1e300, 1e-310, 2147483648.0, 9.3e18};
  return kNumbers[one_of(std::size(kNumbers), random)];
}

void change_json(FileContents& file, Random& random) {
  try {
    Tree tree = tree_of(parse_json(text_of(file), ""));
    std::vector<Tree*> all;
    gather(tree, all);
    // Vocabularies are most of a tokenizer: half of the changes are near the beginning of a list or near the root.
    Tree& chosen = *all[one_of(random.below(2) ? all.size() : std::min<std::size_t>(all.size(), 24), random)];
    if (random.below(5) == 0) chosen = Tree(*all[one_of(all.size(), random)]);
    else change_value(chosen, random);
    file = contents_of(write_json(json_of(tree)));
  } catch (const Error&) {}  // what is no JSON, or no longer UTF-8
}

void change_safetensors(FileContents& file, Random& random) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) return;
  const auto begin = file.begin() + sizeof length, end = begin + static_cast<std::ptrdiff_t>(length);
  FileContents header(begin, end);
  change_json(header, random);
  const std::uint64_t now = header.size();
  FileContents whole(sizeof now);
  std::memcpy(whole.data(), &now, sizeof now);
  whole.insert(whole.end(), header.begin(), header.end());
  whole.insert(whole.end(), end, file.end());
  file = std::move(whole);
}

}  // namespace kiln::test
