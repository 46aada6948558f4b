# Text that is made, cut into words, counted and searched.
import random
import re
from collections import Counter, defaultdict

STOP = {"the", "of", "and"}


def sentence(rng, words):
    return " ".join(rng.choices(words, k=12)).capitalize() + "."


def main():
    rng = random.Random(11)
    syllables = ["ka", "lo", "mi", "ren", "tu", "sa", "vor", "ne"]
    words = sorted({"".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(900)} | STOP)
    print(len(words), "words")

    text = "\n".join(sentence(rng, words) for _ in range(15_000))
    print(len(text), "characters")

    tokens = re.findall(r"[a-z]+", text.lower())
    counts = Counter(t for t in tokens if t not in STOP)
    print(counts.most_common(3))

    index = defaultdict(list)
    for number, line in enumerate(text.split("\n")):
        for word in set(re.findall(r"[a-z]+", line.lower())):
            index[word].append(number)
    print("longest entry", max(len(v) for v in index.values()))

    pairs = Counter(zip(tokens, tokens[1:]))
    print(pairs.most_common(2))

    lengths = Counter(map(len, tokens))
    for length, count in sorted(lengths.items())[:4]:
        print(f"{length:2} {count}")

    with open("words.txt", "w") as f:
        f.writelines(f"{w} {c}\n" for w, c in sorted(counts.items()))
    print("wrote", len(counts))


main()
