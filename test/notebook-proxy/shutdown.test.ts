import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { UpstreamRequest } from '../../src/notebook-proxy/upstream.ts'
import { createNotebookUpstream } from '../../src/notebook-proxy/http/upstream-client.ts'
import { FakeNotebook } from './harness/fake-notebook.ts'
import { sleep } from '../support/waiting.ts'

describe('notebook requests at shutdown', () => {
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

  it('may finish within the grace time', async () => {
    const upstream = createNotebookUpstream({ graceMs: 10_000 })
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

  it('are closed after the grace time, and no new ones are sent', async () => {
    const upstream = createNotebookUpstream({ graceMs: 100 })
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
