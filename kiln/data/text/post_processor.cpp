#include "kiln/data/text/post_processor.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/error/shown.hpp"

namespace kiln::tokens {
namespace {

constexpr std::int64_t kMostTokens = 1 << 24;  // tokens that a file may request

Side side_of(const View& said) {
  const std::string name = said.text_or("Right");
  if (name != "Left" && name != "Right") said.refuse("is '", shown(name), "', not Left or Right");
  return name == "Left" ? Side::Left : Side::Right;
}

/// ["[CLS]", 101]
std::int64_t id_of_pair(const View& pair) {
  if (pair.list().size() != 2) pair.refuse("must be a token and its id");
  static_cast<void>(pair.element(0).text());
  return pair.element(1).number();
}

/// Adds its tokens around a text's.
void read_template(const View& json, PostProcessor& post_processor) {
  json.only({"type", "single", "pair", "special_tokens"});
  const View pieces = json.need("single"), special = json.need("special_tokens");
  std::vector<std::int64_t> before, behind;
  int texts = 0;
  for (std::size_t i = 0; i < pieces.list().size(); ++i) {
    const View piece = pieces.element(i);
    piece.only({"Sequence", "SpecialToken"});
    if (const View text = piece["Sequence"]; !text.is_null()) {
      text.only({"id", "type_id"});
      if (text.need("id").text() != "A") text.refuse("is the second of two texts, but there is only one");
      ++texts;
      continue;
    }
    const View token = piece.need("SpecialToken");
    token.only({"id", "type_id"});
    const View one = special.need(token.need("id").text());
    one.only({"id", "ids", "tokens"});
    const View own = one.need("ids");
    for (std::size_t k = 0; k < own.list().size(); ++k) (texts ? behind : before).push_back(own.element(k).number());
  }
  if (texts != 1) pieces.refuse("has the text ", texts, " times, not once");
  post_processor.before.insert(post_processor.before.begin(), before.begin(), before.end());
  post_processor.behind.insert(post_processor.behind.end(), behind.begin(), behind.end());
}

void read_added_around(const View& json, PostProcessor& post_processor) {
  if (json.is_null()) return;
  const std::string type = json.type();
  if (type == "ByteLevel") {  // concerns offsets of tokens in the text, which are not supported
    json.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  } else if (type == "Sequence") {
    json.only({"type", "processors"});
    const View list = json.need("processors");
    for (std::size_t i = 0; i < list.list().size(); ++i) read_added_around(list.element(i), post_processor);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    if (type == "BertProcessing") json.only({"type", "sep", "cls"});
    else json.only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    post_processor.before.insert(post_processor.before.begin(), id_of_pair(json.need("cls")));
    post_processor.behind.push_back(id_of_pair(json.need("sep")));
  } else if (type == "TemplateProcessing") {
    read_template(json, post_processor);
  } else {
    json.refuse("is a post-processor '", shown(type), "', which is not supported");
  }
}

Truncation read_truncation(const View& json, std::int64_t around) {
  json.only({"direction", "max_length", "strategy", "stride"});
  const std::string strategy = json["strategy"].text_or("LongestFirst");
  if (strategy == "OnlySecond")
    json["strategy"].refuse(
        "cuts the second of two texts alone, and here a text stands alone; LongestFirst and OnlyFirst are known");
  if (strategy != "LongestFirst" && strategy != "OnlyFirst")
    json["strategy"].refuse("is '", shown(strategy), "', which is not supported");
  const Truncation result{json.need("max_length").number(), side_of(json["direction"])};
  const std::int64_t stride = json["stride"].is_null() ? 0 : json["stride"].number();
  if (result.most < around)
    json.refuse("allows ", result.most, " tokens, and ", around, " special ones are added to each text");
  // The truncated parts are dropped here, so the stride between them has no effect.
  if (result.most > around && stride >= result.most - around)
    json.refuse("has a stride of ", stride, ", which must be less than the ", result.most - around,
                " tokens that are kept");
  return result;
}

Padding read_padding(const View& json) {
  json.only({"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
  Padding result{0, 0, side_of(json["direction"]), json["pad_id"].is_null() ? 0 : json["pad_id"].number()};
  const View strategy = json.need("strategy");
  if (const auto* const name = std::get_if<std::string>(&strategy.json->is)) {
    // A single text is the longest of its batch.
    if (*name != "BatchLongest") strategy.refuse("is '", shown(*name), "', which is not supported");
  } else {
    strategy.only({"Fixed"});
    result.least = strategy.need("Fixed").number();
  }
  if (const View multiple = json["pad_to_multiple_of"]; !multiple.is_null()) result.multiple = multiple.number();
  if (std::max(result.least, result.multiple) > kMostTokens)
    json.refuse("asks for ", std::max(result.least, result.multiple), " tokens, more than the ", kMostTokens,
                " that are supported");
  return result;
}

}  // namespace

PostProcessor PostProcessor::read(const View& root) {
  PostProcessor post_processor;
  read_added_around(root["post_processor"], post_processor);
  const std::int64_t around = std::ssize(post_processor.before) + std::ssize(post_processor.behind);
  if (const View said = root["truncation"]; !said.is_null()) post_processor.truncation = read_truncation(said, around);
  if (const View said = root["padding"]; !said.is_null()) post_processor.padding = read_padding(said);
  return post_processor;
}

std::vector<std::int64_t> PostProcessor::around(std::vector<std::int64_t> ids, bool special) const {
  if (truncation) {
    const std::int64_t room = truncation->most - (special ? std::ssize(before) + std::ssize(behind) : 0);
    if (const std::int64_t over = std::ssize(ids) - room; over > 0) {
      if (truncation->side == Side::Left) ids.erase(ids.begin(), ids.begin() + over);
      else ids.resize(static_cast<std::size_t>(room));
    }
  }
  if (special) {
    ids.insert(ids.begin(), before.begin(), before.end());
    ids.insert(ids.end(), behind.begin(), behind.end());
  }
  if (padding) {
    std::int64_t length = std::max<std::int64_t>(std::ssize(ids), padding->least);
    if (padding->multiple > 0) length = (length + padding->multiple - 1) / padding->multiple * padding->multiple;
    const auto missing = static_cast<std::size_t>(length - std::ssize(ids));
    ids.insert(padding->side == Side::Left ? ids.begin() : ids.end(), missing, padding->id);
  }
  return ids;
}

}  // namespace kiln::tokens
