# %% prices
prices = [3, 5, 4]

# %% total
total = sum(prices)
print("total", total)

# %% report
print(f"mean {total / 3:.1f}")
