"""Writes a two-layer Qwen2 of random weights, seeded, to a folder; its embedding has Qwen2.5's size."""

import json
import sys

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

folder = json.load(sys.stdin)["folder"]
torch.set_num_threads(1)
torch.manual_seed(7)
config = Qwen2Config(
    vocab_size=151936, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=2048, initializer_range=0.2, tie_word_embeddings=True, bos_token_id=151643, eos_token_id=151645, pad_token_id=151643,
)  # fmt: skip
Qwen2ForCausalLM(config).save_pretrained(folder)
print("{}")
