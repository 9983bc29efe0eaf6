// What E2B's JavaScript SDK costs over Harena's own API: prints one line a number.
//   eval "$(harena e2b env --create-key bench)"; HARENA_URL=... HARENA_TOKEN=... NODE_PATH=BUILD/e2b/node/node_modules node sdk_bench.cjs [CASE...]
// Cases: run, create, files, streams. The template needs bash; run and files compare with a peer on this machine.
const http = require('node:http')
process.env.E2B_ENVD_RPC_CONNECTIONS ??= '400' // a stream is a connection, and the SDK's own limit is 200
const { Sandbox } = require('e2b')

const RUNS = 60
const GIB = 1 << 30
const BLOCK = Buffer.alloc(1 << 20, 'x')
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
const line = (name, value, unit) => console.log(`${name.padEnd(46)} ${value.toFixed(2).padStart(10)} ${unit}`)

async function timed(work) {
  const began = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - began) / 1e6
}

async function repeated(work) {
  for (let i = 0; i < 5; i++) await work()
  const times = []
  for (let i = 0; i < RUNS; i++) times.push(await timed(work))
  return median(times)
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
  const api = await repeated(() => own(sandbox, '/commands', { argv, user: 'user', wait: true }))
  const sdk = await repeated(() => sandbox.commands.run('true'))
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

async function plainServer() {
  const server = http.createServer(async (request, response) => {
    if (request.method === 'PUT') { for await (const _ of request); return response.end() }
    response.writeHead(200)
    for (let i = 0; i < GIB / BLOCK.length; i++) if (!response.write(BLOCK)) await new Promise((ready) => response.once('drain', ready))
    response.end()
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  return server
}

async function files() {
  const server = await plainServer()
  const url = `http://127.0.0.1:${server.address().port}/`
  const put = await timed(() => fetch(url, { method: 'PUT', body: blocks(), duplex: 'half' }))
  const got = await timed(async () => drain((await fetch(url)).body))
  server.close()
  const sandbox = await Sandbox.create({ timeoutMs: 600_000 })
  const write = await timed(() => sandbox.files.write('/tmp/big', blocks(), { requestTimeoutMs: 600_000 }))
  const read = await timed(async () => drain(await sandbox.files.read('/tmp/big', { format: 'stream' })))
  for (const [name, mine, plain] of [['files.write', write, put], ['files.read', read, got]]) {
    line(`${name}, 1 GiB`, GIB / 1048.576 / mine, 'MiB/s')
    line('  of a plain HTTP server', (100 * plain) / mine, '%')
  }
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
