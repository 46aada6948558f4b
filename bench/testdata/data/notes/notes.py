# Sixty notes: words, an index that grows, similar notes, groups. The standard library alone.

# %% setup
import collections
import math
import re
import random

# %% read
notes = {}
with open("notes.txt") as f:
    for line in f:
        if line.startswith("# "):
            current = notes.setdefault(line[2:].strip(), [])
        else:
            current.append(line.strip())
print(len(notes))

# %% words
def words(lines):
    return re.findall(r"[a-z]+", " ".join(lines).lower())

counts = {name: collections.Counter(words(lines)) for name, lines in notes.items()}
print(counts["note 0"].most_common(2))

# %% index
class Index:
    def __init__(self):
        self.where = {}

    def add(self, name, count):
        for word, n in count.items():
            self.where.setdefault(word, {})[name] = n

    def find(self, *wanted):
        hits = [set(self.where.get(w, ())) for w in wanted]
        return sorted(set.intersection(*hits)) if hits else []


index = Index()
for name in list(counts)[:40]:
    index.add(name, counts[name])
print(len(index.where), len(index.find("time", "year")))

# %% late
for name in list(counts)[40:]:
    index.add(name, counts[name])
print(len(index.find("time", "year")))

# %% weights
weight = {word: math.log(len(notes) / len(found)) for word, found in index.where.items()}
vectors = {name: {w: n * weight[w] for w, n in c.items()} for name, c in counts.items()}
print(sorted(weight, key=lambda w: (-weight[w], w))[:3])

# %% similar
def similar(a, b):
    dot = sum(x * b.get(w, 0.0) for w, x in a.items())
    size = math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))
    return dot / size if size else 0.0

names = sorted(vectors)
pairs = {(a, b): similar(vectors[a], vectors[b]) for i, a in enumerate(names) for b in names[i + 1:]}
top = max(pairs, key=lambda p: (pairs[p], p))
print(top, round(pairs[top], 3))

# %% groups
random.seed(4)

def grouped(k=4, rounds=12):
    centers = [dict(vectors[n]) for n in random.sample(names, k)]
    for _ in range(rounds):
        member = {n: max(range(k), key=lambda i: (similar(vectors[n], centers[i]), -i)) for n in names}
        for i in range(k):
            own = [vectors[n] for n in names if member[n] == i]
            centers[i] = {w: sum(v.get(w, 0.0) for v in own) / max(len(own), 1) for w in index.where}
    return member

member = grouped()
print(sorted(collections.Counter(member.values()).items()))

# %% label
labels = {}
for group in sorted(set(member.values())):
    total = collections.Counter()
    for n in names:
        if member[n] == group:
            total.update(counts[n])
    labels[group] = [w for w, _ in total.most_common(3)]
labels

# %% rename
titles = {n: " ".join(labels[member[n]]) for n in names}
notes.update({"all": [titles[n] for n in names]})
print(len(notes), titles["note 7"])

# %% write
with open("index.txt", "w") as out:
    for word in sorted(index.where):
        out.write(word + ": " + ", ".join(sorted(index.where[word])) + "\n")
print(sum(1 for _ in open("index.txt")))
