# %% make
values = [i * 0.37 % 11.3 for i in range(2_000_000)]

# %% derive
scaled = [v * 2.5 - 1 for v in values]

# %% use
print(round(sum(scaled), 3), max(values), len(scaled), EDITION)
