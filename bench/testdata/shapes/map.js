// %% make
const names = new Map()
for (let i = 0; i < 300_000; i++) names.set(`key ${i}`, `value ${(i * 31) % 7919}`)

// %% derive
const inverse = new Map([...names].map(([k, v]) => [v, k]))

// %% use
console.log(names.size, inverse.size, inverse.get('value 17'), EDITION)
