#!/usr/bin/env python3
"""Writes language_figures.hpp: what PyTorch makes of small language models whose weights a formula fills.
usage: language_figures.py > language_figures.hpp"""
import json
import math

import torch

import language_reference as reference


def weights(shapes):
    """Element i of tensor k, counted in the order of the names: tests/models/published.cpp has the same."""
    result = {}
    for k, (name, shape) in enumerate(sorted(shapes.items())):
        i = torch.arange(math.prod(shape), dtype=torch.float64)
        value = ((i + 1) * 0.7548776662466927 + (k + 1) * 0.5698402909980532).remainder(1) - 0.5
        result[name] = (value + (1 if len(shape) == 1 and name.endswith("weight") else 0)).float().reshape(shape)
    return result


def show(name, config, shapes, **numbers):
    print(f"inline constexpr const char* k{name}Config = R\"({json.dumps(config)})\";")
    print(f"inline const std::vector<Published> k{name}Weights = {{")
    for path, shape in sorted(shapes.items()):
        print(f"    {{\"{path}\", {{{', '.join(map(str, shape))}}}}},")
    print("};")
    for what, values in numbers.items():
        listed = ", ".join(f"{value:.9g}" for value in values.flatten().tolist())
        print(f"inline const std::vector<{'float' if values.is_floating_point() else 'std::int64_t'}> k{name}{what} = {{{listed}}};")


print(f"""// What language_figures.py found with PyTorch {torch.__version__}. Do not edit.
// clang-format off
#pragma once
#include <string>
#include <vector>

#include "kiln/core/shape.hpp"

namespace kiln::models {{

struct Published {{
  std::string name;
  Shape shape;
}};
""")
with torch.inference_mode():
    shapes = reference.gpt2_shapes()
    ids = torch.tensor([[3, 18, 0, 7, 7, 11, 2], [5, 1, 4, 16, 9, 2, 6]])
    show("Gpt2", reference.GPT2, shapes, Ids=ids, Logits=reference.gpt2(weights(shapes), ids))
    shapes = reference.llama_shapes()
    ids = torch.tensor([[16, 3, 3, 0, 8, 11, 1, 5], [2, 9, 4, 7, 12, 6, 15, 10]])
    show("Llama", reference.LLAMA, shapes, Ids=ids, Logits=reference.llama(weights(shapes), ids))
    shapes = reference.bert_shapes()
    ids = torch.tensor([[1, 20, 7, 7, 2, 15], [22, 4, 9, 0, 0, 0]])
    segments = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]])
    there = torch.arange(6) < torch.tensor([[6], [3]])
    hidden, pooled = reference.bert(weights(shapes), ids, segments, there)
    show("Bert", reference.BERT, shapes, Ids=ids, Segments=segments, There=there.long(), Hidden=hidden, Pooled=pooled)
print("\n}  // namespace kiln::models")
