# %% make
lines = [f"line {i} of {i * 7 % 1013} with some words in it" for i in range(500_000)]

# %% derive
shouted = [line.upper() for line in lines if line.endswith("it")]

# %% use
print(len(shouted), sum(map(len, shouted)), shouted[-1], EDITION)
