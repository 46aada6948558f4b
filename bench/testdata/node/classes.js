// Classes, private fields and closures: a simulation of accounts.
class Account {
  #balance = 0
  constructor(owner) { this.owner = owner }
  deposit(x) { this.#balance += x; return this }
  get balance() { return this.#balance }
}
class Savings extends Account {
  constructor(owner, rate) { super(owner); this.rate = rate }
  month() { return this.deposit(this.balance * this.rate / 12) }
}
function counter() {
  let n = 0
  return { up: (by) => { n += by }, get: () => n }
}
const accounts = Array.from({ length: 1000 }, (_, i) => new Savings('o' + i, 0.01 + (i % 5) / 100).deposit(100 + i))
const events = counter()
for (let month = 0; month < 90_000; month++) {
  for (const account of accounts) account.month().deposit(-account.balance * 0.003)
  events.up(accounts.length)
}
console.log(events.get(), accounts.reduce((sum, a) => sum + a.balance, 0).toFixed(2))
