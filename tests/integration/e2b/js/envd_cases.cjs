// Commands, terminals, files, git and watching through E2B's JavaScript SDK.

const { HOME, sleep, until, raised } = require('./support.cjs')

const pids = async (sandbox) => (await sandbox.commands.list()).map((one) => one.pid)

// commands

test('output and code', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const done = await sandbox.commands.run('echo out; echo err >&2')
  assert.equal(done.stdout, 'out\n')
  assert.equal(done.stderr, 'err\n')
  assert.equal(done.exitCode, 0)
})

test('no output', async ({ Sandbox, assert }) => {
  const done = await (await Sandbox.create()).commands.run('true')
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['', '', 0])
})

test('exit code 1', async ({ Sandbox, sdk, assert }) => {
  const problem = await raised((await Sandbox.create()).commands.run('echo before; exit 1'))
  assert.ok(problem instanceof sdk.CommandExitError)
  assert.deepEqual([problem.exitCode, problem.stdout, problem.error], [1, 'before\n', 'exit status 1'])
})

test('exit code 255', async ({ Sandbox, assert }) => {
  assert.equal((await raised((await Sandbox.create()).commands.run('exit 255'))).exitCode, 255)
})

test('a program that is not there', async ({ Sandbox, assert }) => {
  const problem = await raised((await Sandbox.create()).commands.run('no-such-program'))
  assert.equal(problem.exitCode, 127)
  assert.match(problem.stderr, /no-such-program/)
})

test('utf-8', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run("printf 'äöü 漢字 🎉'")).stdout, 'äöü 漢字 🎉')
})

test('a character cut between two writes', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run("printf '\\303'; sleep 0.2; printf '\\244'")).stdout, 'ä')
})

test('many lines in order', async ({ Sandbox, assert }) => {
  const lines = (await (await Sandbox.create()).commands.run('seq 1 20000')).stdout.trim().split('\n')
  assert.equal(lines.length, 20000)
  assert.ok(lines.every((line, i) => line === String(i + 1)))
})

test('ten megabytes', async ({ Sandbox, assert }) => {
  const done = await (await Sandbox.create()).commands.run("head -c 10000000 /dev/zero | tr '\\0' x")
  assert.equal(done.stdout.length, 10_000_000)
})

test('callbacks', async ({ Sandbox, assert }) => {
  const out = []
  const err = []
  await (await Sandbox.create()).commands.run('echo a; echo b >&2; sleep 0.3; echo c', {
    onStdout: (data) => out.push(data), onStderr: (data) => err.push(data),
  })
  assert.equal(out.join(''), 'a\nc\n')
  assert.equal(err.join(''), 'b\n')
  assert.ok(out.length >= 2)
})

test('several lines of shell', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run('for i in 1 2 3; do\n  echo $i\ndone | tac')).stdout, '3\n2\n1\n')
})

test('a long command text', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run(`echo ${'x'.repeat(100_000)} | wc -c`)).stdout.trim(), '100001')
})

test('user and home', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal((await sandbox.commands.run('whoami; pwd; echo $HOME $USER')).stdout, `user\n${HOME}\n${HOME} user\n`)
  assert.equal((await sandbox.commands.run('whoami; pwd', { user: 'root' })).stdout, 'root\n/root\n')
})

test('an unknown user', async ({ Sandbox, sdk, assert }) => {
  assert.ok((await raised((await Sandbox.create()).commands.run('true', { user: 'nobody-there' }))) instanceof sdk.AuthenticationError)
})

test('cwd', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  assert.equal((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
  await sandbox.files.makeDir('here')
  assert.equal((await sandbox.commands.run('pwd', { cwd: 'here' })).stdout, `${HOME}/here\n`)
})

test('cwd that is not there', async ({ Sandbox, sdk, assert }) => {
  const problem = await raised((await Sandbox.create()).commands.run('pwd', { cwd: '/no/such' }))
  assert.ok(problem instanceof sdk.InvalidArgumentError)
  assert.match(problem.message, /cwd '\/no\/such' does not exist/)
})

test('environments', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create({ envs: { A: 'create', B: 'create' } })
  assert.equal((await sandbox.commands.run('echo $A $B', { envs: { B: 'command é' } })).stdout, 'create command é\n')
  assert.equal((await sandbox.commands.run('echo $A $B')).stdout, 'create create\n')
})

test('without stdin a reader gets nothing', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run('cat; echo end')).stdout, 'end\n')
})

test('stdin', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('cat', { background: true, stdin: true })
  await sandbox.commands.sendStdin(command.pid, 'Hello, ')
  await sandbox.commands.sendStdin(command.pid, 'World ä\n')
  await sandbox.commands.closeStdin(command.pid)
  assert.equal((await command.wait()).stdout, 'Hello, World ä\n')
})

test('half a megabyte of stdin', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('wc -c', { background: true, stdin: true })
  await sandbox.commands.sendStdin(command.pid, 'x'.repeat(500_000))
  await sandbox.commands.closeStdin(command.pid)
  assert.equal((await command.wait()).stdout.trim(), '500000')
})

test('stdin of a command without and of nobody', async ({ Sandbox, sdk, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 30', { background: true })
  assert.ok((await raised(sandbox.commands.sendStdin(command.pid, 'x'))) instanceof sdk.SandboxError)
  assert.ok((await raised(sandbox.commands.sendStdin(999999, 'x'))) instanceof sdk.NotFoundError)
})

test('background', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 1; echo done', { background: true })
  assert.ok(command.pid > 0)
  assert.equal((await command.wait()).stdout, 'done\n')
})

test('background failure is raised by wait', async ({ Sandbox, assert }) => {
  const command = await (await Sandbox.create()).commands.run('exit 9', { background: true })
  assert.equal((await raised(command.wait())).exitCode, 9)
})

test('list', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 30', { background: true, cwd: '/tmp', envs: { K: 'v' } })
  const [found] = (await sandbox.commands.list()).filter((one) => one.pid === command.pid)
  assert.deepEqual([found.cmd, found.args, found.cwd, found.envs], ['/bin/bash', ['-l', '-c', 'sleep 30'], '/tmp', { K: 'v' }])
})

test('kill', async ({ Sandbox, assert }) => {
  const command = await (await Sandbox.create()).commands.run('sleep 100', { background: true })
  assert.equal(await command.kill(), true)
  const problem = await raised(command.wait())
  assert.deepEqual([problem.exitCode, problem.error], [-1, 'signal: killed'])
})

test('kill by pid, twice, and nobody', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 100', { background: true })
  command.wait().catch(() => {})
  assert.equal(await sandbox.commands.kill(command.pid), true)
  await until(async () => !(await pids(sandbox)).includes(command.pid), 'it is still listed')
  assert.equal(await sandbox.commands.kill(command.pid), false)
  assert.equal(await sandbox.commands.kill(999999), false)
})

test('connect gets what comes from then on', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('echo early; read a; echo late $a', { background: true, stdin: true })
  await until(() => command.stdout === 'early\n', 'nothing came')
  const again = await sandbox.commands.connect(command.pid)
  await sandbox.commands.sendStdin(command.pid, 'word\n')
  assert.equal((await again.wait()).stdout, 'late word\n')
  assert.equal((await command.wait()).stdout, 'early\nlate word\n')
})

test('several readers', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('read a; seq 1 1000', { background: true, stdin: true })
  const others = await Promise.all([1, 2, 3].map(() => sandbox.commands.connect(command.pid)))
  await sandbox.commands.sendStdin(command.pid, 'go\n')
  for (const one of [command, ...others]) assert.equal((await one.wait()).stdout.trim().split('\n').length, 1000)
})

test('connect to nobody', async ({ Sandbox, sdk, assert }) => {
  assert.ok((await raised((await Sandbox.create()).commands.connect(999999))) instanceof sdk.NotFoundError)
})

test('a late connect still gets the end', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 0.2', { background: true })
  await command.wait()
  assert.equal((await (await sandbox.commands.connect(command.pid)).wait()).exitCode, 0)
})

test('disconnect leaves it running', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 1; echo lived > /tmp/lived; sleep 30', { background: true })
  await command.disconnect()
  await until(() => sandbox.files.exists('/tmp/lived'), 'it died with its reader')
  assert.ok((await pids(sandbox)).includes(command.pid))
})

test('what a command leaves behind lives', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.commands.run('(sleep 4243 >/dev/null 2>&1 &)')
  assert.match((await sandbox.commands.run('ps')).stdout, /sleep 4243/)
})

test('twenty at once', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => sandbox.commands.run(`sleep 0.2; echo ${i}`)))
  assert.deepEqual(all.map((one) => one.stdout), Array.from({ length: 20 }, (_, i) => `${i}\n`))
})

test('timeout ends the tree', async ({ Sandbox, sdk, assert }) => {
  const sandbox = await Sandbox.create()
  const problem = await raised(sandbox.commands.run('(setsid sleep 4244 &); sleep 4245', { timeoutMs: 1000 }))
  assert.ok(problem instanceof sdk.TimeoutError, String(problem))
  await until(async () => !/sleep 424/.test((await sandbox.commands.run('ps')).stdout), 'the tree outlived its timeout')
})

test('timeout zero is none', async ({ Sandbox, assert }) => {
  assert.equal((await (await Sandbox.create()).commands.run('sleep 1; echo x', { timeoutMs: 0 })).stdout, 'x\n')
})

test('a command of a killed sandbox', async ({ Sandbox, sdk, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('sleep 100', { background: true })
  const ended = raised(command.wait())
  await sandbox.kill()
  assert.ok((await ended) instanceof sdk.SandboxError)
  assert.equal(await sandbox.isRunning(), false)
})

test('is running', async ({ Sandbox, assert }) => {
  assert.equal(await (await Sandbox.create()).isRunning(), true)
})

test('paused and back', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const command = await sandbox.commands.run('read a; echo $a', { background: true, stdin: true })
  await command.disconnect()
  await sandbox.pause()
  assert.equal(await sandbox.isRunning(), false)
  const again = await Sandbox.connect(sandbox.sandboxId)
  const handle = await again.commands.connect(command.pid)
  await again.commands.sendStdin(command.pid, 'back\n')
  assert.equal((await handle.wait()).stdout, 'back\n')
})

// terminals

async function terminal(sandbox, options, keys) {
  let seen = ''
  const decoder = new TextDecoder()
  const made = await sandbox.pty.create({ cols: 80, rows: 24, ...options, onData: (data) => { seen += decoder.decode(data) } })
  await keys(made, (text) => sandbox.pty.sendInput(made.pid, new TextEncoder().encode(text)))
  await made.wait().catch(() => {})
  return seen
}

test('a terminal', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const seen = await terminal(sandbox, {}, (_, type) => type('echo mark$((40+2)); tty; exit\n'))
  assert.match(seen, /mark42/)
  assert.match(seen, /\/dev\/pts/)
})

test('a terminal resized', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const seen = await terminal(sandbox, { cols: 100, rows: 30 }, async (made, type) => {
    await type('stty size; read go; stty size; exit\n')
    await sleep(1000)
    await sandbox.pty.resize(made.pid, { cols: 120, rows: 50 })
    await type('x\n')
  })
  assert.match(seen, /30 100/)
  assert.match(seen, /50 120/)
})

test('a terminal with environment, folder and user', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const seen = await terminal(sandbox, { cwd: '/tmp', envs: { MARK: 'abc' }, user: 'root' }, (_, type) => type('echo $MARK-$PWD-$(whoami)-$TERM; exit\n'))
  assert.match(seen, /abc-\/tmp-root-xterm-256color/)
})

test('a terminal killed', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const made = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  made.wait().catch(() => {})
  assert.equal(await sandbox.pty.kill(made.pid), true)
  await until(async () => !(await pids(sandbox)).includes(made.pid), 'it is still listed')
  assert.equal(await sandbox.pty.kill(made.pid), false)
})

test('a terminal found again', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const made = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} })
  await made.disconnect()
  let seen = ''
  const again = await sandbox.pty.connect(made.pid, { onData: (data) => { seen += new TextDecoder().decode(data) } })
  await sandbox.pty.sendInput(made.pid, new TextEncoder().encode('echo again$((1+1)); exit\n'))
  await again.wait().catch(() => {})
  assert.match(seen, /again2/)
})

// files

test('text there and back', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const info = await files.write('note.txt', 'Hello ä 漢字\n')
  assert.deepEqual([info.path, info.name, info.type], [`${HOME}/note.txt`, 'note.txt', 'file'])
  assert.equal(await files.read('note.txt'), 'Hello ä 漢字\n')
  assert.equal(await files.read(`${HOME}/note.txt`), 'Hello ä 漢字\n')
})

test('an empty file', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('empty', '')
  assert.equal(await files.read('empty'), '')
  assert.equal((await files.read('empty', { format: 'bytes' })).length, 0)
})

test('bytes, blob and stream', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const data = new Uint8Array(300_000).map((_, i) => i % 251)
  await files.write('data.bin', data.buffer)
  assert.deepEqual(await files.read('data.bin', { format: 'bytes' }), data)
  assert.equal((await files.read('data.bin', { format: 'blob' })).size, data.length)
  let length = 0
  for await (const chunk of await files.read('data.bin', { format: 'stream' })) length += chunk.length
  assert.equal(length, data.length)
})

test('a stream written', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('stream', new Blob(['one ', 'two']).stream())
  assert.equal(await files.read('stream'), 'one two')
})

test('gzip both ways', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const text = 'the same line again\n'.repeat(20_000)
  await files.write('packed', text, { gzip: true })
  assert.equal((await files.getInfo('packed')).size, text.length)
  assert.equal(await files.read('packed', { gzip: true }), text)
})

test('octet stream', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('octets', 'abc', { useOctetStream: true })
  assert.equal(await files.read('octets'), 'abc')
})

test('metadata', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('tagged', 'x', { metadata: { Author: 'ada' } })
  assert.deepEqual({ ...(await files.getInfo('tagged')).metadata }, { author: 'ada' })
})

test('several files at once', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const infos = await files.write(Array.from({ length: 10 }, (_, i) => ({ path: `many/${i}.txt`, data: `text ${i}` })))
  assert.deepEqual(infos.map((one) => one.path), Array.from({ length: 10 }, (_, i) => `${HOME}/many/${i}.txt`))
  assert.equal(await files.read('many/9.txt'), 'text 9')
})

test('overwriting', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('a', 'x'.repeat(1000))
  await files.write('a', 'y')
  assert.equal(await files.read('a'), 'y')
})

test('folders above and owners', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('/opt/a/b', 'x')
  assert.equal((await sandbox.commands.run('stat -c %U /opt/a /opt/a/b')).stdout, 'user\nuser\n')
})

test('as root', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('secret', 'x', { user: 'root' })
  assert.equal((await files.getInfo('/root/secret')).owner, 'root')
})

test('names with odd characters', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  const names = ['with space', 'semi;colon', 'per%cent', 'plus+sign', 'ünï', 'hash#tag', 'a&b=c', 'q?x', "it's"]
  for (const name of names) {
    await files.write(`names/${name}`, name)
    assert.equal(await files.read(`names/${name}`), name)
  }
  assert.deepEqual((await files.list('names')).map((one) => one.name).sort(), [...names].sort())
})

test('read nothing, a folder, as nobody', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  assert.ok((await raised(files.read('nothing'))) instanceof sdk.NotFoundError)
  assert.ok((await raised(files.read('/home'))) instanceof sdk.InvalidArgumentError)
  assert.ok((await raised(files.read('/tmp/x', { user: 'nobody-there' }))) instanceof sdk.AuthenticationError)
})

test('write onto a folder', async ({ Sandbox, sdk, assert }) => {
  assert.ok((await raised((await Sandbox.create()).files.write(HOME, 'x'))) instanceof sdk.InvalidArgumentError)
})

test('info', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('a.txt', '12345')
  const info = await files.getInfo('a.txt')
  assert.deepEqual([info.name, info.type, info.path, info.size, info.mode, info.permissions, info.owner, info.group],
    ['a.txt', 'file', `${HOME}/a.txt`, 5, 0o644, '-rw-r--r--', 'user', 'user'])
  assert.ok(Math.abs(info.modifiedTime.getTime() - Date.now()) < 120_000)
})

test('info of a symlink', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('target', 'x')
  await sandbox.commands.run('ln -s target link')
  const info = await sandbox.files.getInfo('link')
  assert.deepEqual([info.name, info.type, info.symlinkTarget], ['link', 'file', `${HOME}/target`])
})

test('exists', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  assert.equal(await files.exists('/tmp'), true)
  assert.equal(await files.exists('/nothing'), false)
})

test('list and depth', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('d/one/two/file', 'x')
  const names = async (depth) => (await files.list('d', { depth })).map((one) => one.path.replace(`${HOME}/d/`, ''))
  assert.deepEqual(await names(1), ['one'])
  assert.deepEqual(await names(2), ['one', 'one/two'])
  assert.deepEqual(await names(5), ['one', 'one/two', 'one/two/file'])
  assert.ok((await raised(files.list('d', { depth: 0 }))) instanceof sdk.InvalidArgumentError)
})

test('list of nothing and of a file', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  assert.ok((await raised(files.list('nothing'))) instanceof sdk.NotFoundError)
  await files.write('plain', 'x')
  assert.ok((await raised(files.list('plain'))) instanceof sdk.InvalidArgumentError)
})

test('make a folder', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  assert.equal(await files.makeDir('a/b/c'), true)
  assert.equal(await files.makeDir('a/b/c'), false)
  await files.write('plain', 'x')
  assert.ok((await raised(files.makeDir('plain'))) instanceof sdk.InvalidArgumentError)
})

test('rename', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('old', 'content')
  assert.equal((await files.rename('old', 'far/new')).path, `${HOME}/far/new`)
  assert.equal(await files.read('far/new'), 'content')
  assert.equal(await files.exists('old'), false)
  assert.ok((await raised(files.rename('nothing', 'x'))) instanceof sdk.NotFoundError)
})

test('remove', async ({ Sandbox, assert }) => {
  const { files } = await Sandbox.create()
  await files.write('t/a/b', 'x')
  await files.remove('t')
  assert.equal(await files.exists('t'), false)
  await files.remove('never-was')
})

test('signed URLs', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('signed file.txt', 'by URL')
  assert.equal(await (await fetch(await sandbox.downloadUrl('signed file.txt'))).text(), 'by URL')
  assert.equal(await (await fetch(await sandbox.downloadUrl('signed file.txt', { useSignatureExpiration: 100 }))).text(), 'by URL')
  const form = new FormData()
  form.append('file', 'sent')
  const answer = await fetch(await sandbox.uploadUrl('hello.txt'), { method: 'POST', body: form })
  assert.deepEqual(await answer.json(), [{ name: 'hello.txt', path: `${HOME}/hello.txt`, type: 'file' }])
  assert.equal(await sandbox.files.read('hello.txt'), 'sent')
})

test('a signed URL that expired', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  const answer = await fetch(await sandbox.downloadUrl('x', { useSignatureExpiration: -10 }))
  assert.equal(answer.status, 401)
  assert.deepEqual(await answer.json(), { code: 401, message: 'signature is already expired' })
})

// watching

async function watched(sandbox, path, options, change, want) {
  const seen = []
  const handle = await sandbox.files.watchDir(path, (event) => seen.push(event), options)
  await change()
  await until(() => seen.some((one) => one.name === want[0] && one.type === want[1]), `${want} is not among ${JSON.stringify(seen)}`)
  await handle.stop()
  return seen
}

test('watch create and write', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.makeDir('w')
  const seen = await watched(sandbox, 'w', {}, () => sandbox.files.write('w/new', 'x'), ['new', 'write'])
  assert.ok(seen.some((one) => one.type === 'create'))
})

test('watch remove', async ({ Sandbox }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('w/old', 'x')
  await watched(sandbox, 'w', {}, () => sandbox.commands.run('rm w/old'), ['old', 'remove'])
})

test('watch rename', async ({ Sandbox }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('w/old', 'x')
  await watched(sandbox, 'w', {}, () => sandbox.commands.run('mv w/old w/other'), ['old', 'rename'])
})

test('watch chmod', async ({ Sandbox }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.write('w/old', 'x')
  await watched(sandbox, 'w', {}, () => sandbox.commands.run('chmod 600 w/old'), ['old', 'chmod'])
})

test('watch below', async ({ Sandbox }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.makeDir('w')
  await watched(sandbox, 'w', { recursive: true }, () => sandbox.commands.run('mkdir -p w/a/b; sleep 0.3; echo x > w/a/b/f'), ['a/b/f', 'write'])
})

test('watch with entries', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.files.makeDir('w')
  const seen = await watched(sandbox, 'w', { includeEntry: true }, () => sandbox.files.write('w/new', '12345'), ['new', 'write'])
  assert.ok(seen.some((one) => one.entry && one.entry.path === `${HOME}/w/new`))
})

test('watch nothing and a file', async ({ Sandbox, sdk, assert }) => {
  const { files } = await Sandbox.create()
  assert.ok((await raised(files.watchDir('nothing', () => {}))) instanceof sdk.NotFoundError)
  await files.write('plain', 'x')
  assert.ok((await raised(files.watchDir('plain', () => {}))) instanceof sdk.InvalidArgumentError)
})

// git

test('git: init, commit, clone, branches', async ({ Sandbox, assert }) => {
  const sandbox = await Sandbox.create()
  await sandbox.git.configureUser('Ada', 'ada@example.org')
  await sandbox.git.init('repo', { initialBranch: 'main' })
  await sandbox.files.write('repo/README.md', 'first\n')
  await sandbox.git.add('repo')
  await sandbox.git.commit('repo', 'The first')
  assert.equal((await sandbox.git.status('repo')).isClean, true)
  await sandbox.git.createBranch('repo', 'side')
  assert.deepEqual([...(await sandbox.git.branches('repo')).branches].sort(), ['main', 'side'])
  await sandbox.git.clone(`${HOME}/repo`, { path: `${HOME}/copy` })
  assert.equal(await sandbox.files.read('copy/README.md'), 'first\n')
})
