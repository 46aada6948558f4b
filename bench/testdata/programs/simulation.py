# Particles in a box, objects and loops over globals.

# %% particles
import math
import random

random.seed(3)
size, dt = 100.0, 0.05


class Particle:
    def __init__(self):
        self.x, self.y = random.uniform(0, size), random.uniform(0, size)
        self.vx, self.vy = random.gauss(0, 3), random.gauss(0, 3)

    def step(self):
        self.x += self.vx * dt
        self.y += self.vy * dt
        if not 0 < self.x < size:
            self.vx = -self.vx
        if not 0 < self.y < size:
            self.vy = -self.vy


particles = [Particle() for _ in range(400)]

# %% run
for _ in range(16000):
    for p in particles:
        p.step()

# %% energy
energy = sum(p.vx ** 2 + p.vy ** 2 for p in particles) / 2
round(energy, 6)

# %% walk
position, steps = 0, 0
visited = {}
for i in range(8_000_000):
    position += 1 if (i * 7919 + position) % 3 else -1
    steps += 1
    if steps % 100 == 0:
        visited[position] = visited.get(position, 0) + 1
print(position, len(visited))

# %% neighbours
near = 0
for a in particles:
    for b in particles:
        if math.hypot(a.x - b.x, a.y - b.y) < 5:
            near += 1
near
