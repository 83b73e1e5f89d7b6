// The examples that speak over networks: a served model, and peers. As programs, and the parts of the first.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "examples/serve_model/batcher.hpp"
#include "examples/serve_model/served.hpp"
#include "kiln/core/config/json.hpp"
#include "kiln/onnx/save.hpp"
#include "kiln/store/graph_file.hpp"
#include "kiln/tensor/tensor.hpp"
#include "output_of.hpp"
#include "tests/net/net_support.hpp"
#include "tests/onnx/model_writer.hpp"
#include "tests/support/own_loopback.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TensorData rows(std::int64_t count, float first) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count * 3; ++i) numbers.push_back(first + static_cast<float>(i));
  return TensorData::of<float>({count, 3}, numbers);
}
TensorData doubled(TensorData in) {
  for (float& x : in.as<float>()) x *= 2;
  return in;
}

TEST(Batcher, RunsTogetherWhatWaits) {
  std::promise<void> entered, go;
  std::vector<std::int64_t> sizes;
  const auto model = [&](TensorData in) {
    sizes.push_back(in.shape()[0]);
    if (sizes.size() == 1) {
      entered.set_value();
      go.get_future().wait();
    }
    return doubled(std::move(in));
  };
  serving::Batcher batcher(model, 6);
  std::vector<std::jthread> clients;
  std::atomic<int> asked = 0;
  const auto ask = [&](std::int64_t count, float first) {
    clients.emplace_back([&, count, first] {
      ++asked;
      EXPECT_EQ(difference(batcher.run(rows(count, first)), doubled(rows(count, first))), "");
    });
  };
  ask(1, 0);
  entered.get_future().wait();
  for (int i = 1; i <= 5; ++i) ask(2, static_cast<float>(10 * i));
  while (asked < 6) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the last of them waits
  go.set_value();
  clients.clear();
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1, 6, 4}));
  EXPECT_EQ(batcher.runs(), 3);
  EXPECT_EQ(batcher.examples(), 11);
}

TEST(Batcher, AWrongRequestHarmsNoOther) {
  std::promise<void> entered, go;
  bool first = true;
  const auto model = [&](TensorData in) {
    if (std::exchange(first, false)) {
      entered.set_value();
      go.get_future().wait();
    }
    for (const float x : in.as<float>()) require<DataError>(x < 100, "too large: ", x);
    return doubled(std::move(in));
  };
  serving::Batcher batcher(model, 64);
  std::jthread holder([&] { (void)batcher.run(rows(1, 0)); });
  entered.get_future().wait();
  std::jthread good([&] { EXPECT_EQ(difference(batcher.run(rows(2, 5)), doubled(rows(2, 5))), ""); });
  std::jthread wrong([&] { EXPECT_THROW((void)batcher.run(rows(1, 1000)), DataError); });
  std::jthread other([&] { EXPECT_EQ(difference(batcher.run(rows(1, 7)), doubled(rows(1, 7))), ""); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  go.set_value();
}

TEST(Requests, AreReadOrRefused) {
  const serving::Served served{.example = {2, 2}, .dtype = DType::F32};
  const TensorData two = serving::from_json(R"({"inputs": [[[1, 2.5], [3, -4]], [[5, 6], [7, 8]]]})", served);
  EXPECT_EQ(difference(two, TensorData::of<float>({2, 2, 2}, {1, 2.5, 3, -4, 5, 6, 7, 8})), "");
  for (const char* const wrong :
       {"", "{}", "[1]", R"({"inputs": 1})", R"({"inputs": []})", R"({"inputs": [1, 2]})",
        R"({"inputs": [[1, 2], [3, 4]]})", R"({"inputs": [[[1, 2], [3]]]})", R"({"inputs": [[[1, 2], 3]]})",
        R"({"inputs": [[[1, 2], [3, [4]]]]})", R"({"inputs": [[[1, 2], [3, "4"]]]})",
        R"({"inputs": [[[1, 2], [3, null]]]})", R"({"inputs": [[[1, 2], [3, 4]]], "more": 1})",
        R"({"other": [[[1, 2], [3, 4]]]})", R"({"inputs": [[[[[[[[[[1]]]]]]]]]]})"})
    EXPECT_THROW((void)serving::from_json(wrong, served), Error) << wrong;
  const auto said = [&](const char* request) {
    try {
      (void)serving::from_json(request, served);
    } catch (const Error& error) { return std::string(error.message()); }
    return std::string();
  };
  EXPECT_EQ(said(R"({"inputs": []})"), R"(serve_model: "inputs" has no examples)");
  EXPECT_EQ(said("\x01\x02"),
            R"(serve_model: the request is no JSON: send {"inputs": [[...], ...]}, or the bytes of the elements with )"
            "the header Content-Type: application/octet-stream");
  EXPECT_EQ(serving::from_bytes(std::string(32, '\0'), served).shape(), (Shape{2, 2, 2}));
  for (const std::size_t size : {0u, 1u, 15u, 17u})
    EXPECT_THROW((void)serving::from_bytes(std::string(size, '\0'), served), ShapeError) << size;
  const std::string json = serving::to_json(TensorData::of<float>({1, 2}, {0.5, INFINITY}));
  EXPECT_EQ(write_json(parse_json(json, "answer")),
            write_json(parse_json(R"({"outputs": [[0.5, null]]})", "expected")));
}

/// A program that runs until the object ends; it prints a line with its port last.
class Started {
 public:
  explicit Started(std::vector<std::string> command) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], 1);
      ::close(ends[0]);
      std::vector<char*> arguments;
      for (std::string& word : command) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string said;
    char letter = 0;
    while (said.find("listens at ") == said.npos || letter != '\n') {
      if (::read(ends[0], &letter, 1) != 1) break;
      said += letter;
    }
    ::close(ends[0]);
    const std::size_t colon = said.rfind(':');
    EXPECT_NE(said.find("listens at "), said.npos) << said;
    if (colon != said.npos) port_ = std::atoi(said.c_str() + colon + 1);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    ::kill(child_, SIGTERM);
    int status = 0;
    ::waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0);
  }
  int port() const { return port_; }

 private:
  pid_t child_ = 0;
  int port_ = 0;
};

std::string posted(int port, const std::string& body, const std::string& type) {
  net::Raw client(port, text("POST /predict HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: ", type,
                             "\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  return client.read_all();
}
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

/// y = relu(x w + b), and the same in doubles.
struct Small {
  std::vector<float> w = {1, -2, 3, 0.5, -1, 2}, b = {0.25, -0.5};
  Tensor<2> forward(const Tensor<2>& x) const {
    const Device device = x.device();
    return (x.matmul(Tensor<2>::of(w, {3, 2}, device)) + Tensor<1>::of(b, device)).relu();
  }
  std::vector<double> expected(const std::vector<float>& x) const {
    std::vector<double> y;
    for (std::size_t i = 0; i < x.size() / 3; ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        double sum = b[k];
        for (std::size_t j = 0; j < 3; ++j) sum += static_cast<double>(x[3 * i + j]) * w[2 * j + k];
        y.push_back(std::max(sum, 0.0));
      }
    return y;
  }
};

class ServeModel : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Files, ServeModel, testing::Bool(),
                         [](const auto& info) { return info.param ? "Onnx" : "Graph"; });

TEST_P(ServeModel, AnswersManyAtOnceInJsonAndInBytes) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-serving-", ::getpid(), GetParam());
  fs::create_directories(folder);
  const Small small;
  const std::string file = folder / (GetParam() ? "small.onnx" : "small.safetensors");
  const Device device = Device::cpu();
  if (GetParam())
    onnx::save([&](const Tensor<2>& x) { return small.forward(x); }, Tensor<2>::zeros({2, 3}, device), file,
               {.free = {{"batch", 0, 0}}});
  else
    save(capture([&](const Tensor<1>& x) { return small.forward(x.unsqueeze(0)).squeeze(0); },
                 Tensor<1>::zeros({3}, device)),
         file);
  {
    const Started server({SERVE_MODEL_PROGRAM, "--model", file, "--port", "0"});
    std::vector<std::jthread> clients;
    for (int client = 0; client < 8; ++client)
      clients.emplace_back([&, client] {
        std::vector<float> x;
        for (int i = 0; i < 3 * (1 + client % 3); ++i) x.push_back(static_cast<float>((client * 7 + i * 5) % 11) - 5);
        const std::vector<double> expected = small.expected(x);
        std::string json;
        for (std::size_t i = 0; i < x.size(); i += 3)
          json += text(json.empty() ? "" : ",", '[', x[i], ',', x[i + 1], ',', x[i + 2], ']');
        for (int again = 0; again < 5; ++again) {
          const std::string answer = posted(server.port(), text("{\"inputs\":[", json, "]}"), "application/json");
          ASSERT_EQ(answer.find("HTTP/1.1 200 OK"), 0u) << answer;
          const Json said = parse_json(body_of(answer), "answer");
          const auto& list = std::get<Json::List>(std::get<Json::Object>(said.is)[0].second.is);
          ASSERT_EQ(list.size() * 2, expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            const Json& number = std::get<Json::List>(list[i / 2].is)[i % 2];
            const double* const real = std::get_if<double>(&number.is);
            EXPECT_NEAR(real ? *real : static_cast<double>(std::get<std::int64_t>(number.is)), expected[i], 1e-5);
          }
          const std::string bytes =
              body_of(posted(server.port(), std::string(reinterpret_cast<const char*>(x.data()), 4 * x.size()),
                             "application/octet-stream"));
          ASSERT_EQ(bytes.size(), 4 * expected.size());
          for (std::size_t i = 0; i < expected.size(); ++i) {
            float y = 0;
            std::memcpy(&y, bytes.data() + 4 * i, sizeof y);
            EXPECT_NEAR(y, expected[i], 1e-5);
          }
        }
      });
    clients.clear();
    EXPECT_NE(net::Raw(server.port(), "GET /models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .read_all()
                  .find("GET / says what the model takes, POST /predict runs it"),
              std::string::npos);
    EXPECT_EQ(posted(server.port(), "{\"inputs\":[[1,2]]}", "application/json").find("HTTP/1.1 400"), 0u);
    EXPECT_EQ(posted(server.port(), "abc", "application/octet-stream").find("HTTP/1.1 400"), 0u);
    EXPECT_NE(net::Raw(server.port(), "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .read_all()
                  .find("examples of float32 [3], results of float32 [2]\n150 examples in "),
              std::string::npos);
  }
  fs::remove_all(folder);
}

TEST(ServeModelForOthers, NeedsAToken) {
  const std::string said = output_of(text("env -u SERVE_MODEL_TOKEN ", SERVE_MODEL_PROGRAM,
                                          " --host 0.0.0.0 --port 0 --model none.onnx 2>&1 || true"));
  EXPECT_NE(said.find("a server at 0.0.0.0 lets others in: set SERVE_MODEL_TOKEN"), said.npos) << said;
}

// What no request could be answered by is refused before the server listens.
TEST(ServedOnnx, IsRefusedWhereItsResultsCannotBeSent) {
  using namespace onnx::test;
  const fs::path file = fs::temp_directory_path() / text("kiln-not-served-", ::getpid(), ".onnx");
  const auto said = [&](const Message& input, const Message& node, const Message& output) {
    std::ofstream(file) << model(graph({.nodes = {node}, .initializers = {}, .inputs = {input}, .outputs = {output}}));
    try {
      (void)serving::open_model(file, Device::cpu());
    } catch (const LoadError& error) { return std::string(error.message()); }
    return std::string();
  };
  const auto refusal = [&](const char* what) {
    return text(file.string(), ": its ", what,
                ": this server takes models of one tensor of numbers each (LoadOptions::outputs takes another)");
  };
  const Message x = value("x", {"n", "3"});
  const Message list_type = Message().message(4, Message().message(1, Message().message(1, Message().number(1, 1))));
  EXPECT_EQ(said(x, node("SequenceConstruct", {"x"}, {"y"}), Message().text(1, "y").message(2, list_type)),
            refusal("output 'y' is no tensor"));
  EXPECT_EQ(said(x, node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{8})}),
                 value("y", {"n", "3"}, onnx::Element::String)),
            refusal("output 'y' is of strings, which no request has"));
  EXPECT_EQ(said(x, node("ReduceSum", {"x"}, {"y"}, {attribute("keepdims", std::int64_t{0})}), value("y", {})),
            refusal("output 'y' is a single number, without a dimension for the examples"));
  EXPECT_EQ(said(value("x", {"n", "3"}, onnx::Element::String),
                 node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{1})}), value("y", {"n", "3"})),
            refusal("input 'x' is of strings, which no request has"));
  EXPECT_EQ(said(x, node("Relu", {"x"}, {"y"}), value("y", {"n", "3"})), "");
  fs::remove(file);
}

TEST(ServedGraph, MayBeCapturedWithABatchOfOne) {
  const fs::path file = fs::temp_directory_path() / text("kiln-batch-of-one-", ::getpid(), ".safetensors");
  const Small small;
  const Device device = Device::cpu();
  save(capture([&](const Tensor<2>& x) { return small.forward(x); }, Tensor<2>::zeros({1, 3}, device)), file);
  const serving::Served served = serving::open_model(file, device);
  EXPECT_EQ(served.example, (Shape{3}));
  EXPECT_TRUE(served.description.ends_with(": examples of float32 [3], results of float32 [2]\n"))
      << served.description;
  const std::vector<float> x = {1, 2, 3, -4, 5, 6};
  const std::vector<double> y = small.expected(x);
  const auto same = [&](const Shape& shape) {
    const TensorData expected = TensorData::of<double>(shape, y).to(DType::F32);
    return [expected](const TensorData& got) { return difference(got, expected, {1e-6, 1e-6}); };
  };
  EXPECT_EQ(same({2, 2})(served.run(serving::from_json(R"({"inputs": [[1, 2, 3], [-4, 5, 6]]})", served))), "");
  EXPECT_EQ(same({2, 1, 2})(served.run(serving::from_json(R"({"inputs": [[[1, 2, 3]], [[-4, 5, 6]]]})", served))), "");
  const std::string bytes(reinterpret_cast<const char*>(x.data()), 4 * x.size());
  EXPECT_EQ(same({2, 2})(served.run(serving::from_bytes(bytes, served))), "");
  EXPECT_THROW((void)serving::from_json(R"({"inputs": [[[1, 2, 3], [4, 5, 6]]]})", served), ShapeError);
  fs::remove(file);
}

TEST(Peers, LearnWhatTheOthersMeasured) {
  const std::string secret = "KILN_RANK_SECRET=0123456789abcdef0123456789abcdef ",
                    address = text(" --size 2 --address ", own_loopback(), ":33100");
  auto second =
      std::async(std::launch::async, [&] { return output_of(text(secret, PEERS_PROGRAM, " --rank 1", address)); });
  const std::string first = output_of(text(secret, PEERS_PROGRAM, " --rank 0", address)), other = second.get();
  EXPECT_LT(number_after(first, "rank 0 of 2: largest error from -1 to 1: "), 0.1) << first;
  EXPECT_LT(number_after(other, "rank 1 of 2: largest error from -1 to 1: "), 0.1) << other;
}

TEST(Peers, AskForASecret) {
  const std::string said = output_of(text("env -u KILN_RANK_SECRET ", PEERS_PROGRAM, " 2>&1 || true"));
  EXPECT_NE(said.find("peers: set KILN_RANK_SECRET, the same on all machines"), said.npos) << said;
}

}  // namespace
}  // namespace kiln
