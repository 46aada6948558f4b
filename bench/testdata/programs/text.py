# Word statistics of generated prose: strings, dicts, Counter, re.

# %% corpus
import random
import re
from collections import Counter, defaultdict

random.seed(1)
stems = ["data", "model", "run", "state", "cell", "graph", "node", "patch", "value", "trace", "block", "name"]
ends = ["", "s", "ed", "ing", "er", "less", "ful"]
words = [a + b for a in stems for b in ends]
documents = [" ".join(random.choices(words, k=120)) + "." for _ in range(6000)]
len(documents)

# %% tokens
token = re.compile(r"[a-z]+")


def tokens(text):
    return [w for w in token.findall(text.lower()) if len(w) > 3]


split = [tokens(d) for d in documents]
sum(len(s) for s in split)

# %% frequencies
frequency = Counter()
for s in split:
    frequency.update(s)
frequency.most_common(5)

# %% document frequency
seen_in = defaultdict(int)
for s in split:
    for w in set(s):
        seen_in[w] += 1
len(seen_in)

# %% weights
import math

idf = {w: math.log(len(split) / n) for w, n in seen_in.items()}
weights = []
for s in split:
    c = Counter(s)
    weights.append({w: n * idf[w] for w, n in c.items()})
len(weights)


# %% similarity
def cosine(a, b):
    dot = sum(x * b[w] for w, x in a.items() if w in b)
    return dot / math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))


for k in range(0, 6000, 250):
    best = max((cosine(weights[k], w), i) for i, w in enumerate(weights) if i != k)
print(best)

# %% bigrams
bigrams = Counter()
for s in split:
    bigrams.update(zip(s, s[1:]))
bigrams.most_common(3)
