// A classifier that has learned, as a folder: its sizes in model.json, its words in words.txt, one a line, in the order
// of their numbers, and its weights in model.safetensors.
#pragma once
#include <filesystem>

#include "models/language/text_classifier.hpp"
#include "models/language/vocabulary.hpp"

namespace learned {

struct Classifier {
  kiln::models::TextClassifierConfig config;
  kiln::models::Vocabulary words;
  kiln::models::TextClassifier model;
};

/// Throws IoError.
void save(const Classifier& classifier, const std::filesystem::path& folder);
/// Throws IoError, ConfigError, DataError or LoadError, which name the file.
Classifier load(const std::filesystem::path& folder, const kiln::Device& device);

}  // namespace learned
