// %% make
const matrix = Array.from({ length: 1_000 }, (_, i) => Array.from({ length: 1_000 }, (_, j) => (i * j) % 97))

// %% derive
const sums = matrix.map((row) => row.reduce((sum, v) => sum + v, 0))
const flipped = matrix[0].map((_, j) => matrix.map((row) => row[j]))

// %% use
console.log(Math.max(...sums), flipped.length, flipped[3][5], EDITION)
