// Federated averaging (McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", 2017):
// each client trains on data that it shows nobody, and a server averages the weights of those that it sampled. Only weights
// travel. One client drops out in the middle; the round goes on without it.
//
//   federated [ROUNDS]
#include <kiln/kiln.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "kiln/backend/remote/hosting.hpp"
#include "kiln/core/config/arguments.hpp"

using namespace kiln;

namespace {

constexpr int kClients = 5, kSampled = 3, kLocalSteps = 10, kExamples = 64;

/// A client's private data: y = x w + 0.5, each from its own part of the line.
struct PrivateData {
  Tensor<2> x, y;
};
PrivateData data_of(int client) {
  const Device cpu = Device::cpu();
  std::mt19937 random(static_cast<unsigned>(client));
  std::normal_distribution<float> near(static_cast<float>(client) / 2 - 1, 1);
  std::vector<float> xs, ys;
  for (int i = 0; i < kExamples; ++i) {
    xs.push_back(near(random));
    ys.push_back(2 * xs.back() + 0.5f);
  }
  const auto column = [&](const std::vector<float>& v) {
    return Tensor<2>::from_data(TensorData::of<float>({kExamples, 1}, v), cpu);
  };
  return {column(xs), column(ys)};
}

/// Weights and bias, as they travel.
struct Weights {
  Tensor<2> weight;
  Tensor<1> bias;
};

/// Some steps of gradient descent on the client's own processor.
Weights trained(const Weights& from, const PrivateData& data) {
  const Device device = Device::cpu().autodiff();
  Tensor<2> weight = from.weight.to_device(device);
  Tensor<1> bias = from.bias.to_device(device);
  const Tensor<2> x = data.x.to_device(device), y = data.y.to_device(device);
  for (int step = 0; step < kLocalSteps; ++step) {
    const Tensor<2> w = weight.detach().require_grad();
    const Tensor<1> b = bias.detach().require_grad();
    const Gradients gradients = (x.matmul(w) + b - y).pow(2).mean().backward();
    weight = w.detach() - gradients.of(w).detach() * 0.05;
    bias = b.detach() - gradients.of(b).detach() * 0.05;
  }
  return {weight, bias};
}

constexpr std::string_view kHelp =
    R"(Federated averaging (McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", 2017):
each client trains on data that it shows nobody, and a server averages the weights of those that it sampled. Only weights
travel. One client drops out in the middle; the round goes on without it.

  federated [ROUNDS])";

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 1)) return *status;
  try {
    const int rounds = argc > 1 ? static_cast<int>(whole_number(argv[1], "ROUNDS", 1, 1000000)) : 20;
    // The server lends memory and sums; what it holds are weights. The clients here are parts of one program and share its
    // session; on machines of their own each would have one.
    const auto server = host(Device::cpu(), {.port = 0});
    const Device shared = Device::parse(text("remote:127.0.0.1:", server->port()));
    std::vector<PrivateData> data;
    for (int client = 0; client < kClients; ++client) data.push_back(data_of(client));

    Weights global{zeros({1, 1}, shared), zeros({1}, shared)};
    std::mt19937 random(1);
    std::vector<int> clients = {0, 1, 2, 3, 4};
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(clients.begin(), clients.end(), random);
      std::vector<Weights> sent;
      for (int k = 0; k < kSampled; ++k) {
        const int client = clients[static_cast<std::size_t>(k)];
        if (round == 2 && k == 1) {
          std::printf("round %d: client %d dropped out\n", round, client);
          continue;
        }
        const Weights own = trained(global, data[static_cast<std::size_t>(client)]);
        sent.push_back({own.weight.to_device(shared), own.bias.to_device(shared)});
      }
      Tensor<2> weight = sent[0].weight;
      Tensor<1> bias = sent[0].bias;
      for (std::size_t i = 1; i < sent.size(); ++i) {
        weight = weight + sent[i].weight;
        bias = bias + sent[i].bias;
      }
      const double part = 1.0 / static_cast<double>(sent.size());
      global = {weight * part, bias * part};
    }
    const double w = global.weight.to_vector()[0], b = global.bias.to_vector()[0];
    std::printf("after %d rounds: y = %.2f x + %.2f\n", rounds, w, b);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
