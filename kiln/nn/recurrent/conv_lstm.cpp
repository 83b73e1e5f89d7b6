#include "kiln/nn/recurrent/conv_lstm.hpp"

#include "kiln/ops/functions.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::nn {

ConvLstmPass conv_lstm(const Value& x, FunctionRef<Value(const Value&)> of_input,
                       FunctionRef<Value(const Value&)> of_hidden, Value hidden, Value cell) {
  const Shape& given = x.shape();
  const std::int64_t batch = given[0], time = given[1];
  require<ShapeError>(time > 0, "ConvLstm: x ", given, " has no time steps");
  Shape pictures{batch * time};
  for (int i = 2; i < given.size(); ++i) pictures.push_back(given[i]);
  const Value all = of_input(reshape(x, pictures));  // computes all time steps at once
  const std::int64_t width = all.dim(1) / 4;
  Shape by_time{batch, time}, state{batch, width};
  for (int i = 1; i < all.rank(); ++i) by_time.push_back(all.dim(i));
  for (int i = 2; i < all.rank(); ++i) state.push_back(all.dim(i));
  for (const Value& start : {hidden, cell})
    if (!start.empty())
      require<ShapeError>(start.shape() == state, "ConvLstm: a state of shape ", start.shape(), " does not fit x ",
                          given, ", it should be ", state);

  Values outputs;
  for (const Value& time_step : split(reshape(all, by_time), 1, 1)) {
    Value gates = squeeze(time_step, 1);
    if (!hidden.empty()) gates = gates + of_hidden(hidden);
    const Values gate = split(gates, width, 1);
    const Value entering = sigmoid(gate[0]) * tanh(gate[2]);
    cell = cell.empty() ? entering : sigmoid(gate[1]) * cell + entering;
    hidden = sigmoid(gate[3]) * tanh(cell);
    outputs.push_back(hidden);
  }
  return {stack(outputs, 1), hidden, cell};
}

}  // namespace kiln::nn
