// The host's page in a real browser, for what only a page can show. It looks for what a person would: buttons and text.
import { createRequire } from 'node:module'
import fs from 'node:fs'
import path from 'node:path'
import { paths } from './host.mjs'

const { chromium } = createRequire(path.join(paths.tools, 'package.json'))('playwright-core')
const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where Debian's browser is. */
function program() {
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  for (const name of PROGRAMS) {
    const found = folders.map(folder => path.join(folder, name)).find(file => fs.existsSync(file))
    if (found) return found
  }
  throw new Error('the browser tests need Chromium: install Debian’s `chromium`')
}

export class Page {
  static async open(url) {
    const page = new Page()
    const words = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
    page.browser = await chromium.launch({ executablePath: program(), args: words })
    page.page = await page.browser.newPage({ viewport: { width: 1280, height: 860 }, locale: 'en-US' })
    page.troubles = []
    page.page.on('pageerror', error => page.troubles.push(String(error)))
    await page.page.goto(url)
    return page
  }

  /** The host's first-visit notice, if it is there, makes the page inert. */
  async dismiss() {
    const go = this.page.getByRole('button', { name: /^(Continue|继续)$/ })
    const box = this.composer()
    await Promise.race([go.waitFor().catch(() => {}), box.waitFor().catch(() => {})])
    if (await go.count()) await go.first().click()
    await box.waitFor()
  }

  composer() {
    return this.page.locator('[contenteditable=true], textarea').first()
  }

  async say(text) {
    const box = this.composer()
    await box.fill(text)
    await box.press('Enter')
  }

  /** Waits until the page shows the text. */
  shows(text) {
    return this.page.getByText(text).filter({ visible: true }).first().waitFor()
  }

  text() {
    return this.page.locator('body').innerText()
  }

  screenshot(file) {
    return this.page.screenshot({ path: file })
  }

  async close() {
    await this.browser.close()
  }
}
