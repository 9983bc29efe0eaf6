// An agent's loop: clone, test, edit, test again. See README.md. Usage: node agent_loop.mjs [REPOSITORY]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// By require, so that NODE_PATH may say where the SDK is.
const { CommandExitError, Sandbox } = createRequire(import.meta.url)('e2b')

const REPOSITORY = '/home/user/repository'
const CALC = 'def add(a, b):\n    return a - b\n'
const TEST = "from calc import add\n\nassert add(2, 3) == 5, f'add(2, 3) is {add(2, 3)}, not 5'\nprint('all tests pass')\n"

// What to work on when no repository is named: a function with a mistake, and its test.
function makeRepository(folder) {
  writeFileSync(join(folder, 'calc.py'), CALC)
  writeFileSync(join(folder, 'test_calc.py'), TEST)
  const git = (...command) => execFileSync('git', ['-C', folder, '-c', 'user.name=me', '-c', 'user.email=me@example.org', ...command])
  git('init', '-q')
  git('add', '.')
  git('commit', '-q', '-m', 'A function and its test')
  return folder
}

// A bundle is a repository in one file: no network is needed, and only what is committed goes in.
async function cloneInto(sandbox, repository, scratch) {
  const bundle = join(scratch, 'repository.bundle')
  execFileSync('git', ['-C', repository, 'bundle', 'create', '-q', bundle, 'HEAD'])
  const bytes = readFileSync(bundle)
  await sandbox.files.write('/tmp/repository.bundle', bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
  await sandbox.commands.run(`git clone -q /tmp/repository.bundle ${REPOSITORY}`)
}

async function runTests(sandbox) {
  try {
    return [true, (await sandbox.commands.run('python3 -B test_calc.py', { cwd: REPOSITORY })).stdout]
  } catch (failed) {
    if (!(failed instanceof CommandExitError)) throw failed
    return [false, failed.stdout + failed.stderr]
  }
}

// Your model's place: it sees a file and what the tests said, and answers with the file as it should be.
const model = (text, complaint) => text.replace('return a - b', 'return a + b')

async function main(repository, scratch) {
  const sandbox = await Sandbox.create({ timeoutMs: 300_000, metadata: { example: 'agent_loop' } })
  try {
    await cloneInto(sandbox, repository, scratch)
    let passed = false
    for (let round = 1; round <= 3 && !passed; round++) {
      const [good, said] = await runTests(sandbox)
      console.log(`round ${round}: ${said.trim().split('\n').at(-1)}`)
      passed = good
      const path = `${REPOSITORY}/calc.py`
      if (!good) await sandbox.files.write(path, model(await sandbox.files.read(path), said))
    }
    console.log((await sandbox.commands.run('git diff', { cwd: REPOSITORY })).stdout)
    return passed ? 0 : 1
  } finally {
    await sandbox.kill()
  }
}

const scratch = mkdtempSync(join(tmpdir(), 'agent-loop-'))
try {
  process.exitCode = await main(process.argv[2] ?? makeRepository(mkdtempSync(join(scratch, 'repository-'))), scratch)
} finally {
  rmSync(scratch, { recursive: true })
}
