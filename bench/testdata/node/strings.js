// Builds strings.
const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon']
let text = ''
for (let i = 0; i < 2_000_000; i++) text += words[i % 5] + (i % 7 === 0 ? '\n' : ' ')
const lines = text.split('\n').map((line) => line.trim().toUpperCase())
const counts = {}
for (const line of lines) for (const word of line.split(' ')) counts[word] = (counts[word] ?? 0) + 1
console.log(text.length, lines.length, JSON.stringify(counts))
