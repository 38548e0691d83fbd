import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ModelProvider, startModelProvider } from '../../support/model-provider/model-provider.ts'
import { calls, callsTool, onWire, says, type StreamStyle } from '../../support/model-provider/reply.ts'

let provider: ModelProvider
beforeAll(async () => {
  provider = await startModelProvider()
})
afterAll(() => provider.close())
beforeEach(() => provider.reset())

const client = () => new OpenAI({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'hello' }]

async function streamed(): Promise<{ text: string; args: string; tokens: number | undefined }> {
  const stream = await client().chat.completions.create({
    model: 'm',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  const seen = { text: '', args: '', tokens: undefined as number | undefined }
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta
    seen.text += delta?.content ?? ''
    seen.args += delta?.tool_calls?.[0]?.function?.arguments ?? ''
    seen.tokens = chunk.usage?.total_tokens ?? seen.tokens
  }
  return seen
}

describe('the fake model provider', () => {
  it('works with the client package', async () => {
    provider.script = [says('good day'), callsTool('get_schema', { table: 'demo.events' })]
    const text = await client().chat.completions.create({ model: 'm', messages })
    expect(text.choices[0]).toMatchObject({ message: { content: 'good day' }, finish_reason: 'stop' })
    const called = await client().chat.completions.create({ model: 'm', messages })
    expect(called.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    expect(called.choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_0', function: { name: 'get_schema', arguments: '{"table":"demo.events"}' } },
    ])
    expect(provider.received[0]?.body).toMatchObject({ model: 'm', messages })
    expect(provider.received[0]?.headers.authorization).toBe('Bearer k')
  })

  const styles: readonly StreamStyle[] = [
    {},
    { lineEnd: '\r\n' },
    { lineEnd: '\r' },
    { tight: true },
    { withoutDone: true },
    { wholeCalls: true },
    { repeatId: true },
    { noise: true },
  ]
  it.each(styles)('streams events that the client package reads: %o', async (stream) => {
    const args = '{"table":"demo.ereignisse_für_ünïcode"}'
    provider.script = [
      onWire(says('größer als gedacht', { stream }), { pieceBytes: 7 }),
      onWire(calls([{ name: 'get_schema', arguments: args }], { stream }), { pieceBytes: 11 }),
    ]
    expect(await streamed()).toMatchObject({ text: 'größer als gedacht', tokens: expect.any(Number) })
    expect(await streamed()).toMatchObject({ text: '', args })
  })

  it('truncates and hangs when told to', async () => {
    const cutJson = onWire(says('x'.repeat(1000)), { stopAt: 0.5 })
    provider.script = [cutJson, cutJson, onWire(says('x'), { beforeHeaders: 'cut' })]
    const request = { model: 'm', messages }
    await expect(client().chat.completions.create(request)).rejects.toThrow()
    await expect(streamed()).rejects.toThrow()
    await expect(client().chat.completions.create(request)).rejects.toThrow()
    for (const wire of [{ beforeHeaders: 'hang' as const }, { stopAt: 0.5, ending: 'hang' as const }]) {
      provider.script = [onWire(says('x'), wire)]
      const signal = AbortSignal.timeout(200)
      await expect(client().chat.completions.create(request, { signal })).rejects.toThrow()
    }
    expect(provider.received).toHaveLength(5)
  })
})
