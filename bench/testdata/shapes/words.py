# %% make
import re

text = " ".join(f"word{i % 4001} item-{i % 77}," for i in range(400_000))

# %% derive
found = re.findall(r"[a-z]+\d+", text)
counts = {}
for word in found:
    counts[word] = counts.get(word, 0) + 1

# %% use
print(len(found), sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3], EDITION)
