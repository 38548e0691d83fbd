import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeNotebook } from '../../notebook-proxy/harness/fake-notebook.ts'
import { freePort } from '../../support/network/free-port.ts'
import { openBrowser } from '../harness/browser.ts'
import { chromiumAvailable, NotebookHouse, RUNTIMES } from '../harness/notebook-house.ts'
import { type PageServer, startPageServer } from '../harness/page-server.ts'

/** Addresses of every kind of answer: the page, JSON, refusals, and what only the server itself answers. */
const WINDOWS = [
  'about:blank',
  '/',
  '/api/auth/me',
  '/api/health',
  '/api/nowhere',
  '/notebook/bo/',
  '/notebook/ana/%00',
  '/nowhere',
  `/notebook/ana/${'a'.repeat(20_000)}`,
  `/notebook/ana/${'a'.repeat(90_000)}`,
  `/${'a'.repeat(90_000)}`,
]

/** Where a service and its notebooks are, on each runtime. */
const PLACES = RUNTIMES.flatMap((runtime) => [
  {
    name: 'named by a setting',
    runtime,
    host: 'lockhouse.localhost',
    notebookHost: 'ana.nb.localhost',
    env: (port: number): Record<string, string> => ({ NOTEBOOK_HOST_TEMPLATE: `http://{slug}.nb.localhost:${port}` }),
  },
  {
    name: 'by default',
    runtime,
    host: 'localhost',
    notebookHost: 'ana.notebooks.localhost',
    env: (): Record<string, string> => ({ NOTEBOOK_ISOLATION: 'host' }),
  },
])

/** Whether something of the API, or of the page, came back. */
function reachesService(result: string): boolean {
  return /"user"|"role"|"status":"ok"|the page/.test(result) || /^(200|201|403) /.test(result)
}

const available = chromiumAvailable('notebooks and a browser')

describe.skipIf(!available).each(RUNTIMES)('notebooks and a browser, on %s', (runtime) => {
  let browser: Browser
  let notebook: FakeNotebook
  let house: NotebookHouse
  let context: BrowserContext
  const sites: PageServer[] = []

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    const target = { baseUrl: notebook.baseUrl, token: 'x' }
    house = await NotebookHouse.start(runtime, { notebooks: { ana: target, bo: target } })
    browser = await openBrowser()
  })
  afterEach(async () => {
    await context?.close()
    notebook.reset()
    await Promise.all(sites.splice(0).map((site) => site.close()))
  })
  afterAll(async () => {
    await browser?.close()
    await house?.stop()
    await notebook?.stop()
  })

  async function signedIn(): Promise<BrowserContext> {
    context = await browser.newContext()
    const [name = '', value = ''] = house.answer.visitors['ana']!.cookie.split('=')
    await context.addCookies([{ name, value, url: house.origin, httpOnly: true, sameSite: 'Strict' }])
    return context
  }

  it.each(['localhost', '127.0.0.1'])('prevent a page of %s on another port from reaching anything', async (host) => {
    const page = await (await signedIn()).newPage()
    const site = await startPageServer('<!doctype html><title>evil</title><body></body>')
    sites.push(site)
    await page.goto(`http://${host}:${site.port}/`)
    const seen = await attack(page, 'attack-from-outside.js', `${house.origin}/notebook/ana/`)
    expect(Object.keys(seen)).toHaveLength(21)
    const successes = Object.entries(seen).filter(([, result]) => !result.startsWith('blocked'))
    expect(successes).toEqual([])
    expect([notebook.requests, notebook.connections]).toEqual([[], 0])
    // The browser still belongs to the visitor: addresses that they open themselves work.
    await page.goto(`${house.origin}/notebook/ana/api`)
    expect(notebook.lastRequest.url).toBe('/notebook/ana/api')
  })

  it('prevent a page of a notebook from reading windows of the service after a click', async () => {
    notebook.answer = answerEvilNotebook
    const page = await (await signedIn()).newPage()
    await page.goto(`${house.origin}/notebook/ana/page`)
    const seen: (readonly [string, string])[] = []
    for (const url of WINDOWS) {
      // each evaluation counts as one click, and each click opens one window
      seen.push([url.slice(0, 40), await attack<string>(page, 'window-from-inside.js', url)])
    }
    expect(seen.filter(([, result]) => !result.startsWith('blocked'))).toEqual([])
  })

  it('prevent a page of a notebook from reaching anything of the service', async () => {
    notebook.answer = answerEvilNotebook
    const page = await (await signedIn()).newPage()
    // The forbidden targets exist.
    await page.goto(`${house.origin}/api/auth/me`)
    expect(await page.textContent('body')).toContain('"ana"')
    await page.goto(`${house.origin}/notebook/ana/page`)
    await house.report()
    const seen = await attack(page, 'attack-from-inside.js')
    expect(Object.keys(seen)).toHaveLength(22)
    const successes = Object.entries(seen).filter(([, result]) => !result.startsWith('blocked'))
    expect(successes).toEqual([])
    const { log } = await house.report()
    const effects = log
      .map((line) => JSON.parse(line))
      .filter(({ path, method }) => path?.startsWith('/api/') && method !== 'GET')
    expect(effects).toEqual([])
    // The page is confined, not broken: its own server answers it.
    const own = await page.evaluate(() => fetch('/notebook/ana/api/kernels', { method: 'POST' }).then((r) => r.text()))
    expect(own).toBe('own')
    const socket = await page.evaluate(
      (url) =>
        new Promise((resolve) => {
          const opened = new WebSocket(url, ['a.kernel'])
          opened.addEventListener('open', () => resolve(opened.protocol))
          opened.addEventListener('error', () => resolve('error'))
        }),
      `${house.origin.replace('http', 'ws')}/notebook/ana/api/kernels/1/channels`,
    )
    expect(socket).toBe('a.kernel')
  })
})

describe.skipIf(!available).each(PLACES)('notebooks on hosts of their own, on $runtime, $name', (place) => {
  let browser: Browser
  let notebook: FakeNotebook
  let house: NotebookHouse
  let main: string
  let own: string

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
    notebook.answer = answerEvilNotebook
    const port = await freePort()
    main = `http://${place.host}:${port}`
    own = `http://${place.notebookHost}:${port}`
    house = await NotebookHouse.start(place.runtime, {
      port,
      notebooks: { ana: { baseUrl: notebook.baseUrl, token: 'x' } },
      env: place.env(port),
    })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await house?.stop()
    await notebook?.stop()
  })

  it('are opened by a visitor there, and no page there reaches the service', async () => {
    const context = await browser.newContext()
    const [name = '', value = ''] = house.answer.visitors['ana']!.cookie.split('=')
    await context.addCookies([{ name, value, url: main, httpOnly: true, sameSite: 'Strict' }])
    const page = await context.newPage()
    await page.goto(`${main}/api/auth/me`)
    expect(await page.textContent('body')).toContain('"ana"')
    await page.goto(`${main}/notebook/ana/page`)
    expect(page.url()).toBe(`${own}/notebook/ana/page`)
    expect(await page.evaluate(() => fetch('/notebook/ana/x', { method: 'POST' }).then((r) => r.text()))).toBe('own')
    const cookies = await context.cookies(own)
    expect(cookies.map((cookie) => [cookie.name, cookie.httpOnly])).toEqual([['lockhouse_notebook', true]])
    await house.report()
    const inside = await attack(page, 'attack-from-inside.js')
    expect(Object.entries(inside).filter(([, result]) => reachesService(result))).toEqual([])
    for (const url of [`${main}/`, `${main}/api/auth/me`, `${main}/${'a'.repeat(90_000)}`, `${own}/api/auth/me`]) {
      const result = await attack<string>(page, 'window-from-inside.js', url)
      expect([url.slice(0, 60), result.slice(0, 200), reachesService(result)]).toEqual([
        url.slice(0, 60),
        expect.anything(),
        false,
      ])
    }
    // cookies of a notebook's page do not reach the service, however wide they are set
    await page.evaluate(`for (const domain of ['', '; Domain=localhost', '; Domain=.localhost']) {
      for (let at = 0; at < 50; at += 1) document.cookie = 'junk-' + at + '=1; Path=/' + domain
      document.cookie = 'lockhouse_session=planted; Path=/' + domain
    }`)
    const kept = await context.cookies(main)
    expect(kept.map((cookie) => [cookie.name, cookie.value])).toEqual([[name, value]])
    await page.goto(`${main}/notebook/ana/page`)
    expect(page.url()).toBe(`${own}/notebook/ana/page`)
    notebook.requests.length = 0
    await house.report()
    for (const base of [`${main}/notebook/ana/`, `${main}/`]) {
      const seen = await attack(page, 'attack-from-outside.js', base)
      const successes = Object.entries(seen).filter(([, result]) => !result.startsWith('blocked'))
      expect([base, successes]).toEqual([base, []])
    }
    expect(notebook.requests).toEqual([])
    const { log } = await house.report()
    const served = log.map((line) => JSON.parse(line)).filter(({ status, user }) => status < 400 && user !== undefined)
    expect(served).toEqual([])
    await context.close()
  })
})

/** Runs, in the page, the function that a file exports. */
async function attack<Seen = Record<string, string>>(page: Page, file: string, argument = ''): Promise<Seen> {
  const source = await readFile(new URL(`pages/${file}`, import.meta.url), 'utf8')
  const code = source.slice(source.search(/(async )?function /))
  return page.evaluate(`(${code})(${JSON.stringify(argument)})`)
}

function answerEvilNotebook(request: IncomingMessage, response: ServerResponse): void {
  const name = request.url?.replace('/notebook/ana/', '')
  if (name === 'redirect') return void response.writeHead(307, { Location: '/api/auth/me' }).end()
  if (name === 'worker.js') {
    response.setHeader('Content-Type', 'text/javascript')
    response.setHeader('Service-Worker-Allowed', '/')
    response.end("fetch('/api/auth/me').then((r) => r.text()).then(postMessage, (e) => postMessage('blocked: ' + e))")
    return
  }
  if (name === 'page') {
    response.setHeader('Content-Type', 'text/html')
    // without the address of the page, the API cannot tell its windows from those of the service
    response.end(
      '<!doctype html><title>a notebook</title><meta name="referrer" content="no-referrer"><body><iframe name="some-frame"></iframe></body>',
    )
    return
  }
  response.end('own')
}
