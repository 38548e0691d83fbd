import { afterEach, describe, expect, it } from 'vitest'

import { detectRuntime } from '../../src/server/detect-runtime.ts'
import type { RunningServer, ServeOptions } from '../../src/server/http-server.ts'
import { sleep } from '../support/waiting.ts'
import { LONG } from '../support/effort.ts'

describe('runtime port', async () => {
  const runtime = await detectRuntime()
  const servers: RunningServer[] = []

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop(false)))
  })

  async function serve(options: Partial<ServeOptions> & Pick<ServeOptions, 'fetch'>): Promise<[RunningServer, string]> {
    const server = await runtime.serve({ hostname: '127.0.0.1', port: 0, ...options })
    servers.push(server)
    return [server, `http://127.0.0.1:${server.port}`]
  }

  it('is the port of the current runtime', () => {
    const expected = 'Bun' in globalThis ? 'bun' : 'Deno' in globalThis ? 'deno' : 'node'
    expect(runtime.name).toBe(expected)
  })

  it('serves requests with bodies and knows the peer address', async () => {
    const [, url] = await serve({
      fetch: async (request, { remoteAddress }) => Response.json({ body: await request.text(), remoteAddress }),
    })
    const response = await fetch(url, { method: 'POST', body: 'hello' })
    expect(await response.json()).toEqual({ body: 'hello', remoteAddress: '127.0.0.1' })
  })

  it('returns a 500 without details when the app throws, and reports the error', async () => {
    const errors: unknown[] = []
    const error = new Error('secret detail')
    const [, url] = await serve({ fetch: () => Promise.reject(error), onError: (e) => errors.push(e) })
    const response = await fetch(url)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('Internal Server Error')
    expect(errors).toEqual([error])
  })

  it('finishes running requests on a graceful stop and refuses new ones', async () => {
    const started = deferred()
    const release = deferred()
    const [server, url] = await serve({
      fetch: async () => {
        started.resolve()
        await release.promise
        return new Response('done')
      },
    })
    const answer = fetch(url).then((response) => response.text())
    await started.promise
    const stopped = server.stop(true)
    await expect(fetch(url)).rejects.toThrow()
    release.resolve()
    expect(await answer).toBe('done')
    await stopped
  })

  it('stops gracefully within moments when a client keeps its connection open', async () => {
    const [server, url] = await serve({ fetch: () => new Response('ok') })
    await (await fetch(url, { headers: { connection: 'keep-alive' } })).text()
    const before = performance.now()
    await server.stop(true)
    expect(performance.now() - before).toBeLessThan(4000)
  })

  it('aborts running requests on a hard stop, also during a graceful stop', async () => {
    const started = deferred()
    const [server, url] = await serve({
      fetch: () => {
        started.resolve()
        return new Promise<Response>(() => {})
      },
    })
    const answer = fetch(url).then(
      () => 'answered',
      () => 'cut',
    )
    await started.promise
    void server.stop(true)
    await server.stop(false)
    expect(await answer).toBe('cut')
  })

  it('notifies the app when the client disconnects', async () => {
    const aborted = deferred()
    const started = deferred()
    const [, url] = await serve({
      fetch: (request) => {
        request.signal.addEventListener('abort', () => aborted.resolve())
        started.resolve()
        return new Promise<Response>(() => {})
      },
    })
    const controller = new AbortController()
    const answer = fetch(url, { signal: controller.signal }).catch(() => 'cut')
    await started.promise
    controller.abort()
    expect(await answer).toBe('cut')
    await aborted.promise
  })

  it('keeps an idle event stream open', { ...LONG, timeout: 60_000 }, async () => {
    const [, url] = await serve({
      fetch: () => {
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode('first\n'))
            await sleep(12_000)
            controller.enqueue(new TextEncoder().encode('second\n'))
            controller.close()
          },
        })
        return new Response(body)
      },
    })
    expect(await (await fetch(url)).text()).toBe('first\nsecond\n')
  })

  it('rejects when the port is in use', async () => {
    const [server] = await serve({ fetch: () => new Response('first') })
    const second = runtime.serve({ hostname: '127.0.0.1', port: server.port, fetch: () => new Response('second') })
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  const event = new EventTarget()
  const promise = new Promise<void>((resolve) => event.addEventListener('done', () => resolve()))
  return { promise, resolve: () => event.dispatchEvent(new Event('done')) }
}
