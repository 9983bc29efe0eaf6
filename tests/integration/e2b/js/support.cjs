// What the cases share.
const HOME = '/home/user'
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(condition, what) {
  const end = Date.now() + 15_000
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(what)
    await sleep(50)
  }
}

async function raised(promise) {
  try {
    await promise
  } catch (problem) {
    return problem
  }
  throw new Error('nothing was raised')
}

module.exports = { HOME, sleep, until, raised }
