// Puts a whole DeepSeek Harness into one folder, pinned by the lock files beside this one, and writes there a file `env` to source
// and `lab.json` to read. It installs nothing into the machine, and does nothing where the folder was made from the same locks.
//
//   node install.mjs FOLDER
//
// It runs on any Node from 20 on. Where the registry has the pinned Node for this system it is installed too; elsewhere the Node that
// runs this must itself be 24.12 or newer.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = path.dirname(fileURLToPath(import.meta.url))
const folder = path.resolve(process.argv[2] ?? fail('usage: node install.mjs FOLDER'))
const parts = {
  tools: ['package.json', 'package-lock.json'],
  host: ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml'],
}

for (const [name, files] of Object.entries(parts)) settle(name, files)
describe()

function settle(name, files) {
  const into = path.join(folder, name)
  const stamp = path.join(into, 'pinned.sha256')
  const digest = createHash('sha256')
  for (const file of files) digest.update(read(path.join(here, name, file)))
  const wanted = digest.digest('hex')
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return
  fs.rmSync(into, { recursive: true, force: true })
  fs.mkdirSync(into, { recursive: true })
  for (const file of files) {
    if (fs.existsSync(path.join(here, name, file))) fs.copyFileSync(path.join(here, name, file), path.join(into, file))
  }
  if (name === 'tools') npm(into)
  else pnpm(into)
  fs.writeFileSync(stamp, wanted)
}

function npm(into) {
  const words = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
  const verb = fs.existsSync(path.join(into, 'package-lock.json')) ? 'ci' : 'install'
  // npm is a command file on Windows, which only a shell starts; all words are our own.
  run('npm', [verb, ...words], { cwd: into, shell: process.platform === 'win32' })
}

function pnpm(into) {
  const frozen = fs.existsSync(path.join(into, 'pnpm-lock.yaml')) ? ['--frozen-lockfile'] : ['--no-frozen-lockfile']
  const words = [pnpmScript(), 'install', '--ignore-scripts', '--reporter=append-only', '--loglevel=error', ...frozen]
  run(node(), words, { cwd: into, env: environment() })
}

function describe() {
  const lab = {
    node: node(),
    pnpm: pnpmScript(),
    bin: [path.dirname(node()), path.join(folder, 'tools', 'node_modules', '.bin')],
    dsh: path.join(folder, 'host', 'node_modules', '@deepseek-ai', 'dsh', dshEntry()),
    host: path.join(folder, 'host'),
    tools: path.join(folder, 'tools'),
  }
  fs.writeFileSync(path.join(folder, 'lab.json'), `${JSON.stringify(lab, null, 2)}\n`)
  const lines = [
    `export PATH="${lab.bin.join(':')}:$PATH"`,
    `export DSH_LAB="${folder}"`,
    `export DSH="${lab.dsh}"`,
    'export DSH_TELEMETRY_DISABLED=1',
  ]
  fs.writeFileSync(path.join(folder, 'env'), `${lines.join('\n')}\n`)
}

function dshEntry() {
  const manifest = JSON.parse(read(path.join(folder, 'host', 'node_modules', '@deepseek-ai', 'dsh', 'package.json')))
  return typeof manifest.bin === 'string' ? manifest.bin : manifest.bin.dsh
}

/** The Node that runs the host. */
function node() {
  const pinned = path.join(folder, 'tools', 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (fs.existsSync(pinned)) return pinned
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 24 || (major === 24 && minor >= 12)) return process.execPath
  return fail(`the host tests need Node 24.12 or newer on ${process.platform}-${process.arch}; this is ${process.version}`)
}

function pnpmScript() {
  return path.join(folder, 'tools', 'node_modules', 'pnpm', 'bin', 'pnpm.mjs')
}

function environment() {
  return { ...process.env, CI: 'true', PATH: `${path.dirname(node())}${path.delimiter}${process.env.PATH}` }
}

function run(program, words, options) {
  const ended = spawnSync(program, words, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
  if (ended.error) fail(`${program} cannot be started: ${ended.error.message}`)
  if (ended.status !== 0) fail(`${program} ${words.join(' ')} ended with ${ended.status ?? ended.signal}`)
}

function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file) : ''
}

function fail(message) {
  console.error(`error: ${message}`)
  process.exit(1)
}
