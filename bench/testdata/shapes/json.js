// %% make
const text = JSON.stringify(
  Array.from({ length: 80_000 }, (_, i) => ({
    id: i, tags: [`t${i % 7}`, `t${i % 11}`], place: { x: i * 0.5, y: [i % 13, i % 17] }, ok: i % 3 === 0,
  })),
)

// %% parse
const documents = JSON.parse(text)

// %% derive
const tags = {}
for (const d of documents) for (const t of d.tags) tags[t] = (tags[t] ?? 0) + 1

// %% use
console.log(Object.keys(tags).length, documents.reduce((sum, d) => sum + d.place.x, 0), EDITION)
