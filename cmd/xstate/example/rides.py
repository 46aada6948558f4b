# Sixty rides on a bicycle: how fast are they in which weather, and how far on average?

# %% setup
import csv
import random
import statistics

# %% load
with open("rides.csv", newline="") as f:
    rides = list(csv.DictReader(f))
print(len(rides), "rides")

# %% clean
complete = []
for ride in rides:
    if ride["km"]:
        complete.append({"km": float(ride["km"]), "minutes": int(ride["minutes"]), "weather": ride["weather"]})
print(len(rides) - len(complete), "without a distance")


# %% speed
def speed(ride):
    """Kilometres an hour."""
    return ride["km"] / ride["minutes"] * 60


# %% by-weather
speeds = {}
for ride in complete:
    speeds.setdefault(ride["weather"], []).append(speed(ride))
means = {weather: statistics.mean(speeds[weather]) for weather in sorted(speeds)}

# %% resample
# The slow part. It does not use speed.
rng = random.Random(1)
distances = [ride["km"] for ride in complete]
samples = sorted(statistics.fmean(rng.choices(distances, k=len(distances))) for _ in range(50000))
low, high = samples[1250], samples[-1250]

# %% report
for weather, mean in means.items():
    print(f"{weather}: {mean:.1f} km/h")
print(f"a ride: {statistics.fmean(distances):.1f} km (95% interval {low:.1f} to {high:.1f})")
