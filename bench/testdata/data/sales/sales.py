# Sales of a year: read, clean, join, summarise, export, and read the export again.

# %% setup
import numpy as np
import pandas as pd

# %% read
sales = pd.read_csv("sales.csv", parse_dates=["day"])
items = pd.read_csv("items.csv")
print(len(sales), "rows,", int(sales["price"].isna().sum()), "without a price")

# %% fill
typical = sales.groupby("item")["price"].transform("median")
sales["price"] = sales["price"].fillna(typical)

# %% clean
sales.loc[sales["price"] > 80, "price"] = 80.0
sales["revenue"] = (sales["price"] * sales["count"]).round(2)

# %% join
joined = sales.merge(items, on="item", how="left")
joined.shape

# %% by kind
kinds = joined.groupby("kind")["revenue"].agg(["sum", "mean", "count"]).round(2)
print(kinds)

# %% by month
monthly = joined.groupby([joined["day"].dt.month, "kind"])["revenue"].sum().unstack().fillna(0.0)
monthly.round(0).head(3)

# %% growth
growth = monthly.pct_change().dropna().mean().round(4)
print(growth.to_dict())

# %% export
kinds.to_csv("kinds.csv")
monthly.round(2).to_csv("monthly.csv")

# %% shops
shops = joined.pivot_table(index="shop", columns="kind", values="revenue", aggfunc="sum")
best = shops.idxmax(axis=1)
print(best.to_dict())

# %% interval
rng = np.random.default_rng(11)
daily = joined.groupby("day")["revenue"].sum().to_numpy()
means = np.array([rng.choice(daily, daily.size).mean() for _ in range(3000)])
low, high = np.quantile(means, [0.025, 0.975])
print(f"a day brings {daily.mean():.1f} ({low:.1f} to {high:.1f})")

# %% simulate
stock = np.full(40, 60)
out_of = np.zeros(40, dtype=int)
for item, count in joined.sort_values("day", kind="stable")[["item", "count"]].itertuples(index=False):
    if stock[item] < count:
        out_of[item] += 1
        stock[item] += 60
    stock[item] -= count
print("short of", int(out_of.sum()), "times")

# %% again
exported = pd.read_csv("kinds.csv", index_col=0)
assert exported["count"].sum() == len(joined)
exported["share"] = (exported["sum"] / exported["sum"].sum()).round(3)
exported

# %% report
with open("report.txt", "w") as f:
    f.write(f"revenue {joined['revenue'].sum():.0f}, best kind {kinds['sum'].idxmax()}\n")
print(open("report.txt").read(), end="")
