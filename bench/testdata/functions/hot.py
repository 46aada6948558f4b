# Loops over the variables of a function.
import math


def main():
    n = 400_000

    total = 0
    for i in range(n * 4):
        total += i % 7
        if total > 1_000_000:
            total -= 1_000_000
    print("total", total)

    x, y, step = 1.0, 0.0, 0.001
    for _ in range(n * 3):
        x, y = x - y * step, y + x * step
    print("orbit", round(math.hypot(x, y), 3))

    sieve = [True] * n
    for i in range(2, int(n**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = [False] * len(sieve[i * i :: i])
    primes = [i for i in range(2, n) if sieve[i]]
    print("primes", len(primes), primes[-1])

    gaps = {}
    for a, b in zip(primes, primes[1:]):
        gaps[b - a] = gaps.get(b - a, 0) + 1
    print("gaps", sorted(gaps.items())[:5])

    words = [str(p) for p in primes]
    lengths = [0] * 10
    for w in words:
        lengths[len(w)] += 1
    print("lengths", lengths)


if __name__ == "__main__":
    main()
