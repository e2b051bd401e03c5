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
    for name, data in files.items():
        path = SEEDS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
