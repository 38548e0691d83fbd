import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bindFetch } from '../../../src/agent/model/bound-fetch.ts'
import { type ModelEndpointSettings, resolveModelEndpoint } from '../../../src/agent/model/model-endpoint.ts'
import { type ProviderName, PROVIDER_NAMES } from '../../../src/domain/model-providers.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { createModelFetch } from '../../../src/agent/model/model-fetch.ts'
import { caught } from '../../support/caught.ts'
import { type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { onWire, redirects, says, sends } from '../../support/model-provider/reply.ts'
import { hostileApiBases } from './hostile-api-bases.ts'

const KEY = 'sk-server-openai-0123456789'

let canary: Server
let connections = 0
let provider: ModelProvider
beforeAll(async () => {
  canary = createServer((_, response) => response.end('{}'))
  canary.on('connection', () => (connections += 1))
  // All address families, so that a connection to this machine is always seen.
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve))
  provider = await startModelProvider()
})
afterAll(async () => {
  canary.closeAllConnections()
  await new Promise((resolve) => canary.close(resolve))
  await provider.close()
})
const canaryPort = (): number => (canary.address() as AddressInfo).port

const settings = (more: Partial<ModelEndpointSettings> = {}): ModelEndpointSettings => ({
  keys: { openai: KEY, anthropic: 'sk-server-anthropic' },
  allowedBases: [],
  serverBases: {},
  // Every name resolves to this machine, so only the rules prevent a connection.
  guardedFetch: createModelFetch({ allowPrivate: false, resolve: async () => ['127.0.0.1'] }),
  plainFetch: fetch,
  ...more,
})
const openai = (apiBase: string | null | undefined, more: Partial<ModelEndpointSettings> = {}, callerKey?: string) =>
  resolveModelEndpoint({ provider: 'openai', apiBase, callerKey }, settings(more))

describe('the endpoint of a model request', () => {
  it('is the provider’s address, or its replacement from the settings', () => {
    for (const none of [null, undefined, '', '  ']) expect(openai(none).baseURL).toBe('https://api.openai.com/v1')
    for (const same of ['https://api.openai.com', 'https://api.openai.com/', 'HTTPS://API.OpenAI.com:443']) {
      expect(openai(same)).toMatchObject({ baseURL: 'https://api.openai.com/v1', apiKey: KEY })
    }
    expect(openai('https://api.openai.com/v2').baseURL).toBe('https://api.openai.com/v2')
    const serverBases = { openai: 'http://gateway.internal:8080/openai/v1' }
    expect(openai(null, { serverBases })).toMatchObject({ baseURL: serverBases.openai, apiKey: KEY })
    expect(openai('http://gateway.internal:8080', { serverBases }).baseURL).toBe(serverBases.openai)
    // The key may belong to the gateway, so it is not sent to OpenAI.
    expect(() => openai('https://api.openai.com/v1', { serverBases })).toThrow('AGENT_ALLOWED_API_BASES')
  })

  it('may be an allowed origin, but no similar one', () => {
    const allowedBases = ['https://llm.example/v1', 'http://127.0.0.1:9000']
    expect(openai('https://llm.example/v1', { allowedBases })).toMatchObject({ apiKey: KEY })
    expect(openai('http://127.0.0.1:9000/v1/', { allowedBases }).baseURL).toBe('http://127.0.0.1:9000/v1/')
    for (const other of [
      'http://llm.example/v1',
      'https://llm.example:444',
      'http://127.0.0.1:9001',
      'http://127.1:9000',
    ]) {
      expect(() => openai(other, { allowedBases }), other).toThrow(DomainError)
    }
  })

  it('does not exist for the builtin assistant', () => {
    const ask = () => resolveModelEndpoint({ provider: 'builtin', apiBase: 'https://api.openai.com' }, settings())
    expect(caught(ask)).toMatchObject({ code: 'INVALID_REQUEST' })
  })

  it('is on this machine only when the settings say so', () => {
    for (const provider of ['ollama', 'vllm'] as const) {
      const ask = (apiBase: string | null, more: Partial<ModelEndpointSettings> = {}) =>
        resolveModelEndpoint({ provider, apiBase }, settings(more))
      expect(() => ask(null)).toThrow('is not configured here')
      expect(() => ask('http://localhost:11434/v1')).toThrow('AGENT_ALLOWED_API_BASES')
      expect(() => ask('http://localhost:8000/v1')).toThrow('AGENT_ALLOWED_API_BASES')
      const serverBases = { [provider]: 'http://localhost:11434/v1' }
      expect(ask(null, { serverBases }).baseURL).toBe('http://localhost:11434/v1')
      expect(ask('http://localhost:11434', { serverBases }).baseURL).toBe('http://localhost:11434/v1')
    }
  })

  it('cannot be any other address, even with the caller’s key', () => {
    expect(caught(() => openai('https://evil.example/v1', {}, 'my-own-key'))).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(caught(() => openai(null, {}, 'two words'))).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(caught(() => openai(null, {}, 'a\r\nX-A: b'))).toMatchObject({ code: 'INVALID_REQUEST' })
    expect(openai('https://api.openai.com', {}, 'my-own-key').apiKey).toBe('my-own-key')
  })

  it('refuses every hostile address for every provider without connecting', async () => {
    const hostile = hostileApiBases(canaryPort())
    expect(hostile.length).toBeGreaterThanOrEqual(120)
    expect(new Set(hostile.map(({ value }) => value)).size).toBe(hostile.length)
    for (const { why, value } of hostile) {
      const refusal = caught(() => openai(value))
      expect(refusal, `${why}: ${value}`).toMatchObject({ name: 'DomainError', code: 'INVALID_REQUEST' })
      expect(String(refusal)).not.toContain(KEY)
      for (const name of PROVIDER_NAMES) await tryToReach(name, value)
    }
    expect(connections).toBe(0)
  })

  it('sends no key to the address of another provider', () => {
    const local = ['builtin', 'ollama', 'vllm']
    const bases = PROVIDER_NAMES.filter((name) => !local.includes(name)).map((name) => ({
      name,
      base: resolveModelEndpoint({ provider: name, apiBase: null }, settings()).baseURL,
    }))
    for (const { name, base } of bases) {
      for (const other of bases.filter((one) => one.name !== name)) {
        const ask = () => resolveModelEndpoint({ provider: other.name, apiBase: base }, settings())
        expect(caught(ask), `${other.name} at ${base}`).toMatchObject({ code: 'INVALID_REQUEST' })
      }
    }
  })

  it('does not connect to this machine when the provider’s name resolves to it', async () => {
    const endpoint = openai(null)
    const sent = endpoint.fetch(`${endpoint.baseURL}/chat/completions`, { method: 'POST', body: '{}' })
    await expect(sent).rejects.toMatchObject({ name: 'ForbiddenAddressError' })
    expect(connections).toBe(0)
  })
})

/** Continues after the point where a refusal was expected. */
async function tryToReach(provider: ProviderName, apiBase: string): Promise<void> {
  try {
    const endpoint = resolveModelEndpoint({ provider, apiBase }, settings())
    await endpoint.fetch(`${endpoint.baseURL}/models`, { signal: AbortSignal.timeout(1000) })
  } catch {
    // Only whether anything arrived matters.
  }
}

describe('the fetch of an endpoint', () => {
  const bound = (more: object = {}, apiKey: string | undefined = KEY) =>
    bindFetch(fetch, { origin: new URL(provider.url).origin, apiKey, ...more })

  it('connects to one origin with one key and its own headers only', async () => {
    provider.reset()
    const headers = {
      Authorization: 'Bearer other',
      'OpenAI-Organization': 'org-1',
      'X-Custom': 'secret',
      Cookie: 'a=b',
    }
    await (await bound()(`${provider.url}/chat/completions`, { method: 'POST', headers, body: '{}' })).text()
    await (await bound({}, '')(`${provider.url}/models`, { headers })).text()
    const [first, second] = provider.received
    expect(first?.headers.authorization).toBe(`Bearer ${KEY}`)
    const names = Object.keys(first?.headers ?? {}).sort()
    expect(names.filter((name) => /openai|custom|cookie|stainless/.test(name))).toEqual([])
    expect(second?.headers['x-custom']).toBeUndefined()
    await expect(bound()(`http://127.0.0.1:${canaryPort()}/v1`)).rejects.toMatchObject({
      name: 'ForbiddenAddressError',
    })
    expect(connections).toBe(0)
  })

  it('sends no credential without a key', async () => {
    provider.reset()
    const keyless = bindFetch(fetch, { origin: new URL(provider.url).origin, apiKey: undefined })
    const headers = { Authorization: `Bearer ${KEY}` }
    await (await keyless(`${provider.url}/models`, { headers })).text()
    expect(provider.received[0]?.headers.authorization).toBeUndefined()
  })

  it.each([301, 302, 303, 307, 308])('does not follow a redirect (%i)', async (status) => {
    provider.reset()
    provider.fallback = redirects(`http://127.0.0.1:${canaryPort()}/stolen`, status)
    const response = await bound()(`${provider.url}/chat/completions`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(status)
    await response.text()
    expect(connections).toBe(0)
  })

  it('limits the size of responses, except streams', async () => {
    const maxBytes = { document: 1000, stream: 5000 }
    const get = async (bytes: number, type: string) => {
      provider.script = [sends('x'.repeat(bytes), type)]
      return (await (await bound({ maxBytes })(`${provider.url}/models`)).text()).length
    }
    expect(await get(1000, 'application/json')).toBe(1000)
    await expect(get(1001, 'application/json')).rejects.toThrow('more than 1000 bytes')
    expect(await get(5000, 'text/event-stream')).toBe(5000)
    await expect(get(5001, 'text/event-stream')).rejects.toThrow('more than 5000 bytes')
    provider.script = [{ forever: 'data: {}\n\n', headers: { 'Content-Type': 'text/event-stream' } }]
    const endless = await bound({ maxBytes })(`${provider.url}/models`)
    await expect(endless.text()).rejects.toThrow('more than 5000 bytes')
    await expect.poll(() => provider.openConnections()).toBeLessThan(3)
  })

  it('limits the time of an exchange: before, during and between the bytes of a response', async () => {
    const wires = [
      { beforeHeaders: 'hang' as const },
      { stopAt: 0, ending: 'hang' as const },
      { pieceBytes: 1, everyMs: 20 },
    ]
    for (const wire of wires) {
      provider.script = [onWire(says('x'.repeat(1000)), wire)]
      const fetched = async () => (await bound({ maxMs: 200 })(`${provider.url}/models`)).text()
      await expect(fetched(), JSON.stringify(wire)).rejects.toThrow()
    }
    await expect.poll(() => provider.received.length).toBeGreaterThan(2)
  })
})
