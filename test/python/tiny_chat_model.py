"""
Writes a folder with a tiny random chat model, seeded: letters as tokens (those of bytes), a chat template, and weights that `transformers serve`
loads in no time. Input: {"folder"}.
"""

import json
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = json.load(sys.stdin)["folder"]
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
special = ["<|start|>", "<|end|>"]
vocab = {token: at for at, token in enumerate(letters + special)}
tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=special[0], eos_token=special[1], pad_token=special[0])
fast.chat_template = (
    "{% for m in messages %}<|start|>{{ m['role'] }}: {{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant: {% endif %}"
)
fast.save_pretrained(folder)
torch.manual_seed(7)
config = LlamaConfig(
    vocab_size=len(vocab), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=512, initializer_range=0.2, bos_token_id=vocab[special[0]], eos_token_id=vocab[special[1]], pad_token_id=vocab[special[0]],
)  # fmt: skip
LlamaForCausalLM(config).save_pretrained(folder)
print("{}")
