# Palmer penguins: how much heavier is a penguin whose flippers are a millimetre longer?
#
# Nothing but the standard library. Run it from the directory it is in: it reads penguins.csv and writes out/summary.csv.

# %% setup
import csv
import math
import os
import random
import statistics
from collections import Counter, defaultdict

MEASURES = [
    "bill_length_mm",
    "bill_depth_mm",
    "flipper_length_mm",
    "body_mass_g"
]
SEED = 20071111       # the first nest was seen with an egg on 2007-11-11
RESAMPLES = 5000

# %% load
with open("penguins.csv", newline="") as f:
    rows = list(csv.DictReader(f))
print(f"{len(rows)} rows, {len(rows[0])} columns")
Counter(row["species"] for row in rows)

# %% clean
penguins = []
for row in rows:
    if all(value != "NA" for value in row.values()):
        bird = {key: row[key] for key in ("species", "island", "sex")} | {"year": int(row["year"])}
        bird |= {measure: float(row[measure]) for measure in MEASURES}
        penguins.append(bird)
print(f"{len(penguins)} complete, {len(rows) - len(penguins)} dropped")

# %% enrich
# In place: every bird gets two more fields.
for bird in penguins:
    bird["bill_ratio"] = bird["bill_length_mm"] / bird["bill_depth_mm"]
    bird["log_mass"] = math.log(bird["body_mass_g"])
sorted(penguins[0])

# %% helpers
def quantile(values, q):
    """The value below which a share q of the values lies, interpolated between its two neighbours."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def solve(a, b):
    """Solve a x = b by Gaussian elimination with partial pivoting."""
    n = len(b)
    m = [row[:] + [b[i]] for i, row in enumerate(a)]
    for c in range(n):
        p = max(range(c, n), key=lambda r: abs(m[r][c]))
        m[c], m[p] = m[p], m[c]
        for r in range(c + 1, n):
            factor = m[r][c] / m[c][c]
            for k in range(c, n + 1):
                m[r][k] -= factor * m[c][k]
    x = [0.0] * n
    for r in reversed(range(n)):
        x[r] = (m[r][n] - sum(m[r][k] * x[k] for k in range(r + 1, n))) / m[r][r]
    return x


def least_squares(xs, ys):
    """The coefficients b that minimise |xs b - ys|, by the normal equations."""
    k = len(xs[0])
    columns = list(zip(*xs))
    a = [[0.0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i, k):
            a[i][j] = a[j][i] = sum(u * v for u, v in zip(columns[i], columns[j]))
    return solve(a, [sum(u * y for u, y in zip(column, ys)) for column in columns])


# %% by species
groups = defaultdict(list)
for bird in penguins:
    groups[bird["species"]].append(bird)

summary = []
for species, birds in sorted(groups.items()):
    masses = [bird["body_mass_g"] for bird in birds]
    summary.append({
        "species": species,
        "n": len(birds),
        "mass_mean": round(statistics.fmean(masses), 1),
        "mass_q1": quantile(masses, 0.25),
        "mass_median": quantile(masses, 0.5),
        "mass_q3": quantile(masses, 0.75),
        "bill_ratio": round(statistics.fmean(bird["bill_ratio"] for bird in birds), 3),
    })
summary

# %% export
os.makedirs("out", exist_ok=True)
with open("out/summary.csv", "w", newline="") as f:
    writer = csv.DictWriter(f, fieldnames=list(summary[0]))
    writer.writeheader()
    writer.writerows(summary)
print("wrote out/summary.csv")

# %% regression
# Body mass on flipper length, with a level of its own for each species (Adelie is the base).
def design(bird):
    return [
        1.0, bird["flipper_length_mm"],
        float(bird["species"] == "Chinstrap"), float(bird["species"] == "Gentoo")
    ]


xs = [design(bird) for bird in penguins]
ys = [bird["body_mass_g"] for bird in penguins]
coefficients = least_squares(xs, ys)
predicted = [sum(c * x for c, x in zip(coefficients, line)) for line in xs]
mean = statistics.fmean(ys)
r2 = 1 - sum((y - p) ** 2 for y, p in zip(ys, predicted)) / sum((y - mean) ** 2 for y in ys)
print(f"slope {coefficients[1]:.2f} g/mm, R² {r2:.3f}")

# %% bootstrap
# Draw as many birds as there are, with replacement, and fit again: the spread of the slopes is their uncertainty.
random.seed(SEED)
slopes = []
for _ in range(RESAMPLES):
    sample = random.choices(range(len(xs)), k=len(xs))
    slopes.append(least_squares([xs[i] for i in sample], [ys[i] for i in sample])[1])
print(f"{len(slopes)} resamples, standard error {statistics.stdev(slopes):.3f}")

# %% interval
low, high = quantile(slopes, 0.025), quantile(slopes, 0.975)
print(f"95% interval {low:.3f} to {high:.3f} g/mm")

# %% neighbours
# Leave one out: is a bird's species that of most of its five nearest neighbours?
def standardise(values):
    centre, scale = statistics.fmean(values), statistics.stdev(values)
    return [(value - centre) / scale for value in values]


points = list(zip(*(standardise([bird[m] for bird in penguins]) for m in MEASURES)))
hits = 0
for i, point in enumerate(points):
    nearest = sorted((math.dist(point, other), j) for j, other in enumerate(points) if j != i)[:5]
    votes = Counter(penguins[j]["species"] for _, j in nearest)
    hits += votes.most_common(1)[0][0] == penguins[i]["species"]
print(f"{hits} of {len(points)} species told by size alone")

# %% report
with open("out/summary.csv", newline="") as f:
    table = list(csv.reader(f))
widths = [max(len(cell) for cell in column) for column in zip(*table)]
for number, line in enumerate(table):
    print("  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths))))
    if number == 0:
        print("  ".join("-" * w for w in widths))
print()
print(f"A millimetre of flipper: {coefficients[1]:.1f} g of penguin (95% interval {low:.1f} to {high:.1f}),")
print(f"at the same species. The fit explains {r2:.0%} of the variance; size alone tells {hits / len(points):.0%} of the species.")
