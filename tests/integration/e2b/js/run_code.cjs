// run_code through E2B's JavaScript code-interpreter SDK. run.cjs runs it; test_run_code.py makes a test of every case.
/* global test */

test('the value of the last line, and state between calls', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const got = await sandbox.runCode('x = 20\nx + 1')
  assert.equal(got.text, '21')
  assert.equal(got.executionCount, 1)
  assert.equal((await sandbox.runCode('x * 2')).text, '40')
})

test('output is logged and told', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const told = []
  const got = await sandbox.runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)", {
    onStdout: (one) => told.push(one.line),
    onStderr: (one) => told.push('!' + one.line),
  })
  assert.deepEqual([got.logs.stdout, got.logs.stderr, told], [['out\n'], ['err\n'], ['out\n', '!err\n']])
})

test('errors have name, value and traceback', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const told = []
  const got = await sandbox.runCode('1 / 0', { onError: (one) => told.push(one.name) })
  assert.equal(got.error.name, 'ZeroDivisionError')
  assert.equal(got.error.value, 'division by zero')
  assert.match(got.error.traceback.replace(/\x1b\[[0-9;]*m/g, ''), /1 \/ 0/)
  assert.deepEqual(told, ['ZeroDivisionError'])
})

test('results in their formats', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const code = "display({'text/html': '<b>', 'image/png': 'aGk=', 'application/json': {'a': 1}, 'e2b/data': {'c': [1]}}, raw=True)"
  const [got] = (await sandbox.runCode(code)).results
  assert.deepEqual([got.html, got.png, got.json, got.data], ['<b>', 'aGk=', { a: 1 }, { c: [1] }])
})

test('variables of one call', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const code = "import os; os.environ.get('ONE', 'gone')"
  assert.equal((await sandbox.runCode(code, { envs: { ONE: 'call' } })).text, 'call')
  assert.equal((await sandbox.runCode(code)).text, 'gone')
})

test('contexts', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const made = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await sandbox.runCode('import os; y = 1; os.getcwd()', { context: made })).text, '/tmp')
  assert.equal((await sandbox.runCode('y')).error.name, 'NameError')
  assert.ok((await sandbox.listCodeContexts()).some((one) => one.id === made.id))
  await sandbox.restartCodeContext(made)
  assert.equal((await sandbox.runCode('y', { context: made })).error.name, 'NameError')
  await sandbox.removeCodeContext(made)
  await assert.rejects(sandbox.runCode('1', { context: made }), /not found/)
})

test('languages', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.deepEqual((await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout, ['42\n'])
  await assert.rejects(sandbox.runCode('1', { language: 'java' }), /400/) // the SDK doesn't show what was said
})

test('a call that takes too long is interrupted', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await assert.rejects(sandbox.runCode("print('on', flush=True)\nimport time\ntime.sleep(600)", { timeoutMs: 2000 }))
  assert.equal((await sandbox.runCode("'free'")).text, 'free')
})
