// Runs the cases of one file, one after the other, and prints a line of JSON for each: {"name", "ok", "ms", "error"}.
//   node run.cjs FILE        NODE_PATH: the node_modules with the SDK; E2B_JS: its name there (e2b, e2b-spring)
// A case that takes longer than 60 s has failed; sandboxes that it left are killed.
const assert = require('node:assert/strict')
const path = require('node:path')
// Each open stream is a connection of HTTP/1.1, of which the SDK makes 200 unless told otherwise.
process.env.E2B_ENVD_RPC_CONNECTIONS ??= '400'
const sdk = require(process.env.E2B_JS || 'e2b')

const cases = []
global.test = (name, body) => cases.push({ name, body })

async function killAll() {
  const pages = sdk.Sandbox.list()
  while (pages.hasNext) {
    for (const one of await pages.nextItems()) await sdk.Sandbox.kill(one.sandboxId)
  }
}

async function limited(body) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('took longer than 60 s')), 60_000)
  })
  try {
    await Promise.race([body({ ...sdk, sdk, assert }), late])
  } finally {
    clearTimeout(timer)
  }
}

async function main() {
  require(path.resolve(process.argv[2]))
  for (const { name, body } of cases) {
    const began = Date.now()
    let error
    try {
      await limited(body)
    } catch (problem) {
      error = String((problem && problem.stack) || problem)
    }
    await killAll().catch(() => {})
    console.log(JSON.stringify({ name, ok: error === undefined, ms: Date.now() - began, error }))
  }
  process.exit(0)
}

main()
