// The control API through E2B's JavaScript SDK: what becomes of a sandbox. run.cjs runs it.
/* global test */

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

async function until(condition, what) {
  const deadline = Date.now() + 30_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(what)
    await sleep(100)
  }
}

async function everything(pages) {
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  return found
}

const leftS = (info) => (info.endAt.getTime() - Date.now()) / 1000

test('create gives an id and a domain', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.match(sandbox.sandboxId, /^[a-z0-9]{20}$/)
  assert.match(sandbox.sandboxDomain, /^localhost:\d+$/)
  assert.equal(sandbox.getHost(3000), `3000-${sandbox.sandboxId}.${sandbox.sandboxDomain}`)
})

test('info has what was asked for', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create('base', { timeoutMs: 120_000, metadata: { user: 'ada', purpose: 'test ü&=' } })
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.equal(info.templateId, 'base')
  assert.deepEqual(info.metadata, { user: 'ada', purpose: 'test ü&=' })
  assert.equal(info.state, 'running')
  assert.ok(leftS(info) > 100 && leftS(info) <= 120)
  assert.equal(info.cpuCount, 1)
  assert.equal(info.memoryMB, 256)
})

test('the default timeout is five minutes', async ({ Sandbox, assert }) => {
  const info = await (await Sandbox.create()).getInfo()
  assert.ok(leftS(info) > 270 && leftS(info) <= 300)
})

test('another template', async ({ Sandbox, assert }) => {
  const info = await (await Sandbox.create('other')).getInfo()
  assert.equal(info.templateId, 'other')
  assert.equal(info.memoryMB, 128)
})

test('names of a template', async ({ Sandbox, assert }) => {
  for (const name of ['base-alias', 'BASE', 'base:default', 'team/base']) {
    assert.equal((await (await Sandbox.create(name)).getInfo()).templateId, 'base')
  }
})

test('an unknown template is named', async ({ Sandbox, assert }) => {
  await assert.rejects(Sandbox.create('nothing'), /template 'nothing' not found; this installation has: base, late, never, other, small/)
})

test('start and ready command', async ({ Sandbox, assert }) => {
  const began = Date.now()
  await Sandbox.create('late')
  assert.ok(Date.now() - began >= 300)
})

test('a template that never gets ready', async ({ Sandbox, assert }) => {
  await assert.rejects(Sandbox.create('never'), /ready command hasn't ended with 0 in 1 s; it said: not yet/)
  assert.deepEqual(await everything(Sandbox.list()), [])
})

test('timeouts that cannot be', async ({ Sandbox, assert }) => {
  await assert.rejects(Sandbox.create({ timeoutMs: -5000 }), /at least 1 second/)
  await assert.rejects(Sandbox.create({ timeoutMs: 86_401_000 }), /at most 86400/)
})

test('network rules that open single targets are refused', async ({ Sandbox, assert }) => {
  const network = { allowOut: ['1.1.1.1'], denyOut: ['0.0.0.0/0'] }
  await assert.rejects(Sandbox.create({ network }), /network\.allowOut can't be honoured/)
})

test('a network rule that is none is named', async ({ Sandbox, assert }) => {
  await assert.rejects(Sandbox.create({ network: { denyOut: ['example.org'] } }), /network\.denyOut has 'example\.org'/)
})

test('ports that are not public have a token', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ network: { allowPublicTraffic: false } })
  assert.match(sandbox.trafficAccessToken, /^[0-9a-f]{64}$/)
  assert.ok(!(await Sandbox.create()).trafficAccessToken)
})

test('a wrong key', async ({ Sandbox, AuthenticationError, assert }) => {
  await assert.rejects(Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(64) }), AuthenticationError)
  await assert.rejects(Sandbox.create({ apiKey: 'e2b_00' }), AuthenticationError)
})

test('kill', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  await assert.rejects(sandbox.getInfo(), /not found/)
})

test('kill of what is not there', async ({ Sandbox, assert }) => {
  for (const id of ['a'.repeat(20), 'x', 'i3v0q1y2z3']) assert.equal(await Sandbox.kill(id), false)
})

test('a timeout kills', async ({ Sandbox }) => {
  await Sandbox.create({ timeoutMs: 2000 })
  await until(async () => (await everything(Sandbox.list())).length === 0, 'it lives on')
})

test('setTimeout may shorten', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
  await sandbox.setTimeout(30_000)
  let info = await sandbox.getInfo()
  assert.ok(leftS(info) > 20 && leftS(info) <= 30)
  await sandbox.setTimeout(600_000)
  info = await sandbox.getInfo()
  assert.ok(leftS(info) > 580 && leftS(info) <= 600)
})

test('setTimeout of what is not there', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.kill()
  await assert.rejects(sandbox.setTimeout(10_000), /not found/)
})

test('connect only ever extends', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
  assert.ok(leftS(await sandbox.getInfo()) > 250)
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 900_000 })
  assert.ok(leftS(await sandbox.getInfo()) > 850)
})

test('connect gives the same tokens', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ network: { allowPublicTraffic: false } })
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(again.sandboxId, sandbox.sandboxId)
  assert.equal(again.trafficAccessToken, sandbox.trafficAccessToken)
  assert.equal(again.sandboxDomain, sandbox.sandboxDomain)
})

test('connect to what is not there', async ({ Sandbox, assert }) => {
  await assert.rejects(Sandbox.connect('0'.repeat(20)), /not found/)
})

const pause = (sandbox) => (sandbox.pause ?? sandbox.betaPause).call(sandbox)

test('pause and connect', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ timeoutMs: 100_000, metadata: { kept: 'yes' } })
  await pause(sandbox)
  let info = await sandbox.getInfo()
  assert.equal(info.state, 'paused')
  assert.deepEqual(info.metadata, { kept: 'yes' })
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 50_000 })
  info = await sandbox.getInfo()
  assert.equal(info.state, 'running')
  assert.ok(leftS(info) > 30 && leftS(info) <= 50)
})

test('a second pause is false', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal(await pause(sandbox), true)
  assert.equal(await pause(sandbox), false)
})

test('a paused sandbox can be killed', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await pause(sandbox)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
  assert.deepEqual(await everything(Sandbox.list()), [])
})

test('list filters by metadata', async ({ Sandbox, assert }) => {
  const mark = String(Math.random())
  const wanted = await Sandbox.create({ metadata: { mark, n: 'a b&c=d/é' } })
  await Sandbox.create({ metadata: { mark, n: 'other' } })
  const found = await everything(Sandbox.list({ query: { metadata: { mark, n: 'a b&c=d/é' } } }))
  assert.deepEqual(found.map((one) => one.sandboxId), [wanted.sandboxId])
  assert.deepEqual(await everything(Sandbox.list({ query: { metadata: { mark: 'nobody' } } })), [])
})

test('list by pages', async ({ Sandbox, assert }) => {
  const made = []
  for (let n = 0; n < 5; n++) made.push((await Sandbox.create()).sandboxId)
  const found = await everything(Sandbox.list({ limit: 2 }))
  assert.deepEqual(found.map((one) => one.sandboxId), made.reverse())
})

test('list by state', async ({ Sandbox, assert }) => {
  const running = await Sandbox.create()
  const paused = await Sandbox.create()
  await pause(paused)
  const ids = async (state) => (await everything(Sandbox.list({ query: { state } }))).map((one) => one.sandboxId).sort()
  assert.deepEqual(await ids(['running']), [running.sandboxId])
  assert.deepEqual(await ids(['paused']), [paused.sandboxId])
  assert.deepEqual(await ids(['running', 'paused']), [running.sandboxId, paused.sandboxId].sort())
})

test('metrics', async ({ Sandbox, assert }) => {
  const found = await (await Sandbox.create()).getMetrics()
  assert.equal(found.length, 1)
  assert.equal(found[0].memTotal, 256 * 1024 * 1024)
  assert.ok(found[0].memUsed > 0)
})

test('ten at once', async ({ Sandbox, assert }) => {
  const made = await Promise.all(Array.from({ length: 10 }, () => Sandbox.create('small')))
  assert.equal(new Set(made.map((one) => one.sandboxId)).size, 10)
  assert.equal((await everything(Sandbox.list())).length, 10)
})
