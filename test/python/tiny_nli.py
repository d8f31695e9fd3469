"""Writes a tiny random NLI cross-encoder (BERT, ONNX and tokenizer) into a folder, and gives torch's probabilities of the pairs asked for."""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

asked = json.load(sys.stdin)
torch.set_num_threads(1)
torch.manual_seed(11)
folder = Path(asked["folder"])
folder.mkdir(parents=True, exist_ok=True)
words = sorted({word for pair in asked["pairs"] for text in pair for word in text.lower().replace(".", " . ").replace(":", " : ").replace(",", " , ").split()})
vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
tokenizer.normalizer = normalizers.Lowercase()
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
)
fast = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", model_max_length=64
)
fast.save_pretrained(folder)
config = BertConfig(
    vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
    initializer_range=0.5, id2label={0: "contradiction", 1: "neutral", 2: "Entailment"}, label2id={"contradiction": 0, "neutral": 1, "Entailment": 2},
)  # fmt: skip
model = BertForSequenceClassification(config).eval()
model.config.save_pretrained(folder)


class Logits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


# The export puts the mode back in which it finds a model: without this, dropout would be on behind it.
logits = Logits().eval()
encoded = [tokenizer.encode(*pair) for pair in asked["pairs"]]
example = tuple(torch.tensor([values]) for values in (encoded[0].ids, encoded[0].attention_mask, encoded[0].type_ids))
names = ["input_ids", "attention_mask", "token_type_ids"]
torch.onnx.export(
    logits, example, folder / "model.onnx", input_names=names, output_names=["logits"], dynamo=False,
    dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names}, opset_version=17,
)  # fmt: skip
with torch.no_grad():
    rows = [logits(*(torch.tensor([values]) for values in (one.ids, one.attention_mask, one.type_ids))) for one in encoded]
    print(json.dumps({"probabilities": [torch.softmax(row[0], -1).tolist() for row in rows], "ids": [one.ids for one in encoded]}))
