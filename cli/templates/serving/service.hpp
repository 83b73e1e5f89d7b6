// The answers of the server are functions of a request, which a test can call without a server.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <kiln/config.hpp>
#include <kiln/net.hpp>

#include "model.hpp"

struct Question {
  std::vector<Row> rows;
};
struct Answer {
  std::string kind;
  double chance = 0;  // from 0 to 1
};
struct Answers {
  std::vector<Answer> answers;
};

/// Answers {"rows": [{"length": 5.1, "width": 3.5}, ...]}. Errors of a request are what the client is told: the server
/// makes them a response with the status 400.
inline kiln::net::Response predict(const Model& model, const kiln::Device& device, const kiln::net::Request& request) {
  const auto question = kiln::from_json<Question>(request.body, "the request");
  kiln::require<kiln::DataError>(!question.rows.empty(), "the request has no rows");
  const kiln::NoGrad pause;
  const kiln::Tensor<2> chances = model.forward(to_tensor(question.rows, device)).softmax(1);  // [rows, kinds]
  const std::vector<float> all = chances.to_vector();
  Answers answers;
  for (std::size_t row = 0; row < question.rows.size(); ++row) {
    const float* const of_row = &all[row * kKinds.size()];
    const std::size_t best = static_cast<std::size_t>(std::max_element(of_row, of_row + kKinds.size()) - of_row);
    answers.answers.push_back({kKinds[best], of_row[best]});
  }
  return {.type = "application/json", .body = kiln::write_json(kiln::to_json(answers))};
}

/// This shows an example of a request and of its answer.
inline kiln::net::Response usage(const Model& model, const kiln::Device& device) {
  kiln::net::Request example;
  example.body = kiln::write_json(kiln::to_json(Question{.rows = {{.length = 4.2, .width = 0.9}}}));
  return {.body = "POST /predict answers\n" + example.body + "with\n" + predict(model, device, example).body};
}

inline kiln::net::Routes routes(const Model& model, const kiln::Device& device) {
  return kiln::net::Routes()
      .get("/", [model, device](const kiln::net::Request&) { return usage(model, device); })
      .get("/health", [](const kiln::net::Request&) { return kiln::net::Response{.body = "ready\n"}; })
      .post("/predict", [model, device](const kiln::net::Request& request) { return predict(model, device, request); });
}
