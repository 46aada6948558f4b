# %% make
pairs = [(i, i * 31 % 1009, f"k{i % 5000}") for i in range(300_000)]

# %% derive
ordered = sorted(pairs, key=lambda p: (p[1], p[2]))

# %% use
print(ordered[0], ordered[-1], sum(p[1] for p in ordered), EDITION)
