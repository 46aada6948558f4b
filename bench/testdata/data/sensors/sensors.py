# Five sensors, sampled 600 times: outliers, calibration in place, smoothing, correlation.

# %% setup
import numpy as np

names = ["a", "b", "c", "d", "e"]

# %% read
raw = np.loadtxt("sensors.csv", delimiter=",", skiprows=1)
times, values = raw[:, 0], raw[:, 1:]
print(values.shape, round(float(values.mean()), 3))

# %% outliers
center = np.median(values, axis=0)
spread = np.median(np.abs(values - center), axis=0) * 1.4826
bad = np.abs(values - center) > 4 * spread
print("outliers:", bad.sum(axis=0).tolist())

# %% mend
for column in range(values.shape[1]):
    hole = bad[:, column]
    values[hole, column] = np.interp(times[hole], times[~hole], values[~hole, column])
print(round(float(values.max()), 3))

# %% calibrate
offsets = np.array([0.0, -1.0, -2.0, -3.0, -4.0])
values += offsets
values.mean(axis=0).round(2)

# %% smooth
def smooth(x, width=9):
    kernel = np.ones(width) / width
    return np.convolve(x, kernel, mode="same")

smoothed = np.column_stack([smooth(values[:, i]) for i in range(5)])
first_day = smoothed[:48]
print(first_day.shape)

# %% normalise
first_day -= first_day.mean(axis=0)
first_day.std(axis=0).round(3)

# %% correlation
matrix = np.corrcoef(smoothed.T)
closest = {}
for i, name in enumerate(names):
    order = np.argsort(-matrix[i])
    closest[name] = names[order[1]]
print(closest)

# %% lags
def best_lag(x, y, most=30):
    scores = [float(np.corrcoef(x[most:-most], y[most + k:len(y) - most + k])[0, 1]) for k in range(-most + 1, most)]
    return int(np.argmax(scores)) - most + 1

lags = {(p, q): best_lag(smoothed[:, i], smoothed[:, j]) for i, p in enumerate(names) for j, q in enumerate(names) if i < j}
print(lags)

# %% spectrum
power = np.abs(np.fft.rfft(smoothed - smoothed.mean(axis=0), axis=0)) ** 2
periods = [round(600 / int(np.argmax(power[1:, i]) + 1), 1) for i in range(5)]
print("periods", periods)

# %% permute
np.random.seed(3)
observed = abs(matrix[0, 1])
shuffled = []
for _ in range(2500):
    shuffled.append(abs(np.corrcoef(np.random.permutation(smoothed[:, 0]), smoothed[:, 1])[0, 1]))
print("p =", round(float(np.mean(np.array(shuffled) >= observed)), 4))

# %% save
np.savetxt("smoothed.csv", smoothed, fmt="%.4f", delimiter=",")
with open("smoothed.csv") as f:
    print(sum(1 for _ in f), "lines")
