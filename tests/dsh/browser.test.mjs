// What only the host's page can show: the queue in its model picker, and a rescue that leaves the final text alone on the screen.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Page } from './lab/browser.mjs'
import { Home } from './lab/host.mjs'
import { gate } from './lab/stage.mjs'
import { Upstream, ok } from './lab/upstream.mjs'

let upstream, home, web, page

before(async () => {
  upstream = await Upstream.start()
  home = new Home().offer(upstream.url, ['a', 'b'], { 'agent-default-model': { provider: 'ekiden', model: 'first' } })
  home.install('web').configure({
    defaults: { retries: 0, continue_delay: '0s' },
    queues: { first: { name: '接力 One', candidates: ['mock/a', 'mock/b'] } },
  })
  web = await home.web()
  await web.rpc('workspace.create', { path: home.workspace })
  page = await Page.open(web.base)
  await page.dismiss()
  await page.shows('workspace')
})

after(async () => {
  await page?.close()
  await web?.stop()
  await upstream?.stop()
  home?.dispose()
})

test('D1: the picker shows the queue by its name', async () => {
  await page.shows('接力 One')
})

test('D6: half an answer is on the screen, then only the next candidate’s', async () => {
  const broken = gate()
  upstream.plan('a', async answer => {
    answer.head()
    answer.delta({ role: 'assistant' })
    await answer.text('PARTIAL WORDS THAT MUST GO ')
    await broken.promise
    answer.response.destroy()
  })
  upstream.plan('b', ok('The final answer alone.'))
  await page.say('tell me')
  await page.shows('PARTIAL WORDS THAT MUST GO')
  broken.resolve()
  await page.shows('The final answer alone.')
  await page.page.getByText('PARTIAL WORDS THAT MUST GO').filter({ visible: true }).first().waitFor({ state: 'detached' })
  const text = await page.text()
  assert.ok(!text.includes('PARTIAL WORDS'), text)
  assert.equal(text.split('The final answer alone.').length - 1, 1, 'once')
  assert.ok((await page.screenshot()).length > 10_000, 'a picture of it can be taken')
  assert.deepEqual(page.troubles, [])
})
