// %% classes
class Order {
  constructor(number, customer, amount) {
    this.number = number
    this.customer = customer
    this.amount = amount
  }
  get doubled() {
    return this.amount * 2
  }
}

// %% make
const orders = Array.from({ length: 200_000 }, (_, i) => new Order(i, `customer ${i % 997}`, i * 0.25))

// %% derive
const large = orders.filter((o) => o.number % 2).map((o) => new Order(o.number, o.customer.toUpperCase(), o.doubled))

// %% use
console.log(large.length, large.reduce((sum, o) => sum + o.amount, 0), EDITION)
