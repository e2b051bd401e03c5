#!/usr/bin/env python3
"""Writes the small binary seeds of the fuzzers into tests/fuzz/seeds/ (text seeds are committed by hand).

Usage: python3 tests/fuzz/make_seeds.py
"""

import json
import pathlib
import struct

SEEDS = pathlib.Path(__file__).parent / "seeds"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(version: int, entries: list[bytes], tensors: list[tuple[str, list[int], int, int]]) -> bytes:
    """Tensors are (name, dims, ggml type id, bytes)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries)
    offset = 0
    for name, dims, type_id, size in tensors:
        out += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}q", *dims)
        out += struct.pack("<IQ", type_id, offset)
        offset = (offset + size + 31) // 32 * 32
    return out + bytes(-len(out) % 32) + bytes(offset)


def u32(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def numbers(key: str, type_id: int, code: str, values: list) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, type_id, len(values)) + struct.pack(f"<{len(values)}{code}", *values)


def strings(key: str, values: list[str]) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def scalars() -> list[bytes]:
    """One entry of every scalar type."""
    codes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    return [text(f"k{i}") + struct.pack("<I", i) + struct.pack(f"<{code}", 1) for i, code in codes.items()]


def safetensors(header: dict, data: int) -> bytes:
    body = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(body)) + body + bytes(data)


class Model:
    """A tiny model of one GGUF architecture; all matrices are F16, all vectors F32."""

    def __init__(self, name: str, **counts: int) -> None:
        self.name = name
        self.entries = [string("general.architecture", name)]
        self.tensors: list[tuple[str, list[int], int, int]] = []
        for key, value in {"block_count": 2, "embedding_length": 32, "context_length": 64}.items():
            self.count(key, counts.pop(key, value))
        for key, value in counts.items():
            self.count(key.replace("__", "."), value)
        self.matrix("token_embd.weight", 32, 48)
        self.vector("output_norm.weight", 32)

    def count(self, key: str, value: int) -> None:
        self.entries.append(u32(f"{self.name}.{key}", value))

    def matrix(self, name: str, *dims: int) -> None:
        size = 2
        for dim in dims:
            size *= dim
        self.tensors.append((name, list(dims), 1, size))

    def vector(self, name: str, n: int) -> None:
        self.tensors.append((name, [n], 0, 4 * n))

    def block(self, i: int, **shapes: tuple[int, ...]) -> None:
        self.vector(f"blk.{i}.attn_norm.weight", 32)
        self.vector(f"blk.{i}.ffn_norm.weight", 32)
        for name, dims in shapes.items():
            self.matrix(f"blk.{i}.{name.replace('__', '.')}.weight", *dims)

    def bytes(self) -> bytes:
        """Without the data, which the fuzzer claims to be there: seeds stay small."""
        whole = gguf(3, self.entries, self.tensors)
        data = 0
        for _, _, _, size in self.tensors:
            data = (data + size + 31) // 32 * 32
        return whole[: len(whole) - data]


DENSE = {"ffn_gate": (32, 64), "ffn_up": (32, 64), "ffn_down": (64, 32)}
ATTENTION = {"attn_q": (32, 32), "attn_k": (32, 16), "attn_v": (32, 16), "attn_output": (32, 32)}
EXPERTS = {
    "ffn_gate_inp": (32, 4),
    "ffn_gate_exps": (32, 16, 4),
    "ffn_up_exps": (32, 16, 4),
    "ffn_down_exps": (16, 32, 4),
    "ffn_down_shexp": (16, 32),
}


def whole_models() -> dict[str, bytes]:
    heads = {"attention__head_count": 2, "attention__head_count_kv": 1}
    experts = {"expert_count": 4, "expert_used_count": 2}
    models = {}
    models["moe"] = Model("gpt-oss", attention__sliding_window=8, **heads, **experts)
    for i in range(2):
        models["moe"].block(i, **ATTENTION, **EXPERTS)
    models["mla"] = Model(
        "deepseek2",
        attention__head_count=2,
        attention__kv_lora_rank=8,
        attention__key_length=12,
        attention__value_length=8,
        attention__key_length_mla=12,
        rope__dimension_count=4,
        nextn_predict_layers=1,
    )
    for i in range(2):
        models["mla"].block(i, attn_q=(32, 24), attn_kv_a_mqa=(32, 12), attn_output=(16, 32), **DENSE)
    ssm = {"ssm__conv_kernel": 4, "ssm__state_size": 8, "ssm__group_count": 1, "ssm__time_step_rank": 2}
    models["delta"] = Model("qwen35", **ssm, **heads)
    models["delta"].block(0, ssm_beta=(32, 2), ssm_out=(16, 32), attn_qkv=(32, 32), **DENSE)
    models["delta"].block(1, **ATTENTION, **DENSE)
    models["mamba"] = Model("nemotron_h", ssm__inner_size=16, **ssm, **heads)
    models["mamba"].block(0, ssm_in=(32, 50), ssm_out=(16, 32))
    models["mamba"].block(1, **ATTENTION)
    models["conv"] = Model("lfm2", shortconv__l_cache=3, **heads)
    models["conv"].block(0, shortconv__in_proj=(32, 96), **DENSE)
    models["conv"].block(1, **ATTENTION, **DENSE)
    return {f"gguf/{name}.gguf": model.bytes() for name, model in models.items()}


def main() -> None:
    llama = [
        string("general.architecture", "llama"),
        u32("llama.block_count", 1),
        u32("llama.embedding_length", 32),
        numbers("llama.attention.head_count_kv", 5, "i", [1]),
        numbers("scores", 6, "f", [0.5]),
        strings("tokenizer.ggml.tokens", ["a", "bc"]),
    ]
    tensors = [("token_embd.weight", [32, 2], 8, 68), ("blk.0.attn_q.weight", [32, 1], 0, 128)]
    files = {
        "gguf/llama.gguf": gguf(3, llama, tensors),
        "gguf/scalars.gguf": gguf(2, scalars(), []),
        "gguf/split.gguf": gguf(3, [text("split.no") + struct.pack("<IH", 2, 1)], tensors),
        "gguf/big_endian.gguf": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
        "gguf/aligned.gguf": gguf(3, [u32("general.alignment", 32)], tensors),
        "safetensors/two.safetensors": safetensors(
            {
                "__metadata__": {"format": "pt"},
                "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
                "b": {"dtype": "F4", "shape": [4], "data_offsets": [8, 10]},
            },
            10,
        ),
        "safetensors/empty.safetensors": safetensors({}, 0),
        "safetensors/header.json": json.dumps(
            {"model.layers.0.mlp.experts.1.w1": {"dtype": "I32", "shape": [16], "data_offsets": [0, 64]}}
        ).encode(),
    }
    files.update(whole_models())
    for name, data in files.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
