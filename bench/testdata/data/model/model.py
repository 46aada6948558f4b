# A model of measurements: split, features, fit by gradient descent, check, plot.

# %% setup
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

# %% read
frame = pd.read_csv("measured.csv")
frame.describe().round(2)

# %% features
frame["c2"] = frame["c"] ** 2
frame["ab"] = frame["a"] * frame["b"]
columns = ["a", "b", "c", "c2", "ab"]

# %% split
order = np.random.permutation(len(frame))
train, test = frame.iloc[order[:220]], frame.iloc[order[220:]]
print(len(train), len(test))

# %% scale
mean, std = train[columns].mean(), train[columns].std()
x = ((train[columns] - mean) / std).to_numpy()
y = train["y"].to_numpy()

# %% fit
def fit(x, y, rate=0.05, rounds=1500):
    weights, level, errors = np.zeros(x.shape[1]), 0.0, []
    for _ in range(rounds):
        error = x @ weights + level - y
        weights -= rate * x.T @ error / len(y)
        level -= rate * error.mean()
        errors.append(float(error @ error / len(y)))
    return weights, level, errors

weights, level, errors = fit(x, y)
print(dict(zip(columns, weights.round(3).tolist())), round(level, 3))

# %% test
predicted = ((test[columns] - mean) / std).to_numpy() @ weights + level
rest = test["y"].to_numpy() - predicted
r2 = 1 - float(rest @ rest) / float(((test["y"] - test["y"].mean()) ** 2).sum())
print("R2", round(r2, 4))

# %% curve
figure, axes = plt.subplots(figsize=(4, 3))
axes.plot(errors[:400])
axes.set_title("error by round")
axes.set_yscale("log")

# %% ridge
scores = []
for penalty in (0.0, 0.1, 1.0, 10.0):
    solution = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (y - y.mean()))
    scores.append((penalty, round(float(np.abs(solution - weights).max()), 4)))
print(scores)

# %% folds
folds = np.array_split(np.arange(len(x)), 5)
errors_by_fold = []
for fold in folds:
    rest_of = np.setdiff1d(np.arange(len(x)), fold)
    w, b, _ = fit(x[rest_of], y[rest_of], rounds=600)
    errors_by_fold.append(round(float(np.mean((x[fold] @ w + b - y[fold]) ** 2)), 4))
errors_by_fold

# %% save
result = pd.DataFrame({"y": test["y"].round(4), "predicted": predicted.round(4)})
result.to_csv("predicted.csv")
result.head(3)

# %% residuals
plt.hist(rest, bins=15)
plt.title("residuals")
plt.show()
