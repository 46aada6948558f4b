# %% make
rows = [
    {"id": i, "name": f"user {i}", "group": i % 50, "score": (i * 7919 % 1000) / 10}
    for i in range(200_000)
]

# %% index
by_group = {}
for r in rows:
    by_group.setdefault(r["group"], []).append(r)

# %% derive
means = {g: sum(r["score"] for r in rs) / len(rs) for g, rs in by_group.items()}

# %% use
best = max(means, key=means.get)
print(best, round(means[best], 3), len(by_group[best]), len(rows), EDITION)
