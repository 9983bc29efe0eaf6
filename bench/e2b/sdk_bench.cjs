// What E2B's JavaScript SDK costs over Harena's own API: prints one line a number.
//   eval "$(harena e2b env --create-key bench)"; HARENA_URL=... HARENA_TOKEN=... HARENAD_PID=... NODE_PATH=BUILD/e2b/node/node_modules node sdk_bench.cjs [CASE...]
// Cases: run, create, files, streams. The template needs bash. run compares with Harena's own API, files with
// plain_files.cjs: the same calls of the same SDK in the same process, in turns.
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { spawn } = require('node:child_process')
process.env.E2B_ENVD_RPC_CONNECTIONS ??= '400' // a stream is a connection, and the SDK's own limit is 200
const { Sandbox } = require('e2b')

const RUNS = 300
const GIB = 1 << 30
const BLOCK = Buffer.alloc(1 << 20, 'x')
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
const line = (name, value, unit) => console.log(`${name.padEnd(46)} ${value.toFixed(2).padStart(10)} ${unit}`)

async function timed(work) {
  const began = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - began) / 1e6
}

/// Medians of both, in turns: what the machine does besides meets them alike.
async function inTurns(one, other) {
  const times = [[], []]
  for (let i = -10; i < RUNS; i++) {
    for (const [which, work] of [one, other].entries()) {
      const took = await timed(work)
      if (i >= 0) times[which].push(took)
    }
  }
  return times.map(median)
}

async function own(sandbox, path, body) {
  const answer = await fetch(`${process.env.HARENA_URL}/v1/sandboxes/${sandbox.sandboxId}${path}`, {
    method: 'POST', headers: { Authorization: `Bearer ${process.env.HARENA_TOKEN}` }, body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

async function run() {
  const sandbox = await Sandbox.create()
  const argv = ['/bin/bash', '-l', '-c', 'true']
  const [api, sdk] = await inTurns(() => own(sandbox, '/commands', { argv, user: 'user', wait: true }), () => sandbox.commands.run('true'))
  line('commands.run("true"), Harena\'s own API', api, 'ms')
  line('commands.run("true"), E2B\'s SDK', sdk, 'ms')
  line('  ratio', sdk / api, 'x')
  await sandbox.kill()
}

async function create() {
  const count = 200
  let made = []
  const ms = await timed(async () => { made = await Promise.allSettled(Array.from({ length: count }, () => Sandbox.create())) })
  line(`Sandbox.create, ${count} at once, all`, ms, 'ms')
  line('  succeeded', made.filter((one) => one.status === 'fulfilled').length, '')
  await Promise.all(made.filter((one) => one.value).map((one) => one.value.kill()))
}

function blocks() {
  let left = GIB / BLOCK.length
  return new ReadableStream({ pull(controller) { left-- > 0 ? controller.enqueue(BLOCK) : controller.close() } })
}

async function drain(stream) {
  let size = 0
  for await (const chunk of stream) size += chunk.length
  if (size !== GIB) throw new Error(`${size} bytes instead of 1 GiB`)
}

/// The same SDK with a plain server of its own process, which keeps the file on this machine's disk too.
async function plainPeer() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'harena-bench-'))
  const child = spawn(process.execPath, [path.join(__dirname, 'plain_files.cjs'), folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  const port = await new Promise((ready) => child.stdout.once('data', (text) => ready(Number(text))))
  const url = `http://127.0.0.1:${port}`
  const sandbox = await Sandbox.create({ apiUrl: url, sandboxUrl: url })
  return { sandbox, close: () => { child.stdin.end(); fs.rmSync(folder, { recursive: true }) } }
}

/// How much more memory harenad has had at most since this was called, in MiB.
function peakMemory() {
  const pid = process.env.HARENAD_PID
  const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
  fs.writeFileSync(`/proc/${pid}/clear_refs`, '5') // the peak begins anew
  const before = field('VmRSS')
  return { before, growth: () => field('VmHWM') - before }
}

async function transfer(sandbox) {
  const write = await timed(() => sandbox.files.write('/tmp/big', blocks(), { requestTimeoutMs: 600_000 }))
  const read = await timed(async () => drain(await sandbox.files.read('/tmp/big', { format: 'stream' })))
  return { write, read }
}

async function files() {
  const rounds = 3
  const peer = await plainPeer()
  const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
  const mine = { write: [], read: [] }
  const plain = { write: [], read: [] }
  const memory = peakMemory()
  for (let i = 0; i < rounds; i++) {
    for (const [who, times] of [[peer.sandbox, plain], [sandbox, mine]]) {
      const took = await transfer(who)
      times.write.push(took.write)
      times.read.push(took.read)
    }
  }
  for (const verb of ['write', 'read']) {
    const [ours, theirs] = [median(mine[verb]), median(plain[verb])]
    line(`files.${verb}, 1 GiB, a plain HTTP server`, GIB / 1048.576 / theirs, 'MiB/s')
    line(`files.${verb}, 1 GiB, Harena`, GIB / 1048.576 / ours, 'MiB/s')
    line('  of the plain server', (100 * theirs) / ours, '%')
  }
  line('harenad, resident before the files', memory.before, 'MiB')
  line('  more at its peak', memory.growth(), 'MiB')
  peer.close()
  await sandbox.kill()
}

async function streams() {
  const count = 300
  const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
  let commands = []
  line(`${count} streams opened`, await timed(async () => {
    commands = await Promise.all(Array.from({ length: count }, () => sandbox.commands.run('cat', { background: true, stdin: true, timeoutMs: 0 })))
  }), 'ms')
  const heard = commands.map((one) => new Promise((resolve) => { const look = setInterval(() => one.stdout && (clearInterval(look), resolve()), 5) }))
  commands.forEach((one) => one.wait().catch(() => {}))
  line(`${count} streams answered`, await timed(async () => {
    await Promise.all(commands.map((one) => sandbox.commands.sendStdin(one.pid, 'x\n')))
    await Promise.all(heard)
  }), 'ms')
  await sandbox.kill()
}

async function main() {
  const all = { run, create, files, streams }
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(all)
  for (const name of wanted) await all[name]()
  process.exit(0)
}

main().catch((problem) => { console.error(problem); process.exit(1) })
