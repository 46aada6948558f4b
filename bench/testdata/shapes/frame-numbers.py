# %% make
import numpy as np
import pandas as pd

n = 1_000_000
frame = pd.DataFrame({f"c{k}": np.arange(n) * (k + 0.5) % 1013 for k in range(10)})
frame["group"] = np.arange(n) % 100

# %% derive
means = frame.groupby("group").mean()
scaled = frame[frame["c1"] > 100] * 2

# %% use
print(means["c3"].sum().round(3), len(scaled), EDITION)
