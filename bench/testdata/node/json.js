// Writes and reads JSON.
const orders = Array.from({ length: 20_000 }, (_, i) => ({
  id: i, customer: { name: 'name ' + (i % 977), mail: `m${i % 977}@example.org` },
  lines: [{ sku: 'a' + (i % 31), n: i % 5 }, { sku: 'b' + (i % 17), n: i % 3 }], paid: i % 2 === 0,
}))
let size = 0
let sum = 0
for (let round = 0; round < 12; round++) {
  const text = JSON.stringify(orders)
  size += text.length
  const back = JSON.parse(text)
  for (const order of back) for (const line of order.lines) sum += line.n
}
console.log(size, sum)
