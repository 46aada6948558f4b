# Figures drawn with matplotlib.

# %% data
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(8)
x = np.linspace(0, 20, 2000)
noise = rng.normal(size=(6, 2000))

# %% lines
fig, ax = plt.subplots()
for i, row in enumerate(noise):
    ax.plot(x, np.sin(x + i) + 0.1 * row, label=f"series {i}")
ax.legend()
plt.savefig("lines.png")
plt.close()

# %% histogram
plt.hist(noise.ravel(), bins=60)
plt.title("noise")
plt.savefig("histogram.png")
plt.close()

# %% grid
fig, axes = plt.subplots(2, 3, figsize=(9, 6))
for a, row in zip(axes.flat, noise):
    a.scatter(x[::10], row[::10], c=row[::10], s=8)
fig.tight_layout()
plt.savefig("grid.png")
plt.close()

# %% pages
for i, row in enumerate(noise):
    fig, axes = plt.subplots(2, 2, figsize=(8, 6))
    axes[0, 0].plot(x, row, linewidth=0.5)
    axes[0, 1].hist(row, bins=40)
    axes[1, 0].specgram(row, NFFT=256, Fs=100)
    axes[1, 1].boxplot([row[k::8] for k in range(8)])
    fig.suptitle(f"series {i}")
    fig.savefig(f"page-{i}.png", dpi=120)
    plt.close(fig)
