"""Ids that transformers gives to chats: {folder, chats: [[message, ...], ...]} on stdin, {text, ids} for each chat on stdout."""

import json
import os
import sys

from transformers import PreTrainedTokenizerFast

asked = json.load(sys.stdin)
folder = asked["folder"]
with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
    config = json.load(file)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=os.path.join(folder, "tokenizer.json"),
    **{name: config[name] for name in ("bos_token", "eos_token", "pad_token", "unk_token") if config.get(name)},
)
answers = []
for messages in asked["chats"]:
    text = tokenizer.apply_chat_template(
        messages,
        chat_template=config["chat_template"],
        add_generation_prompt=True,
        tokenize=False,
        date_string="26 Jul 2024",
    )
    answers.append({"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]})
json.dump(answers, sys.stdout)
