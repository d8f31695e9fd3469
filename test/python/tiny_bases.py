"""
Writes tiny random bases {name: {"type": "qwen2" | "llama" | "qwen3", "tied": bool, "large": number}} as folders of models, seeded. `large`
makes each value so many times larger and its projection back smaller: the same function, but for 16-bit floats.
"""

import json
import sys
from pathlib import Path

import torch
import transformers

asked = json.load(sys.stdin)
torch.set_num_threads(1)
for name, one in asked["bases"].items():
    torch.manual_seed(7)
    sizes = dict(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        max_position_embeddings=512, initializer_range=0.2, tie_word_embeddings=one["tied"], bos_token_id=200, eos_token_id=201, pad_token_id=200,
    )  # fmt: skip
    kind = {"qwen2": "Qwen2", "llama": "Llama", "qwen3": "Qwen3"}[one["type"]]
    model = getattr(transformers, f"{kind}ForCausalLM")(getattr(transformers, f"{kind}Config")(**sizes))
    with torch.no_grad():
        # Biases and norms are drawn as well: a graph that left one out would give other numbers.
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn(parameter.shape))
        for layer in model.model.layers:
            for parameter in layer.self_attn.v_proj.parameters():
                parameter.mul_(one.get("large", 1))
            layer.self_attn.o_proj.weight.div_(one.get("large", 1))
    model.save_pretrained(Path(asked["folder"]) / name)
print("{}")
