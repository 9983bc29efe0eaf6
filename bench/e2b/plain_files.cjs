// The peer of the bench: as little as E2B's SDK needs to write and read one file, on Node's own HTTP server and streams.
//   node plain_files.cjs FOLDER        prints its port; ends with its stdin
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const { pipeline } = require('node:stream')

const file = path.join(process.argv[2], 'plain')
const made = JSON.stringify({ sandboxID: 'plain', templateID: 'base', clientID: 'plain', envdVersion: '0.6.13', domain: 'localhost' })
const stored = JSON.stringify([{ name: 'plain', path: '/plain', type: 'file' }])
const BLOCK = 1 << 20

function answer(response, status, text) {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(text)
}

function write(request, response) {
  pipeline(request, fs.createWriteStream(file, { highWaterMark: BLOCK }), (problem) => answer(response, problem ? 500 : 200, stored))
}

function read(response) {
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': fs.statSync(file).size })
  pipeline(fs.createReadStream(file, { highWaterMark: BLOCK }), response, () => {})
}

const server = http.createServer((request, response) => {
  if (!request.url.startsWith('/files')) return answer(response, 201, made)
  return request.method === 'POST' ? write(request, response) : read(response)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.resume().on('end', () => process.exit(0))
