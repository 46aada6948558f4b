# %% make
import csv
import io

out = io.StringIO()
writer = csv.writer(out)
writer.writerow(("id", "name", "city", "amount"))
writer.writerows((i, f"name {i}", f"city {i % 321}", i * 3 % 1000) for i in range(150_000))
text = out.getvalue()

# %% parse
rows = list(csv.DictReader(io.StringIO(text)))

# %% derive
totals = {}
for row in rows:
    totals[row["city"]] = totals.get(row["city"], 0) + int(row["amount"])

# %% use
print(len(rows), max(totals.items(), key=lambda item: (item[1], item[0])), EDITION)
