# Linear algebra and image filters in NumPy.

# %% data
import numpy as np

rng = np.random.default_rng(7)
features = rng.normal(size=(200_000, 40))
truth = rng.normal(size=40)
target = features @ truth + rng.normal(size=200_000)

# %% fit
solution, *_ = np.linalg.lstsq(features, target, rcond=None)
print(float(np.abs(solution - truth).max() < 0.02))

# %% components
centred = features - features.mean(axis=0)
u, s, vt = np.linalg.svd(centred, full_matrices=False)
s[:5].round(1)

# %% image
image = rng.random((1500, 1500))
for _ in range(60):
    image[1:-1, 1:-1] = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
round(float(image.std()), 6)

# %% spectrum
spectrum = np.abs(np.fft.fft2(image))
spectrum[0, :3].round(3)

# %% clusters
points = rng.normal(size=(60_000, 2)) + rng.integers(0, 4, (60_000, 1)) * 3
centres = points[:5].copy()
for _ in range(80):
    nearest = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    centres = np.array([points[nearest == k].mean(axis=0) for k in range(5)])
centres.round(2)
