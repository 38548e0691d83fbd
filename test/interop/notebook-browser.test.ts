import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeNotebook } from '../notebooks/proxy/harness/fake-notebook.ts'
import { openBrowser } from './harness/browser.ts'
import { chromiumAvailable, NotebookHouse, RUNTIMES } from './harness/notebook-house.ts'
import { type PageServer, startPageServer } from './harness/page-server.ts'

const available = chromiumAvailable('notebooks and a browser')

/** Runs in the page: every way to reach a notebook from another site. Resolves with what each one saw. */
function attackFromOutside(base: string): Promise<Record<string, string>> {
  const seen: Record<string, string> = {}
  const attempt = (name: string, work: () => Promise<string>): Promise<void> =>
    Promise.resolve()
      .then(work)
      .then(
        (result) => void (seen[name] = result),
        (error: unknown) => void (seen[name] = `blocked: ${String(error)}`),
      )
  const loaded = (element: HTMLElement): Promise<string> =>
    new Promise((resolve, reject) => {
      element.addEventListener('load', () => resolve('loaded'))
      element.addEventListener('error', () => reject(new Error('not loaded')))
      document.body.append(element)
      setTimeout(() => reject(new Error('nothing came')), 1500)
    })
  const element = (tag: string, attributes: Record<string, string>): HTMLElement => {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    return made
  }
  const text = (response: Response): Promise<string> => response.text().then((body) => `${response.status} ${body}`)
  const send = (method: string, mode: RequestMode) => (): Promise<string> =>
    fetch(`${base}api/kernels`, {
      method,
      mode,
      credentials: 'include',
      ...(method === 'GET' ? {} : { body: '{}' }),
    }).then((response) => (response.type === 'opaque' ? 'blocked: opaque' : text(response)))
  const socket = (protocols: string[]) => (): Promise<string> =>
    new Promise((resolve, reject) => {
      const opened = new WebSocket(`${base.replace('http', 'ws')}api/kernels/1/channels`, protocols)
      opened.addEventListener('open', () => resolve('opened'))
      opened.addEventListener('error', () => reject(new Error('not opened')))
    })
  const form = (enctype: string) => async (): Promise<string> => {
    const frame = element('iframe', { name: `frame-${enctype}` })
    const made = element('form', { action: `${base}api/kernels`, method: 'post', enctype, target: `frame-${enctype}` })
    made.append(element('input', { name: '{"a":"', value: '"}' }))
    document.body.append(frame, made)
    ;(made as HTMLFormElement).submit()
    return new Promise((_, reject) => setTimeout(() => reject(new Error('nothing to see')), 800))
  }
  return Promise.all([
    ...(['cors', 'no-cors'] as const).flatMap((mode) =>
      (mode === 'cors' ? ['GET', 'POST', 'PUT', 'DELETE'] : ['GET', 'POST']).map((method) =>
        attempt(`${method} ${mode}`, send(method, mode)),
      ),
    ),
    attempt('a socket', socket([])),
    attempt('a socket of a kernel', socket(['v1.kernel.websocket.jupyter.org'])),
    attempt('events', () => {
      const source = new EventSource(`${base}events`, { withCredentials: true })
      return new Promise((resolve, reject) => {
        source.addEventListener('open', () => resolve('opened'))
        source.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('a beacon', async () => {
      navigator.sendBeacon(`${base}api/kernels`, '{}')
      throw new Error('nothing to see')
    }),
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'].map((type) =>
      attempt(`a form of ${type}`, form(type)),
    ),
    attempt('an image', () => loaded(element('img', { src: `${base}files/a.png` }))),
    attempt('a script', () => loaded(element('script', { src: `${base}files/a.js` }))),
    attempt('a style', () => loaded(element('link', { rel: 'stylesheet', href: `${base}files/a.css` }))),
    attempt('an object', () => loaded(element('object', { data: `${base}files/a.html` }))),
    attempt('a video', () => loaded(element('video', { src: `${base}files/a.webm`, autoplay: '' }))),
    attempt('a frame', async () => {
      const frame = element('iframe', { src: `${base}lab` }) as HTMLIFrameElement
      await loaded(frame)
      return frame.contentDocument?.body.textContent ?? 'blocked: another origin'
    }),
    attempt('a worker', () => Promise.resolve(String(new Worker(`${base}files/a.js`)))),
    attempt('a prefetch', () => loaded(element('link', { rel: 'prefetch', href: `${base}lab` }))),
  ]).then(() => seen)
}

/** Runs in a page of a notebook: every way to act on the service as the visitor. Resolves with what each one saw. */
function attackFromInside(): Promise<Record<string, string>> {
  const seen: Record<string, string> = {}
  const target = '/api/auth/me'
  const limit = <T>(work: Promise<T>): Promise<T> =>
    Promise.race([work, new Promise<T>((_, reject) => setTimeout(() => reject(new Error('nothing came')), 4000))])
  const attempt = (name: string, work: () => Promise<string>): Promise<void> =>
    limit(Promise.resolve().then(work)).then(
      (result) => void (seen[name] = result),
      (error: unknown) => void (seen[name] = `blocked: ${String(error)}`),
    )
  const read = (by: Window & typeof globalThis = window, path = target): Promise<string> =>
    by.fetch(new URL(path, location.href).href, { credentials: 'include' }).then((response) => {
      if (!response.ok) throw new Error(`answered with ${response.status}`)
      return response.text()
    })
  const frame = (attributes: Record<string, string>): Promise<HTMLIFrameElement> =>
    new Promise((resolve) => {
      const made = document.createElement('iframe')
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
      made.addEventListener('load', () => resolve(made))
      document.body.append(made)
    })
  const popup = async (url: string): Promise<string> => {
    const opened = window.open(url)
    if (opened === null) return 'blocked: no window'
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const by = opened as Window & typeof globalThis
    const text = by.document?.body?.textContent ?? ''
    const result = await read(by).catch((error: unknown) => `blocked: ${String(error)} ${by.location.href} ${text}`)
    opened.close()
    return result
  }
  const heard = (port: { addEventListener: Worker['addEventListener'] }): Promise<string> =>
    new Promise((resolve, reject) => {
      port.addEventListener('message', (event) => resolve(String((event as MessageEvent).data)))
      port.addEventListener('error', () => reject(new Error('no worker')))
    })
  const workerCode = `fetch(new URL('${target}', ${JSON.stringify(location.origin)})).then((r) => r.text()).then(postMessage, (e) => postMessage('blocked: ' + e))`
  const blob = (code: string, type: string): string => URL.createObjectURL(new Blob([code], { type }))
  const posting = `fetch('${location.origin}${target}').then((r) => r.text()).then((t) => parent.postMessage({ from: name, t }, '*'), (e) => parent.postMessage({ from: name, t: 'blocked: ' + e }, '*'))`
  const told = (name: string): Promise<string> =>
    new Promise((resolve) =>
      addEventListener('message', ({ data }) => {
        if (data.from === name) resolve(data.t)
      }),
    )
  return Promise.all([
    attempt('a fetch', () => read()),
    attempt('a fetch with an effect', () =>
      fetch('/api/auth/tokens', { method: 'POST', body: '{}' }).then((response) => response.text()),
    ),
    attempt('a fetch that hides where it is', () =>
      fetch('/api/auth/tokens', { method: 'POST', body: '{}', referrerPolicy: 'no-referrer', keepalive: true }).then(
        (response) => response.text(),
      ),
    ),
    attempt('a path with dots', () => read(window, '/notebook/ana/../../api/auth/me')),
    attempt('a redirect', () => read(window, '/notebook/ana/redirect')),
    attempt('XMLHttpRequest', () => {
      const request = new XMLHttpRequest()
      request.open('GET', target)
      request.send()
      return new Promise((resolve, reject) => {
        request.addEventListener('load', () => resolve(request.responseText))
        request.addEventListener('error', () => reject(new Error('no answer')))
      })
    }),
    attempt('a socket', () => {
      const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/api/pipeline/monitor`, ['lockhouse.v1'])
      return new Promise((resolve, reject) => {
        socket.addEventListener('open', () => resolve('opened'))
        socket.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('events', () => {
      const source = new EventSource('/api/events')
      return new Promise((resolve, reject) => {
        source.addEventListener('open', () => resolve('opened'))
        source.addEventListener('error', () => reject(new Error('not opened')))
      })
    }),
    attempt('a beacon', async () => {
      navigator.sendBeacon('/api/auth/tokens', '{}')
      throw new Error('nothing to see')
    }),
    attempt('forms', async () => {
      for (const goal of ['_blank', 'some-frame']) {
        const form = document.createElement('form')
        Object.assign(form, { action: '/api/auth/tokens', method: 'post', target: goal, enctype: 'text/plain' })
        document.body.append(form)
        form.submit()
      }
      throw new Error('nothing to see')
    }),
    attempt('a frame of the service', async () => {
      const made = await frame({ src: target })
      return made.contentDocument?.body.textContent ?? 'blocked: another origin'
    }),
    attempt('a frame of nothing', async () => read((await frame({})).contentWindow as Window & typeof globalThis)),
    attempt('a frame of text', async () => {
      const answer = told('srcdoc')
      await frame({ name: 'srcdoc', srcdoc: `<script>${posting}</` + 'script>' })
      return answer
    }),
    attempt('a frame of a blob', async () => {
      const answer = told('blob')
      await frame({ name: 'blob', src: blob(`<script>${posting}</` + 'script>', 'text/html') })
      return answer
    }),
    attempt('a frame of a script', async () => {
      const answer = told('script')
      await frame({ name: 'script', src: `javascript:${posting}` })
      return answer
    }),
    attempt('a worker', () => heard(new Worker('/notebook/ana/worker.js'))),
    attempt('a worker of a blob', () => heard(new Worker(blob(workerCode, 'text/javascript')))),
    attempt('a service worker', async () => {
      await navigator.serviceWorker.register('/notebook/ana/worker.js')
      return 'registered'
    }),
    attempt('a window of nothing', () => popup('about:blank')),
    attempt('a window of the page', () => popup('/')),
    attempt('a window of the interface', () => popup(target)),
    attempt('a window of a refusal', () => popup('/notebook/bo/')),
    attempt('a window of a path that is not plain', () => popup('/notebook/ana/%00')),
    attempt('a window of a missing path', () => popup('/nowhere')),
    attempt('a window of what the server refuses', () => popup(`/notebook/ana/${'a'.repeat(90_000)}`)),
  ]).then(() => seen)
}

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

  it.each(['localhost', '127.0.0.1'])('lets a page of %s on another port reach nothing', async (host) => {
    const page = await (await signedIn()).newPage()
    const site = await startPageServer('<!doctype html><title>evil</title><body></body>')
    sites.push(site)
    await page.goto(`http://${host}:${site.port}/`)
    const seen = await page.evaluate(attackFromOutside, `${house.origin}/notebook/ana/`)
    expect(Object.keys(seen)).toHaveLength(21)
    const successes = Object.entries(seen).filter(([, result]) => !result.startsWith('blocked'))
    expect(successes).toEqual([])
    expect([notebook.requests, notebook.connections]).toEqual([[], 0])
    // The browser is the visitor's all the same: what they open themselves is there.
    await page.goto(`${house.origin}/notebook/ana/api`)
    expect(notebook.lastRequest.url).toBe('/notebook/ana/api')
  })

  it('lets a page of a notebook reach nothing of the service', async () => {
    notebook.answer = answerEvilNotebook
    const page = await (await signedIn()).newPage()
    // What it must not reach is there to be reached.
    await page.goto(`${house.origin}/api/auth/me`)
    expect(await page.textContent('body')).toContain('"ana"')
    await page.goto(`${house.origin}/notebook/ana/page`)
    await house.report()
    const seen = await page.evaluate(attackFromInside)
    expect(Object.keys(seen)).toHaveLength(25)
    const successes = Object.entries(seen).filter(([, result]) => !result.startsWith('blocked'))
    expect(successes).toEqual([])
    const { log } = await house.report()
    const effects = log
      .map((line) => JSON.parse(line))
      .filter(({ path, method }) => path?.startsWith('/api/') && method !== 'GET')
    expect(effects).toEqual([])
    // It is confined, not broken: its own server answers it.
    const own = await page.evaluate(() => fetch('/notebook/ana/api/kernels', { method: 'POST' }).then((r) => r.text()))
    expect(own).toBe('own')
    const socket = await page.evaluate(
      () =>
        new Promise((resolve) => {
          const opened = new WebSocket(`ws://${location.host}/notebook/ana/api/kernels/1/channels`, ['a.kernel'])
          opened.addEventListener('open', () => resolve(opened.protocol))
          opened.addEventListener('error', () => resolve('error'))
        }),
    )
    expect(socket).toBe('a.kernel')
  })
})

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
    response.end('<!doctype html><title>a notebook</title><body><iframe name="some-frame"></iframe></body>')
    return
  }
  response.end('own')
}
