// Sorts objects, and groups them in maps.
let seed = 42
const next = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff)
const rows = []
for (let i = 0; i < 300_000; i++) {
  rows.push({ id: i, city: 'city' + (next() % 200), price: (next() % 10000) / 100, tags: ['t' + (next() % 10)] })
}
rows.sort((x, y) => x.price - y.price || x.id - y.id)
const byCity = new Map()
for (const row of rows) {
  const group = byCity.get(row.city) ?? { count: 0, sum: 0, tags: new Set() }
  group.count++
  group.sum += row.price
  for (const tag of row.tags) group.tags.add(tag)
  byCity.set(row.city, group)
}
const top = [...byCity].sort((x, y) => y[1].sum - x[1].sum).slice(0, 5)
console.log(top.map(([city, g]) => `${city} ${g.count} ${g.sum.toFixed(2)} ${g.tags.size}`).join('\n'))
