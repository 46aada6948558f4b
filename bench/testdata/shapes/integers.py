# %% make
numbers = [i * i % 1_000_003 for i in range(2_000_000)]

# %% derive
odd = [n for n in numbers if n % 2]

# %% use
print(len(odd), sum(odd), max(numbers), EDITION)
