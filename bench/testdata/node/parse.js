// Parses a log by regular expressions.
const log = Array.from({ length: 250_000 }, (_, i) =>
  `2024-01-${String(i % 28 + 1).padStart(2, '0')}T12:00:${String(i % 60).padStart(2, '0')} ` +
  `${['INFO', 'WARN', 'ERROR'][i % 3]} [svc-${i % 9}] took=${i % 500}ms path=/a/${i % 40}`).join('\n')
const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\S+) (\w+) \[([\w-]+)\] took=(\d+)ms path=(\S+)$/gm
const slow = new Map()
let lines = 0
for (const match of log.matchAll(pattern)) {
  lines++
  const key = `${match[5]} ${match[6]}`
  slow.set(key, Math.max(slow.get(key) ?? 0, Number(match[7])))
}
const masked = log.replace(/\d{2}:\d{2}:\d{2}/g, 'TIME').replace(/path=\/a\/(\d+)/g, (_, d) => `path=${d * 2}`)
console.log(lines, slow.size, masked.length, Math.max(...slow.values()))
