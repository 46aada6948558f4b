// %% make
const numbers = Array.from({ length: 2_000_000 }, (_, i) => (i * 0.37) % 11.3)

// %% derive
const scaled = numbers.map((v) => v * 2.5 - 1)

// %% use
console.log(scaled.reduce((sum, v) => sum + v, 0).toFixed(3), numbers.length, EDITION)
