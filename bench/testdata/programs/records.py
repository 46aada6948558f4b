# JSON records through a small pipeline: lists of dicts, sorting, grouping, a file written and read.

# %% make
import json
import random

random.seed(2)
cities = ["Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Perth"]
rows = [{"id": i, "city": random.choice(cities), "amount": round(random.expovariate(0.01), 2), "day": random.randrange(365)} for i in range(60000)]
len(rows)

# %% write
with open("orders.json", "w") as f:
    for r in rows:
        f.write(json.dumps(r) + "\n")

# %% read
with open("orders.json") as f:
    orders = [json.loads(line) for line in f]
orders[0]

# %% clean
orders = [o for o in orders if o["amount"] > 1]
for o in orders:
    o["week"] = o["day"] // 7
len(orders)

# %% by city
by_city = {}
for o in orders:
    by_city.setdefault(o["city"], []).append(o["amount"])
for city in sorted(by_city):
    print(city, len(by_city[city]), round(sum(by_city[city]), 2))

# %% by week
weekly = {}
for o in orders:
    weekly[o["week"]] = weekly.get(o["week"], 0) + o["amount"]
[round(weekly[w]) for w in sorted(weekly)][:10]

# %% top
top = sorted(orders, key=lambda o: (-o["amount"], o["id"]))[:10]
[(o["city"], o["amount"]) for o in top]

# %% median
import statistics

{c: round(statistics.median(v), 2) for c, v in sorted(by_city.items())}

# %% interval
intervals = {}
for c, v in sorted(by_city.items()):
    medians = sorted(statistics.median(random.choices(v, k=1000)) for _ in range(400))
    intervals[c] = round(medians[10], 2), round(medians[-11], 2)
intervals

# %% streaks
from datetime import date, timedelta

first = date(2024, 1, 1)
busy = {}
for o in orders:
    day = first + timedelta(days=o["day"])
    key = f"{day:%Y-%m}", o["city"]
    total, count = busy.get(key, (0.0, 0))
    busy[key] = total + o["amount"], count + 1
max((round(t, 2), k) for k, (t, _) in busy.items())
