// Multiplies matrices in typed arrays.
const n = 420
const x = new Float64Array(n * n), y = new Float64Array(n * n), z = new Float64Array(n * n)
for (let i = 0; i < n * n; i++) {
  x[i] = (i % 13) / 7
  y[i] = (i % 11) / 5
}
function multiply() {
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const v = x[i * n + k]
      for (let j = 0; j < n; j++) z[i * n + j] += v * y[k * n + j]
    }
  }
}
for (let round = 0; round < 6; round++) multiply()
let trace = 0
for (let i = 0; i < n; i++) trace += z[i * n + i]
console.log(trace.toFixed(3))
