// Many at once through E2B's JavaScript SDK: all sandboxes come, all streams answer. HARENA_LONG_TESTS=1: 300 streams;
// HARENA_E2B_MANY=1 (a template so small that the machine admits them): 200 sandboxes.

const long = process.env.HARENA_LONG_TESTS === '1'

test('sandboxes created at once', async ({ Sandbox, assert }) => {
  const count = process.env.HARENA_E2B_MANY === '1' ? 200 : 30
  const made = await Promise.all(Array.from({ length: count }, () => Sandbox.create()))
  assert.equal(new Set(made.map((one) => one.sandboxId)).size, count)
  await Promise.all(made.map((one) => one.kill()))
})

test('open command streams that all answer their stdin', async ({ Sandbox, assert }) => {
  const count = long ? 300 : 60
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
  const text = 'while read a; do echo "$a $a"; done'
  const commands = await Promise.all(Array.from({ length: count }, () => sandbox.commands.run(text, { background: true, stdin: true, timeoutMs: 0 })))
  assert.equal(new Set(commands.map((one) => one.pid)).size, count)
  const ends = commands.map((one) => one.wait())
  await Promise.all(commands.map((one, i) => sandbox.commands.sendStdin(one.pid, `first${i}\n`)))
  await Promise.all(commands.map((one, i) => sandbox.commands.sendStdin(one.pid, `second${i}\n`)))
  await Promise.all(commands.map((one) => sandbox.commands.closeStdin(one.pid)))
  const results = await Promise.all(ends)
  results.forEach((one, i) => assert.equal(one.stdout, `first${i} first${i}\nsecond${i} second${i}\n`))
})
