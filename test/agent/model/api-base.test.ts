import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { redirects, says } from '../../support/model-provider/reply.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { chat, CHAT_WAYS } from '../safety/chat.ts'
import { hostileApiBases } from './hostile-api-bases.ts'
import { LONG } from '../../support/effort.ts'

const KEYS = {
  OPENAI_API_KEY: 'sk-server-openai-0123456789',
  ANTHROPIC_API_KEY: 'sk-server-anthropic-0123456789',
  OLLAMA_API_KEY: 'server-ollama-0123456789',
}

let canary: Server
let connections = 0
let received = ''
let provider: ModelProvider
let service: TestService
beforeAll(async () => {
  canary = createServer((socket) => {
    connections += 1
    socket.on('data', (bytes) => (received += bytes.toString('latin1')))
    socket.on('error', () => undefined)
  })
  // All address families, so that a connection to this machine is always seen.
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve))
  provider = await startModelProvider()
  service = await startTestService({ env: { ...KEYS, AGENT_ALLOWED_API_BASES: provider.url } })
})
afterAll(async () => {
  await service.close()
  await provider.close()
  await new Promise((resolve) => canary.close(resolve))
})
const port = (): number => (canary.address() as AddressInfo).port
const keys = Object.values(KEYS)

describe('an api_base in a request', () => {
  it('connects only to configured addresses, and sends no key elsewhere', LONG, async () => {
    const hostile = hostileApiBases(port())
    expect(hostile.length).toBeGreaterThanOrEqual(120)
    for (const { why, value } of hostile) {
      // No test contacts an outside host, so addresses with real owners are left out.
      for (const name of ['openai', 'mistral', 'ollama']) {
        const ask = { prompt: 'hello', provider: name, model: 'm', api_base: value }
        const end = await chat(service, ask)
        expect(end.status, `${name}, ${why}: ${value}: ${end.text}`).toBe(400)
        for (const key of keys) expect(end.text).not.toContain(key)
      }
      const stream = await chat(service, { prompt: 'hello', provider: 'openai', api_base: value }, { way: 'stream' })
      expect(stream.status, value).toBe(400)
      const own = { headers: { 'X-Model-Api-Key': 'a-key-of-my-own' } }
      expect((await chat(service, { prompt: 'hello', provider: 'openai', api_base: value }, own)).status).toBe(400)
    }
    for (const wrong of [7, true, {}, [], ['https://api.openai.com']]) {
      const end = await chat(service, { prompt: 'hello', provider: 'openai', api_base: wrong })
      expect(end.status, JSON.stringify(wrong)).toBe(400)
    }
    expect({ connections, received, asked: provider.received.length }).toEqual({
      connections: 0,
      received: '',
      asked: 0,
    })
  })

  it('may be an address that the settings allow; it receives the key of the chosen provider', async () => {
    provider.reset()
    const end = await chat(service, { prompt: 'hello', provider: 'anthropic', model: 'm', api_base: provider.url })
    expect(end).toMatchObject({ status: 200, body: { response: 'done', provider: 'anthropic' } })
    expect(provider.received[0]?.headers.authorization).toBe(`Bearer ${KEYS.ANTHROPIC_API_KEY}`)
    const own = { headers: { 'X-Model-Api-Key': 'a-key-of-my-own' } }
    await chat(service, { prompt: 'hello', provider: 'anthropic', model: 'm', api_base: provider.url }, own)
    expect(provider.received[1]?.headers.authorization).toBe('Bearer a-key-of-my-own')
    expect(provider.received[1]?.text).not.toContain('a-key-of-my-own')
  })

  it.each(CHAT_WAYS)('does not follow a redirect (%s)', async (way) => {
    for (const status of [301, 302, 303, 307, 308]) {
      provider.reset()
      provider.fallback = redirects(`http://127.0.0.1:${port()}/v1/chat/completions`, status)
      const ask = { prompt: 'a prompt that stays', provider: 'openai', model: 'm', api_base: provider.url }
      expect((await chat(service, ask, { way })).status, String(status)).toBe(502)
    }
    expect({ connections, received }).toEqual({ connections: 0, received: '' })
  })

  it('receives nothing from the environment variables of client packages', async () => {
    provider.reset()
    provider.fallback = says('done')
    await chat(service, { prompt: 'hello', provider: 'groq', model: 'm', api_base: provider.url })
    const [call] = provider.received
    expect(call?.headers.authorization).toBeUndefined()
    for (const key of keys) expect(JSON.stringify(call)).not.toContain(key)
  })
})
