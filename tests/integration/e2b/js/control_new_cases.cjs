// What only newer SDKs have of the control API. run.cjs runs it.
/* global test */

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

async function everything(pages) {
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  return found
}

test('list in both orders', async ({ Sandbox, assert }) => {
  const made = []
  for (let n = 0; n < 3; n++) made.push((await Sandbox.create()).sandboxId)
  const ids = async (order) => (await everything(Sandbox.list({ order, limit: 2 }))).map((one) => one.sandboxId)
  assert.deepEqual(await ids('asc'), made)
  assert.deepEqual(await ids('desc'), [...made].reverse())
})

test('list by template', async ({ Sandbox, assert }) => {
  await Sandbox.create('base')
  const other = await Sandbox.create('other')
  const found = await everything(Sandbox.list({ query: { template: 'other' } }))
  assert.deepEqual(found.map((one) => one.sandboxId), [other.sandboxId])
})

test('list by start time', async ({ Sandbox, assert }) => {
  await Sandbox.create()
  await sleep(50)
  const between = new Date()
  await sleep(50)
  const later = await Sandbox.create()
  const found = await everything(Sandbox.list({ query: { startedAfter: between } }))
  assert.deepEqual(found.map((one) => one.sandboxId), [later.sandboxId])
})

test('the lifecycle is told', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ lifecycle: { onTimeout: 'pause', autoResume: true } })
  assert.deepEqual((await sandbox.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: true })
  assert.deepEqual((await (await Sandbox.create()).getInfo()).lifecycle, { onTimeout: 'kill', autoResume: false })
})

test('a timeout pauses', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ timeoutMs: 2000, lifecycle: { onTimeout: 'pause' } })
  const deadline = Date.now() + 30_000
  while ((await sandbox.getInfo()).state !== 'paused') {
    assert.ok(Date.now() < deadline, "it isn't paused")
    await sleep(100)
  }
  await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await sandbox.getInfo()).state, 'running')
})

test('a pause without memory is refused', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await assert.rejects(sandbox.pause({ keepMemory: false }), /memory: false can't be honoured/)
})

test('a network update is refused', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await assert.rejects(sandbox.updateNetwork({ denyOut: ['8.8.8.8'] }), /network update can't be honoured/)
})

test('no snapshots are listed', async ({ Sandbox, assert }) => {
  assert.deepEqual(await everything(Sandbox.listSnapshots()), [])
  assert.equal(await Sandbox.deleteSnapshot('team/s:default'), false)
})

test('templates are there or not', async ({ Template, assert }) => {
  assert.equal(await Template.exists('base'), true)
  assert.equal(await Template.exists('nothing'), false)
})

test('a template build is refused in a sentence', async ({ Template, assert }) => {
  const template = Template().fromBaseImage().runCmd('true')
  await assert.rejects(Template.build(template, 'mine'), /templates can't be built or changed here/)
})

test('volumes are refused in a sentence', async ({ Volume, assert }) => {
  assert.deepEqual(await Volume.list(), [])
  await assert.rejects(Volume.create('mine'), /volumes can't be made here/)
})

test('network options that close it', async ({ Sandbox, assert }) => {
  const info = await (await Sandbox.create({ allowInternetAccess: false, network: { denyOut: ['0.0.0.0/0'] } })).getInfo()
  assert.equal(info.allowInternetAccess, false)
})

test('metrics of the past are none', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const hour = 3600_000
  const range = { start: new Date(Date.now() - 2 * hour), end: new Date(Date.now() - hour) }
  assert.deepEqual(await sandbox.getMetrics(range), [])
})
