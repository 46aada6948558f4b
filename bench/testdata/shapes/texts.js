// %% make
const lines = Array.from({ length: 500_000 }, (_, i) => `line ${i} of ${(i * 7) % 1013} with some words in it`)

// %% derive
const shouted = lines.filter((l) => l.endsWith('it')).map((l) => l.toUpperCase())

// %% use
console.log(shouted.length, shouted.reduce((sum, l) => sum + l.length, 0), EDITION)
