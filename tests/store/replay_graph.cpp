// replay_graph PROGRAM INPUTS RESULTS: another process, which knows of a captured program what its file says.
#include <cstdio>

#include "kiln/store/graph_file.hpp"
#include "kiln/store/save.hpp"

using namespace kiln;

int main(int, char** arguments) try {
  const Graph graph = load_graph(arguments[1], Device::best());
  TensorFile inputs = load_tensors(arguments[2]), results;
  Values in;
  for (std::size_t i = 0; i < inputs.tensors.size(); ++i)
    in.push_back(from_data(inputs.tensors.at(text(i)), Device::best()));
  const Values out = graph.replay(in);
  for (std::size_t i = 0; i < out.size(); ++i) results.tensors.emplace(text(i), out[i].data());
  save_tensors(results, arguments[3]);
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
