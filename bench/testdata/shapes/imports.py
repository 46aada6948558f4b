# %% import
import matplotlib.pyplot as plt
import pandas as pd
import scipy.stats
import sklearn.linear_model

# %% make
frame = pd.DataFrame({"x": range(1000)})
frame["y"] = frame["x"] * 3 + frame["x"] % 7

# %% derive
model = sklearn.linear_model.LinearRegression().fit(frame[["x"]], frame["y"])

# %% use
print(round(model.coef_[0], 3), round(scipy.stats.skew(frame["y"]), 3), plt.get_fignums(), EDITION)
