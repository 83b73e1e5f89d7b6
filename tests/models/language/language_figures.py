#!/usr/bin/env python3
"""Writes language_figures.json: what PyTorch makes of small language models whose weights a formula fills.
usage: language_figures.py"""
import pathlib

import torch

import language_reference as reference
from language_figures_format import described, weights

with torch.inference_mode():
    shapes = reference.gpt2_shapes()
    ids = torch.tensor([[3, 18, 0, 7, 7, 11, 2], [5, 1, 4, 16, 9, 2, 6]])
    gpt2 = described(reference.GPT2, shapes, ids=ids, logits=reference.gpt2(weights(shapes), ids))
    shapes = reference.llama_shapes()
    ids = torch.tensor([[16, 3, 3, 0, 8, 11, 1, 5], [2, 9, 4, 7, 12, 6, 15, 10]])
    llama = described(reference.LLAMA, shapes, ids=ids, logits=reference.llama(weights(shapes), ids))
    shapes = reference.bert_shapes()
    ids = torch.tensor([[1, 20, 7, 7, 2, 15], [22, 4, 9, 0, 0, 0]])
    segments = torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 0, 0]])
    there = torch.arange(6) < torch.tensor([[6], [3]])
    hidden, pooled = reference.bert(weights(shapes), ids, segments, there)
    bert = described(reference.BERT, shapes, ids=ids, segments=segments, there=there.long(), hidden=hidden, pooled=pooled)
pathlib.Path(__file__).with_suffix(".json").write_text(
    f'{{"made_with": "PyTorch {torch.__version__}",\n"gpt2": {gpt2},\n"llama": {llama},\n"bert": {bert}}}\n')
