# A survey before and after: classes, bootstrap with the generator of the random module, a permutation test.

# %% setup
import csv
import random
import statistics

random.seed(20)

# %% types
class Person:
    count = 0

    def __init__(self, row):
        Person.count += 1
        self.age, self.group = int(row["age"]), row["group"]
        self.before, self.after = float(row["before"]), float(row["after"])

    @property
    def gain(self):
        return self.after - self.before


# %% read
with open("survey.csv") as f:
    people = [Person(row) for row in csv.DictReader(f)]
print(len(people), Person.count)

# %% groups
groups = {}
for p in people:
    groups.setdefault(p.group, []).append(p)
print({g: len(m) for g, m in sorted(groups.items())})

# %% ages
def age_class(person, width=20):
    low = person.age // width * width
    return f"{low}-{low + width - 1}"

ages = sorted({age_class(p) for p in people})
ages

# %% gains
gains = {g: [p.gain for p in m] for g, m in groups.items()}
mean_gain = {g: round(statistics.mean(v), 2) for g, v in sorted(gains.items())}
print(mean_gain)

# %% correct
for p in groups["C"]:
    p.after -= 0.5
gains["C"] = [p.gain for p in groups["C"]]
print(round(statistics.mean(gains["C"]), 2))

# %% bootstrap
def interval(values, times=1500):
    means = sorted(statistics.fmean(random.choices(values, k=len(values))) for _ in range(times))
    return round(means[int(0.025 * times)], 2), round(means[int(0.975 * times)], 2)

intervals = {g: interval(v) for g, v in sorted(gains.items())}
print(intervals)

# %% permutation
pooled = gains["A"] + gains["B"]
seen = statistics.fmean(gains["A"]) - statistics.fmean(gains["B"])
extreme = 0
for _ in range(3000):
    random.shuffle(pooled)
    extreme += abs(statistics.fmean(pooled[:len(gains["A"])]) - statistics.fmean(pooled[len(gains["A"]):])) >= abs(seen)
print("p =", extreme / 3000)

# %% table
rows = [(g, len(groups[g]), mean_gain[g], *intervals[g]) for g in sorted(groups)]
for row in rows:
    print("%s %4d %6.2f  %6.2f to %6.2f" % row)

# %% by age
by_age = {a: round(statistics.fmean(p.gain for p in people if age_class(p) == a), 2) for a in ages}
by_age

# %% save
with open("table.csv", "w", newline="") as f:
    csv.writer(f).writerows(rows)
