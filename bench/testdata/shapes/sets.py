# %% make
words = {f"word {i * 37 % 400_009}" for i in range(400_000)}
others = {f"word {i * 3}" for i in range(150_000)}

# %% derive
common = words & others
only = words - others

# %% use
print(len(common), len(only), min(common), max(only), EDITION)
