// Asynchronous tasks with awaits at top level of functions.
const queue = []
async function work(i) {
  await null
  const parts = await Promise.all([Promise.resolve(i), Promise.resolve(i + 1)])
  queue.push(parts[0] * parts[1] % 7)
  return parts[1]
}
async function main() {
  let sum = 0
  for (let i = 0; i < 900_000; i++) sum += await work(i)
  return sum
}
main().then((sum) => console.log(sum, queue.length, queue.reduce((a, b) => a + b, 0)))
