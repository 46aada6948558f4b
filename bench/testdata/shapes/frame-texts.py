# %% make
import pandas as pd

frame = pd.DataFrame(
    {
        "name": [f"name {i * 7 % 100_003}" for i in range(400_000)],
        "city": [f"city {i % 321}" for i in range(400_000)],
        "amount": range(400_000),
    }
)

# %% derive
frame["first"] = frame["name"].str.slice(0, 6)
by_city = frame.groupby("city")["amount"].sum()

# %% use
print(by_city.max(), frame["first"].nunique(), EDITION)
