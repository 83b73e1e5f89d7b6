// tokenizer_outputs ids|normal|pieces FILE TEXTS OUTPUT: what a tokenizer.json, or a normalizer or pre-tokenizer of
// one, makes of a JSON list of texts, as a JSON list, for exchange_tokenizers.py. Of ids a text is {"ids", "all",
// "plain"}, the second and third decoded with and without special tokens; what is refused is a string that begins with
// "!".
#include <cstdio>
#include <exception>
#include <string_view>

#include "kiln/core/config/json.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/text/stages.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/data/text/unicode.hpp"

namespace {

using namespace kiln;

Json strings(const std::vector<tokens::TextPiece>& pieces) {
  Json::List list;
  for (const tokens::TextPiece& piece : pieces) list.push_back({unicode::repaired(piece.text)});
  return {std::move(list)};
}

Json ids_of(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<std::int64_t> ids = tokenizer.encode(text);
  Json::List list;
  for (const std::int64_t id : ids) list.push_back({id});
  return {Json::Object{{"ids", {std::move(list)}},
                       {"all", {unicode::repaired(tokenizer.decode(ids, false))}},
                       {"plain", {unicode::repaired(tokenizer.decode(ids))}}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "tokenizer_outputs ids|normal|pieces FILE TEXTS OUTPUT\n");
    return 2;
  }
  try {
    const std::string_view what = argv[1];
    const Json json = parse_json(read_text_file(argv[2]), argv[2]),
               texts = parse_json(read_text_file(argv[3]), argv[3]);
    const tokens::View view{&json, {argv[2], ""}};
    std::function<Json(const std::string&)> output;
    if (what == "ids")
      output = [tokenizer = Tokenizer::from_json(json, argv[2])](const std::string& text) {
        return ids_of(tokenizer, text);
      };
    else if (what == "normal")
      output = [normalize = tokens::read_normalizer(view)](const std::string& text) {
        return Json{normalize(text, tokens::OutputLimit(text.size()))};
      };
    else
      output = [split = tokens::read_pre_tokenizer(view)](const std::string& text) {
        return strings(split({{text, true}}, tokens::OutputLimit(text.size())));
      };
    Json::List outputs;
    for (const Json& text : std::get<Json::List>(texts.is)) {
      try {
        outputs.push_back(output(std::get<std::string>(text.is)));
      } catch (const Error& error) { outputs.push_back({std::string("!") + error.what()}); }
    }
    write_file_atomically(argv[4], std::string_view(write_json({std::move(outputs)})));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
