// A hot loop over names of the top level.
let a = 1, b = 2, total = 0
for (let i = 0; i < 60_000_000; i++) {
  a = (a * 31 + i) | 0
  b = (b ^ a) >>> 1
  total = (total + b) % 1000003
}
console.log(total)
