// A classifier of sequences: an LSTM, and a linear layer on its last output.
#pragma once
#include <kiln/kiln.hpp>

namespace kiln::models {

struct SequenceClassifier {
  nn::Lstm lstm;
  nn::Linear head;

  /// sequences [batch, time, in] -> logits [batch, classes]
  Tensor<2> forward(const Tensor<3>& sequences) const {
    return head.forward(lstm.forward(sequences).outputs.at(1, -1));
  }
};

struct SequenceClassifierConfig {
  std::int64_t in = 128, hidden = 256, classes = 10;

  SequenceClassifier init(const Device& device) const {
    return {.lstm = nn::LstmConfig{.in = in, .hidden = hidden}.init(device),
            .head = nn::LinearConfig{.in = hidden, .out = classes}.init(device)};
  }
};

}  // namespace kiln::models
