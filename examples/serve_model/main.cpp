// A model over HTTP: an ONNX file, or a graph that Kiln has saved. Requests that arrive together run as one batch.
//
//   serve_model --model mnist.onnx --port 8080
//   curl -d '{"inputs": [[[[0, ...]]]]}' http://127.0.0.1:8080/predict
//   curl -H 'Content-Type: application/octet-stream' --data-binary @x.f32 http://127.0.0.1:8080/predict > y.f32
//
// GET / says what the model takes and gives. A server that others can reach (--host 0.0.0.0) needs a token (the
// environment's SERVE_MODEL_TOKEN, which clients send as "Authorization: Bearer TOKEN") and should speak TLS
// (--certificate, --key). It ends by Ctrl-C.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "examples/serve_model/batcher.hpp"
#include "examples/serve_model/served.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/net/server.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string model = "model.onnx";
  std::string host = "127.0.0.1";
  int port = 8080;                              // 0: a free one, which is printed
  std::int64_t batch = 64;                      // the most examples that run at once
  std::int64_t megabytes = 64;                  // the most that a request has
  std::optional<std::string> certificate, key;  // files; with them it speaks TLS
};

std::atomic<bool> stopped = false;

net::Response predict(const net::Request& request, const serving::Served& served, serving::Batcher& batcher) {
  const bool binary = request.header("Content-Type") == "application/octet-stream";
  const TensorData out =
      batcher.run(binary ? serving::from_bytes(request.body, served) : serving::from_json(request.body, served));
  if (!binary) return {.type = "application/json", .body = serving::to_json(out)};
  return {.type = "application/octet-stream",
          .body = std::string(reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()),
          .headers = {{"X-Shape", text(out.shape())}, {"X-Type", std::string(name(out.dtype()))}}};
}

net::Response no_such_page(const net::Request& request) {
  const bool is_known = request.path == "/" || request.path == "/predict";
  return {.status = is_known ? 405 : 404, .body = "GET / says what the model takes, POST /predict runs it\n"};
}

void serve(const Run& run) {
  require<ArgumentError>(run.batch > 0 && run.megabytes > 0, "serve_model: --batch and --megabytes must be positive");
  const std::string token = net::token_for(run.host, "SERVE_MODEL_TOKEN");
  const serving::Served served = serving::open_model(run.model, Device::best());
  serving::Batcher batcher(served.run, run.batch);
  net::ServerOptions options{
      .address = {run.host, run.port},
      .token = token,
      .limits = {.body_bytes = static_cast<std::size_t>(run.megabytes) << 20, .connections = 256}};
  if (run.certificate) options.tls = net::TlsOptions{.certificate = *run.certificate, .key = run.key.value_or("")};
  const net::Server server(
      options, net::Routes()
                   .get("/",
                        [&](const net::Request&) {
                          return net::Response{.body = text(served.description, batcher.examples(), " examples in ",
                                                            batcher.runs(), " runs\n")};
                        })
                   .post("/predict", [&](const net::Request& request) { return predict(request, served, batcher); })
                   .otherwise(no_such_page));
  print("{}listens at {}:{}\n", served.description, run.host, server.port());
  std::fflush(stdout);
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

const Help kHelp{
    R"(A model over HTTP: an ONNX file, or a graph that Kiln has saved. Requests that arrive together run as one batch.

  serve_model --model mnist.onnx --port 8080
  curl -d '{"inputs": [[[[0, ...]]]]}' http://127.0.0.1:8080/predict
  curl -H 'Content-Type: application/octet-stream' --data-binary @x.f32 http://127.0.0.1:8080/predict > y.f32

GET / says what the model takes and gives. A server that others can reach (--host 0.0.0.0) needs a token (the
environment's SERVE_MODEL_TOKEN, which clients send as "Authorization: Bearer TOKEN") and should speak TLS
(--certificate, --key). It ends by Ctrl-C.)",
    {{"model", "an ONNX file, or a graph that Kiln has saved"},
     {"host", "the address that it listens at; 0.0.0.0: all"},
     {"port", "the port; 0: a free one, which is printed"},
     {"batch", "the most examples that run at once"},
     {"megabytes", "the most megabytes that a request has"},
     {"certificate", "a file with the server's certificate; with --key it speaks TLS"},
     {"key", "a file with the certificate's key"}}};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { stopped = true; });
  std::signal(SIGTERM, [](int) { stopped = true; });
  return run_main(argc, argv, serve, kHelp);
}
