import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { UpstreamRequest } from '../../../src/notebooks/proxy/upstream.ts'
import { detectRuntime } from '../../../src/runtime/runtime.ts'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { sleep } from './harness/raw-client.ts'

describe('requests to notebooks when the service stops', async () => {
  const runtime = await detectRuntime()
  let notebook: FakeNotebook

  beforeAll(async () => {
    notebook = await FakeNotebook.start()
  })
  afterEach(() => notebook.reset())
  afterAll(() => notebook.stop())

  const request = (): UpstreamRequest => ({
    baseUrl: notebook.baseUrl,
    method: 'GET',
    path: '/notebook/ana/events',
    headers: new Headers({ host: 'h' }),
    body: null,
    signal: new AbortController().signal,
  })

  it('may end by themselves', async () => {
    const upstream = runtime.createNotebookUpstream({ graceMs: 10_000 })
    notebook.answer = async (_, response) => {
      response.write('a')
      await sleep(200)
      response.end('b')
    }
    const { body } = await upstream.request(request())
    const text = new Response(body).text()
    await upstream.close()
    expect(await text).toBe('ab')
  })

  it('are cut when they do not, and no more are made', async () => {
    const upstream = runtime.createNotebookUpstream({ graceMs: 100 })
    notebook.answer = (_, response) => void response.write('never the end')
    const { body } = await upstream.request(request())
    const reading = new Response(body).text().then(
      () => 'read',
      () => 'cut',
    )
    await upstream.close()
    expect(await reading).toBe('cut')
    await expect(upstream.request(request())).rejects.toMatchObject({ failure: 'unreachable' })
    await expect(upstream.openSocket(request(), [])).rejects.toMatchObject({ failure: 'unreachable' })
    expect(notebook.requests).toHaveLength(1)
  })
})
