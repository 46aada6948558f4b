// %% make
const rows = Array.from({ length: 200_000 }, (_, i) => ({
  id: i, name: `user ${i}`, group: i % 50, score: ((i * 7919) % 1000) / 10,
}))

// %% derive
const passed = rows.filter((r) => r.score > 40).map((r) => ({ id: r.id, score: r.score * 1.1 }))

// %% use
console.log(passed.length, passed.reduce((sum, r) => sum + r.score, 0).toFixed(3), EDITION)
