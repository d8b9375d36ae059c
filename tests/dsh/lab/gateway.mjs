// The gateway, built, in front of the scripted upstream: for pointing the host at it, and for carrying queues to and fro.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export class Gateway {
  /** @param toml the configuration without the address that it listens on */
  static async start(toml) {
    const gateway = new Gateway()
    gateway.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ekiden-gateway-'))
    const config = path.join(gateway.folder, 'config.toml')
    fs.writeFileSync(config, `listen = "127.0.0.1:0"\n${toml}`)
    const env = { ...process.env, EKIDEN_STATE_DIR: path.join(gateway.folder, 'state'), NO_COLOR: '1', MOCK_API_KEY: 'sk-upstream' }
    gateway.child = spawn(process.env.EKIDEN_BIN, ['serve', '--config', config], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    gateway.ended = new Promise(done => gateway.child.once('exit', code => done(code)))
    gateway.said = ''
    gateway.base = await new Promise((done, failed) => {
      const read = part => {
        gateway.said += part
        const found = /listens on (http:\/\/\S+)/.exec(gateway.said)
        if (found) done(found[1])
      }
      gateway.child.stdout.on('data', read)
      gateway.child.stderr.on('data', read)
      void gateway.ended.then(code => failed(new Error(`the gateway ended with ${code}: ${gateway.said}`)))
    })
    return gateway
  }

  async api(method, where, body) {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(`${this.base}/api/v1/${where}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    return { status: response.status, json: await response.json() }
  }

  async stop() {
    this.child.kill('SIGTERM')
    await this.ended
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}
