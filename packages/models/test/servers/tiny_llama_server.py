"""Makes a tiny llama model with fixed weights and serves it with llama.cpp's own HTTP server: tiny_llama_server.py FOLDER PORT"""
import sys
import time
from pathlib import Path

import gguf
import numpy
import xllamacpp

WORDS = ["▁all", "▁went", "▁well", "▁orders", "▁and", "▁sales", "▁grew", "▁in", "▁May", "▁June"]
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
EMBEDDING, HEADS, LAYERS, FEED_FORWARD, CONTEXT = 32, 2, 1, 64, 8192


def write_model(path):
    random = numpy.random.default_rng(7)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + WORDS
    types = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    types += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(WORDS)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for kind in types])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)

    def matrix(*shape):
        return random.normal(0, 0.3, shape).astype(numpy.float32)

    def ones():
        return numpy.ones(EMBEDDING, dtype=numpy.float32)

    output = numpy.zeros((len(tokens), EMBEDDING), dtype=numpy.float32)
    output[-len(WORDS):] = matrix(len(WORDS), EMBEDDING) * 3
    writer.add_tensor("token_embd.weight", matrix(len(tokens), EMBEDDING))
    writer.add_tensor("output_norm.weight", ones())
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}{name}.weight", ones())
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{name}.weight", matrix(EMBEDDING, EMBEDDING))
        writer.add_tensor(f"{block}ffn_gate.weight", matrix(FEED_FORWARD, EMBEDDING))
        writer.add_tensor(f"{block}ffn_up.weight", matrix(FEED_FORWARD, EMBEDDING))
        writer.add_tensor(f"{block}ffn_down.weight", matrix(EMBEDDING, FEED_FORWARD))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


path = Path(sys.argv[1]) / "tiny.gguf"
write_model(str(path))
parameters = xllamacpp.CommonParams()
parameters.model.path = str(path)
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.n_ctx = CONTEXT
parameters.n_parallel = 2
parameters.use_jinja = True
parameters.warmup = False
server = xllamacpp.Server(parameters)
print(f"listening on {server.listening_address}", flush=True)
while True:
    time.sleep(1)
