# %% make
import json

text = json.dumps(
    [
        {"id": i, "tags": [f"t{i % 7}", f"t{i % 11}"], "place": {"x": i * 0.5, "y": [i % 13, i % 17]}, "ok": i % 3 == 0}
        for i in range(60_000)
    ]
)

# %% parse
documents = json.loads(text)

# %% derive
tags = {}
for d in documents:
    for t in d["tags"]:
        tags[t] = tags.get(t, 0) + 1

# %% use
print(sorted(tags.items()), sum(d["place"]["x"] for d in documents if d["ok"]), EDITION)
