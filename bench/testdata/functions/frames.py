# Tables of pandas and arrays of numpy, cleaned, joined and summed up.
import numpy as np
import pandas as pd


def make_sales(rows, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D"),
        "store": rng.integers(0, 40, rows),
        "units": rng.poisson(5, rows).astype(float),
        "price": rng.normal(20, 4, rows).round(2),
    })


def clean(sales):
    sales = sales.copy()
    sales.loc[sales["units"] > 14, "units"] = np.nan
    return sales.dropna().assign(value=lambda t: t["units"] * t["price"])


def main():
    sales = make_sales(400_000, 5)
    print(sales.shape)

    kept = clean(sales)
    print("kept", len(kept))

    stores = pd.DataFrame({"store": range(40), "area": ["a", "b", "c", "d"] * 10})
    joined = kept.merge(stores, on="store")
    print(joined.groupby("area")["value"].sum().round(1).to_dict())

    monthly = joined.groupby([joined["day"].dt.month, "area"])["value"].mean().unstack()
    print(monthly.round(2).head(3).to_string())

    best = joined.nlargest(5, "value")[["store", "units", "price"]]
    print(best.to_string(index=False))

    matrix = np.cov(monthly.to_numpy().T)
    print("largest eigenvalue", round(float(np.linalg.eigvalsh(matrix)[-1]), 3))

    monthly.to_csv("monthly.csv")
    print("wrote monthly.csv")


if __name__ == "__main__":
    main()
