// Compares what clients are told with what the model of a file says. Prints what is wrong and returns 1.
#include <filesystem>
#include <string>

#include "model.hpp"
#include "service.hpp"

using namespace kiln;

namespace {

int wrong = 0;
void check(bool right, const std::string& what) {
  if (right) return;
  ++wrong;
  print("wrong: {}\n", what);
}

net::Request asking(const std::string& body) {
  net::Request request;
  request.method = "POST";
  request.path = "/predict";
  request.body = body;
  return request;
}

}  // namespace

int main() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  const auto file = std::filesystem::temp_directory_path() / "kiln_project_test.safetensors";
  save(learned(draw_rows(150), 200, device), file.string());
  const Model model = load(file.string(), ModelConfig{}.init(device));
  std::filesystem::remove(file);

  const net::Response said =
      predict(model, device,
              asking(R"({"rows": [{"length": 1, "width": 1}, {"length": 4, "width": 1}, {"length": 4, "width": 4}]})"));
  const auto answers = from_json<Answers>(said.body, "the response").answers;
  check(answers.size() == 3, "there are three answers to three rows");
  for (std::size_t i = 0; i < answers.size(); ++i)
    check(answers[i].kind == kKinds[i] && answers[i].chance > 0.9 && answers[i].chance <= 1,
          "the kind " + answers[i].kind);

  for (const char* const body : {"", "{}", "[1]", R"({"rows": []})", R"({"rows": [{"length": "long"}]})",
                                 R"({"rows": [{"length": 1e300, "width": 1}]})", R"({"rows": [{"height": 1}]})"}) {
    bool refused = false;
    try {
      (void)predict(model, device, asking(body));
    } catch (const Error& error) { refused = !std::string(error.what()).empty(); }
    check(refused, std::string("answers to ") + body);
  }
  return wrong == 0 ? 0 : 1;
}
