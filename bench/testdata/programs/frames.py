# Sales in pandas: read, clean, join, group, pivot.

# %% make
import numpy as np
import pandas as pd

rng = np.random.default_rng(6)
n = 1_200_000
sales = pd.DataFrame({
    "shop": rng.integers(0, 50, n),
    "item": rng.integers(0, 1000, n),
    "price": rng.gamma(2.0, 10.0, n),
    "count": rng.integers(1, 9, n),
    "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
})

# %% look
sales.head()

# %% describe
sales.describe()

# %% clean
sales.loc[sales["price"] < 1, "price"] = np.nan
sales = sales.dropna()
sales["revenue"] = sales["price"] * sales["count"]
len(sales)

# %% items
items = pd.DataFrame({"item": np.arange(1000), "kind": [f"kind {i % 17}" for i in range(1000)]})
joined = sales.merge(items, on="item")
joined.shape

# %% by kind
kinds = joined.groupby("kind")["revenue"].agg(["sum", "mean", "count"]).round(2)
print(kinds.head())

# %% by month
monthly = joined.groupby([joined["day"].dt.month, "kind"])["revenue"].sum().unstack()
monthly.round(0).head()

# %% top
joined.sort_values("revenue", ascending=False).head(10)

# %% rolling
daily = joined.groupby("day")["revenue"].sum()
daily.rolling(7).mean().dropna().round(1).tail()

# %% interval
draws = [float(rng.choice(daily.to_numpy(), daily.size).mean()) for _ in range(20_000)]
np.quantile(draws, [0.025, 0.975]).round(0)

# %% lags
table = pd.DataFrame({f"lag {k}": daily.shift(k) for k in range(1, 15)}).assign(today=daily).dropna()
scores = []
for _ in range(300):
    part = table.sample(frac=0.7, random_state=rng.integers(1 << 31))
    x, y = part.drop(columns="today").to_numpy(), part["today"].to_numpy()
    weights, *_ = np.linalg.lstsq(x, y, rcond=None)
    scores.append(float(np.corrcoef(x @ weights, y)[0, 1]))
round(float(np.mean(scores)), 3)
