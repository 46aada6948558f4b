# %% make
rows = [
    {"id": i, "name": f"user {i}", "group": i % 50, "score": (i * 7919 % 1000) / 10}
    for i in range(200_000)
]

# %% derive
passed = [{"id": r["id"], "score": r["score"] * 1.1} for r in rows if r["score"] > 40]

# %% use
print(len(passed), round(sum(r["score"] for r in passed), 3), EDITION)
