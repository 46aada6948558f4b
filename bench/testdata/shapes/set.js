// %% make
const words = new Set()
for (let i = 0; i < 300_000; i++) words.add(`word ${(i * 37) % 400_009}`)
const others = new Set(Array.from({ length: 150_000 }, (_, i) => `word ${i * 3}`))

// %% derive
const common = new Set([...words].filter((w) => others.has(w)))

// %% use
console.log(words.size, common.size, EDITION)
