// %% make
const rows = Array.from({ length: 200_000 }, (_, i) => ({
  id: i, name: `user ${i}`, group: i % 50, score: ((i * 7919) % 1000) / 10,
}))

// %% index
const byGroup = new Map()
for (const r of rows) {
  if (!byGroup.has(r.group)) byGroup.set(r.group, [])
  byGroup.get(r.group).push(r)
}

// %% derive
const means = [...byGroup].map(([g, rs]) => [g, rs.reduce((sum, r) => sum + r.score, 0) / rs.length])

// %% use
console.log(means.length, Math.max(...means.map((m) => m[1])).toFixed(3), rows.length, EDITION)
