#include "examples/text_classification/learned.hpp"

#include "kiln/core/config/config.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/save.hpp"

namespace learned {

namespace fs = std::filesystem;
using namespace kiln;

void save(const Classifier& classifier, const fs::path& folder) {
  fs::create_directories(folder);
  std::string words;
  for (const std::string& word : classifier.words.words()) words += word + '\n';
  write_file_atomically((folder / "words.txt").string(), std::string_view(words));
  save_config(classifier.config, (folder / "model.json").string());
  kiln::save(classifier.model, (folder / "model.safetensors").string());
}

Classifier load(const fs::path& folder, const Device& device) {
  const std::string listed = (folder / "words.txt").string(), text = read_text_file(listed);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  models::Vocabulary vocabulary(words);
  const auto config = load_config<models::TextClassifierConfig>((folder / "model.json").string());
  require<DataError>(vocabulary.size() == config.vocabulary, listed, ": holds ", words.size(), " words, but ",
                     (folder / "model.json").string(), " says that the model has ",
                     config.vocabulary - models::Vocabulary::kUnknown - 1);
  models::TextClassifier model = config.init(device);
  kiln::load(model, (folder / "model.safetensors").string());
  return {config, std::move(vocabulary), std::move(model)};
}

}  // namespace learned
