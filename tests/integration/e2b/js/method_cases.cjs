// What is left of the public methods of E2B's JavaScript SDK: git, handles, static forms, options. README.md has the table of all.
const { HOME, until, raised } = require('./support.cjs')

async function committed(Sandbox) {
  const sandbox = await Sandbox.create()
  await sandbox.git.configureUser('Ada', 'ada@example.org')
  await sandbox.git.init(`${HOME}/repo`, { initialBranch: 'main' })
  await sandbox.files.write('repo/README.md', 'first\n')
  await sandbox.git.add(`${HOME}/repo`)
  await sandbox.git.commit(`${HOME}/repo`, 'The first')
  return { sandbox, git: sandbox.git, repo: `${HOME}/repo` }
}

async function withOrigin(Sandbox) {
  const all = await committed(Sandbox)
  await all.sandbox.commands.run(`git clone -q --bare ${all.repo} ${HOME}/bare.git`)
  await all.git.clone(`${HOME}/bare.git`, { path: `${HOME}/copy` })
  return { ...all, copy: `${HOME}/copy` }
}

// git

test('git: the author of a commit', async ({ Sandbox, assert }) => {
  const { sandbox, repo } = await committed(Sandbox)
  assert.equal((await sandbox.commands.run("git log --format='%an <%ae> %s'", { cwd: repo })).stdout, 'Ada <ada@example.org> The first\n')
})

test('git: status names what changed', async ({ Sandbox, assert }) => {
  const { sandbox, git, repo } = await committed(Sandbox)
  await sandbox.files.write('repo/new.txt', 'x')
  const status = await git.status(repo)
  assert.deepEqual([status.isClean, status.currentBranch, status.fileStatus.map((one) => one.name)], [false, 'main', ['new.txt']])
})

test('git: branches there and back', async ({ Sandbox, assert }) => {
  const { git, repo } = await committed(Sandbox)
  await git.createBranch(repo, 'side')
  assert.equal((await git.branches(repo)).currentBranch, 'side')
  await git.checkoutBranch(repo, 'main')
  assert.equal((await git.branches(repo)).currentBranch, 'main')
})

test('git: a branch is deleted', async ({ Sandbox, assert }) => {
  const { git, repo } = await committed(Sandbox)
  await git.createBranch(repo, 'side')
  await git.checkoutBranch(repo, 'main')
  await git.deleteBranch(repo, 'side', { force: true })
  assert.deepEqual((await git.branches(repo)).branches, ['main'])
})

test('git: add of some files', async ({ Sandbox, assert }) => {
  const { sandbox, git, repo } = await committed(Sandbox)
  await sandbox.files.write([{ path: 'repo/a', data: 'a' }, { path: 'repo/b', data: 'b' }])
  await git.add(repo, { files: ['a'] })
  assert.equal((await sandbox.commands.run('git diff --cached --name-only', { cwd: repo })).stdout, 'a\n')
})

test('git: push', async ({ Sandbox, assert }) => {
  const { sandbox, git, copy } = await withOrigin(Sandbox)
  await sandbox.files.write('copy/README.md', 'second\n')
  await git.add(copy)
  await git.commit(copy, 'The second')
  await git.push(copy, { remote: 'origin', branch: 'main' })
  assert.match((await sandbox.commands.run('git log --oneline', { cwd: `${HOME}/bare.git` })).stdout, /The second/)
})

test('git: pull', async ({ Sandbox, assert }) => {
  const { sandbox, git, repo, copy } = await withOrigin(Sandbox)
  await sandbox.files.write('repo/README.md', 'second\n')
  await git.add(repo)
  await git.commit(repo, 'The second')
  await git.remoteAdd(repo, 'origin', `${HOME}/bare.git`)
  await git.push(repo, { remote: 'origin', branch: 'main' })
  await git.pull(copy, { remote: 'origin', branch: 'main' })
  assert.equal(await sandbox.files.read('copy/README.md'), 'second\n')
})

test('git: remotes', async ({ Sandbox, assert }) => {
  const { git, repo } = await committed(Sandbox)
  await git.remoteAdd(repo, 'origin', 'https://git.example.org/x.git')
  assert.equal(await git.remoteGet(repo, 'origin'), 'https://git.example.org/x.git')
  assert.equal(await git.remoteGet(repo, 'other'), undefined)
})

test('git: restore', async ({ Sandbox, assert }) => {
  const { sandbox, git, repo } = await committed(Sandbox)
  await sandbox.files.write('repo/README.md', 'changed\n')
  await git.restore(repo, { paths: ['README.md'] })
  assert.equal(await sandbox.files.read('repo/README.md'), 'first\n')
})

test('git: reset', async ({ Sandbox, assert }) => {
  const { sandbox, git, repo } = await committed(Sandbox)
  await sandbox.files.write('repo/README.md', 'changed\n')
  await git.reset(repo, { mode: 'hard' })
  assert.equal(await sandbox.files.read('repo/README.md'), 'first\n')
})

test('git: configuration', async ({ Sandbox, assert }) => {
  const { git, repo } = await committed(Sandbox)
  await git.setConfig('core.editor', 'vi', { scope: 'local', path: repo })
  assert.equal(await git.getConfig('core.editor', { scope: 'local', path: repo }), 'vi')
  assert.equal(await git.getConfig('no.such', { scope: 'local', path: repo }), undefined)
})

test('git: credentials are kept', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.git.dangerouslyAuthenticate({ username: 'ada', password: 'secret', host: 'git.example.org', protocol: 'https' })
  const asked = await sandbox.commands.run("printf 'protocol=https\\nhost=git.example.org\\n\\n' | git credential fill")
  assert.match(asked.stdout, /username=ada\npassword=secret/)
})

test('git: a repository that is not there', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.ok(await raised(sandbox.git.clone(`${HOME}/never-was`, { path: `${HOME}/x` })))
})

// commands and handles

test('closeStdin by pid', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
  await sandbox.commands.sendStdin(cat.pid, 'by pid')
  await sandbox.commands.closeStdin(cat.pid)
  assert.equal((await cat.wait()).stdout, 'by pid')
})

test('sendStdin and closeStdin of a handle', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
  await cat.sendStdin('by handle')
  await cat.closeStdin()
  assert.equal((await cat.wait()).stdout, 'by handle')
})

test('bytes as stdin', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const count = await sandbox.commands.run('od -An -tx1', { background: true, stdin: true })
  await sandbox.commands.sendStdin(count.pid, new Uint8Array([0, 255, 10]))
  await sandbox.commands.closeStdin(count.pid)
  assert.equal((await count.wait()).stdout.trim(), '00 ff 0a')
})

test('stdin closed twice', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const sleeper = await sandbox.commands.run('sleep 100', { background: true, stdin: true })
  await sandbox.commands.closeStdin(sleeper.pid)
  await sandbox.commands.closeStdin(sleeper.pid).catch((problem) => assert.ok(problem instanceof Error))
  assert.equal(await sandbox.commands.kill(sleeper.pid), true)
})

test('a handle has what came so far', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('echo early; echo wrong >&2; sleep 100', { background: true })
  await until(() => command.stdout === 'early\n' && command.stderr === 'wrong\n', 'the output did not come')
  assert.equal(command.exitCode, undefined)
  assert.equal(await command.kill(), true)
})

test('callbacks of connect', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const first = await sandbox.commands.run('read line; echo got $line', { background: true, stdin: true })
  const heard = []
  const second = await sandbox.commands.connect(first.pid, { onStdout: (text) => heard.push(text) })
  await sandbox.commands.sendStdin(first.pid, 'word\n')
  await second.wait()
  assert.equal(heard.join(''), 'got word\n')
})

test('list shows command, folder, environment and tag', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 100', { background: true, cwd: '/tmp', envs: { A: 'b' } })
  const shown = (await sandbox.commands.list()).find((one) => one.pid === command.pid)
  assert.deepEqual([shown.cmd, shown.args, shown.cwd, shown.envs], ['/bin/bash', ['-l', '-c', 'sleep 100'], '/tmp', { A: 'b' }])
})

test('a signal to the tree that ignores it', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run("trap '' TERM; sleep 100 & wait", { background: true })
  assert.equal(await command.kill(), true)
  assert.ok(await raised(command.wait()))
})

test('an unhandled failure of a background command stays with it', async ({ Sandbox, sdk, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('exit 3', { background: true })
  assert.ok((await raised(command.wait())) instanceof sdk.CommandExitError)
  assert.equal((await sandbox.commands.run('echo on')).stdout, 'on\n')
})

test('a timeout says so', async ({ Sandbox, sdk, assert }) => {
  const problem = await raised((await Sandbox.create()).commands.run('sleep 100', { timeoutMs: 300 }))
  assert.ok(problem instanceof sdk.TimeoutError)
})

test('a request that is aborted', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const problem = await raised(sandbox.commands.run('sleep 100', { requestTimeoutMs: 300, timeoutMs: 300 }))
  assert.ok(problem instanceof Error)
  assert.equal((await sandbox.commands.run('echo on')).stdout, 'on\n')
})

test('as root', async ({ Sandbox, assert }) => {
  const done = await (await Sandbox.create()).commands.run('id -un; echo $HOME', { user: 'root' })
  assert.equal(done.stdout, 'root\n/root\n')
})

test('output that is no text', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run("printf 'a\\377b'")).stdout, 'a\ufffdb')
})

test('thirty commands, one after the other', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  for (let i = 0; i < 30; i++) assert.equal((await sandbox.commands.run(`echo ${i}`)).stdout, `${i}\n`)
})

// terminals

test('pty: input and its end', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const seen = []
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (bytes) => seen.push(Buffer.from(bytes)) })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('echo a$((1+1))b; exit\n'))
  await terminal.wait()
  assert.match(Buffer.concat(seen).toString(), /a2b/)
})

test('pty: kill of nobody', async ({ Sandbox, assert }) => {
  assert.equal(await (await Sandbox.create()).pty.kill(999_999), false)
})

test('pty: a resize reaches the program', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  let text = ''
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (bytes) => { text += Buffer.from(bytes).toString() } })
  await sandbox.pty.resize(terminal.pid, { cols: 101, rows: 33 })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit\n'))
  await terminal.wait()
  assert.match(text, /33 101/)
})

test('pty: found again by pid', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  let text = ''
  const again = await sandbox.pty.connect(terminal.pid, { onData: (bytes) => { text += Buffer.from(bytes).toString() } })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('echo c$((2+2))d; exit\n'))
  await again.wait()
  assert.match(text, /c4d/)
})

test('pty: is in the list', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  assert.ok((await sandbox.commands.list()).some((one) => one.pid === terminal.pid))
  assert.equal(await sandbox.pty.kill(terminal.pid), true)
})

// files

test('files: every format of read', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('f', 'äb')
  assert.equal(await files.read('f'), 'äb')
  assert.equal(await files.read('f', { format: 'text' }), 'äb')
  assert.deepEqual([...(await files.read('f', { format: 'bytes' }))], [...Buffer.from('äb')])
  assert.equal(await (await files.read('f', { format: 'blob' })).text(), 'äb')
  assert.equal(await new Response(await files.read('f', { format: 'stream' })).text(), 'äb')
})

test('files: writeFiles', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const infos = await files.writeFiles([{ path: 'x/1', data: 'one' }, { path: 'x/2', data: new Blob(['two']) }])
  assert.deepEqual(infos.map((one) => one.path), [`${HOME}/x/1`, `${HOME}/x/2`])
  assert.equal(await files.read('x/2'), 'two')
})

test('files: an array buffer', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('b', new Uint8Array([0, 1, 254, 255]).buffer)
  assert.deepEqual([...(await files.read('b', { format: 'bytes' }))], [0, 1, 254, 255])
})

test('files: what looks like a boundary', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const text = '\r\n--boundary\r\n\r\n----x--\r\n'.repeat(5000)
  await files.write('odd', text)
  assert.equal(await files.read('odd'), text)
})

test('files: twenty megabytes both ways', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const bytes = Buffer.alloc(20 << 20)
  for (let i = 0; i < bytes.length; i += 4) bytes.writeUInt32LE(Math.imul(i, 2654435761) >>> 0, i)
  await files.write('large', new Blob([bytes]))
  assert.ok(bytes.equals(await files.read('large', { format: 'bytes' })))
})

test('files: a stream of unknown length', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const parts = Array.from({ length: 50 }, (_, i) => Buffer.alloc(70_000, i))
  await files.write('streamed', new ReadableStream({ pull(to) { parts.length ? to.enqueue(parts.shift()) : to.close() } }))
  assert.equal((await files.getInfo('streamed')).size, 50 * 70_000)
})

test('files: a stream that breaks leaves nothing', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('kept', 'old')
  let sent = 0
  const broken = new ReadableStream({ pull(to) { sent++ < 3 ? to.enqueue(Buffer.alloc(100_000)) : to.error(new Error('no more')) } })
  assert.ok(await raised(files.write('kept', broken)))
  assert.equal(await files.read('kept'), 'old')
})

test('files: a list with metadata', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write(Array.from({ length: 20 }, (_, i) => ({ path: `m/${i}`, data: 'x' })), { metadata: { made: 'here' } })
  const all = await files.list('m')
  assert.equal(all.length, 20)
  assert.ok(all.every((one) => one.metadata && one.metadata.made === 'here'))
})

test('files: exists as another user', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('/root/x', 'x', { user: 'root' })
  assert.equal(await files.exists('x', { user: 'root' }), true)
  assert.equal(await files.exists('x'), false)
})

test('files: make and remove as root', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  assert.equal(await files.makeDir('below', { user: 'root' }), true)
  assert.equal((await files.getInfo('/root/below')).owner, 'root')
  await files.remove('/root/below', { user: 'root' })
  assert.equal(await files.exists('/root/below'), false)
})

test('files: a watch tells its end', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.makeDir('w')
  let ended = false
  const handle = await sandbox.files.watchDir('w', () => {}, { onExit: () => { ended = true } })
  await handle.stop()
  await until(() => ended, 'onExit was not called')
})

test('files: two watches of one folder', async ({ Sandbox }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.makeDir('w')
  const seen = [[], []]
  const handles = await Promise.all(seen.map((one) => sandbox.files.watchDir('w', (event) => one.push(event))))
  await sandbox.files.write('w/new', 'x')
  await until(() => seen.every((one) => one.some((event) => event.name === 'new')), 'one of them saw nothing')
  await Promise.all(handles.map((one) => one.stop()))
})

// the sandbox

test('sandbox: static kill, info, timeout, metrics', async ({ Sandbox, assert }) => {
  const { sandboxId } = await Sandbox.create({ metadata: { a: 'b' } })
  assert.deepEqual((await Sandbox.getInfo(sandboxId)).metadata, { a: 'b' })
  await Sandbox.setTimeout(sandboxId, 100_000)
  assert.equal((await Sandbox.getMetrics(sandboxId)).length, 1)
  assert.equal(await Sandbox.kill(sandboxId), true)
  assert.equal(await Sandbox.kill(sandboxId), false)
})

test('sandbox: getHost names port and domain', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal(sandbox.getHost(3000), `3000-${sandbox.sandboxId}.${sandbox.sandboxDomain}`)
})

test('sandbox: getMcpUrl', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal(sandbox.getMcpUrl(), `https://${sandbox.getHost(50005)}/mcp`)
})

test('sandbox: connect of an instance', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('x', 'y')
  const again = await sandbox.connect({ timeoutMs: 200_000 })
  assert.equal(await again.files.read('x'), 'y')
})

test('sandbox: environments of create reach commands and terminals', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ envs: { COLOUR: 'blue' } })
  assert.equal((await sandbox.commands.run('echo $COLOUR')).stdout, 'blue\n')
  assert.equal((await sandbox.commands.run('echo $COLOUR', { envs: { COLOUR: 'red' } })).stdout, 'red\n')
})

test('sandbox: fork keeps files', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('kept', 'of the source')
  const [child] = await sandbox.fork()
  assert.notEqual(child.sandboxId, sandbox.sandboxId)
  assert.equal(await child.files.read('kept'), 'of the source')
})

test('sandbox: a snapshot is made, listed and deleted', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const snapshot = await sandbox.createSnapshot()
  const pages = sandbox.listSnapshots()
  assert.deepEqual((await pages.nextItems()).map((one) => one.snapshotId), [snapshot.snapshotId])
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
})

test('sandbox: a killed one says that it is gone', async ({ Sandbox, sdk, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.kill()
  assert.equal(await sandbox.isRunning(), false)
  assert.ok((await raised(sandbox.files.read('x'))) instanceof sdk.SandboxError)
  assert.ok((await raised(sandbox.commands.run('true'))) instanceof sdk.SandboxError)
})

test('sandbox: the older name of pause', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.ok(await sandbox.betaPause())
  assert.equal((await sandbox.getInfo()).state, 'paused')
})

test('sandbox: no MCP token without a gateway', async ({ Sandbox, assert }) => {
  assert.ok(await raised((await Sandbox.create()).getMcpToken()))
})
