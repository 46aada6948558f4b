# %% make
import numpy as np

rng = np.random.default_rng(7)
a = rng.normal(size=(2_500, 4_000))

# %% derive
b = a - a.mean(axis=0)
c = b.T[:200] @ b

# %% use
print(a.shape, c.shape, round(float(np.abs(c).sum()), 3), EDITION)
