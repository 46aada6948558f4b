# %% make
names = {f"key {i}": f"value {i * 31 % 7919}" for i in range(400_000)}

# %% derive
inverse = {v: k for k, v in names.items()}

# %% use
print(len(names), len(inverse), inverse["value 17"], EDITION)
