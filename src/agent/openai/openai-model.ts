import type OpenAI from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { DomainError } from '../../domain/errors.ts'
import { type ChatModel, estimateTokens, type ModelReply, type ModelRequest } from '../chat-model.ts'
import type { ModelEndpoint } from '../model-endpoint.ts'
import { PROVIDERS, type RemoteProviderName } from '../providers.ts'
import { isRecord, type RawReply, readCompletion, toToolCalls } from './completion-reader.ts'
import { toModelFailure, unavailable } from './model-failure.ts'
import { StreamReader } from './stream-reader.ts'
import { toWireMessages, toWireTools } from './wire-messages.ts'

export interface OpenAiModelOptions {
  readonly provider: RemoteProviderName
  readonly model: string
  readonly endpoint: ModelEndpoint
  /** Takes secrets that the service knows out of a text. */
  readonly redact: (text: string) => string
}

/** A provider that asks for more patience than this is not asked again. */
const MAX_RETRY_MS = 10_000
const LIST_TIMEOUT_MS = 15_000
/** Above every bound of ours: the package's own clock must not be the one that strikes. */
const PACKAGE_TIMEOUT_MS = 600_000

/**
 * A language model behind Chat Completions, the one interface that every provider of the table speaks. Resolves when the
 * client package is loaded, which takes longer than many an answer.
 */
export async function createOpenAiModel(options: OpenAiModelOptions): Promise<ChatModel> {
  const { provider, model, endpoint, redact } = options
  const client = await openClient(endpoint)
  return {
    provider,
    name: model,
    costsTokens: true,
    async complete(request) {
      let hasSpoken = false
      const ask = (): Promise<RawReply> =>
        request.onDelta === undefined
          ? askWhole(client, { provider, model, request })
          : askStream(client, { provider, model, request }, (text) => {
              hasSpoken = true
              request.onDelta?.(text)
            })
      const reply = await withOneRetry(ask, { request, provider, redact, mayRetry: () => !hasSpoken })
      return toReply(reply, request)
    },
  }
}

/** The name of the first model that a provider has. Throws `MODEL_UNAVAILABLE` and its kin. */
export async function firstModel(
  { provider, endpoint, redact }: Omit<OpenAiModelOptions, 'model'>,
  signal: AbortSignal,
) {
  const client = await openClient(endpoint)
  const patience = AbortSignal.timeout(LIST_TIMEOUT_MS)
  try {
    const list: unknown = await client.get('/models', { signal: AbortSignal.any([signal, patience]) })
    const models: unknown = isRecord(list) ? list['data'] : undefined
    const first: unknown = Array.isArray(models) ? models[0] : undefined
    const id = isRecord(first) ? first['id'] : undefined
    if (typeof id === 'string' && /^[\x21-\x7e]{1,200}$/.test(id)) return id
  } catch (error) {
    signal.throwIfAborted()
    if (patience.aborted) throw new DomainError('MODEL_TIMEOUT', `${provider} did not list its models in time`)
    throw toModelFailure(error, provider, redact).error
  }
  throw unavailable(`${provider} has no model: name one in the request`)
}

/** A client of its own for every request: one that is kept could meet the key of another. */
async function openClient({ baseURL, apiKey, fetch }: ModelEndpoint): Promise<OpenAI> {
  const { OpenAI } = await import('openai')
  // Everything that the package would otherwise take from the environment is said here.
  return new OpenAI({
    baseURL,
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    fetch,
    fetchOptions: { redirect: 'error' },
    maxRetries: 0,
    timeout: PACKAGE_TIMEOUT_MS,
    logLevel: 'off',
  })
}

interface Question {
  readonly provider: RemoteProviderName
  readonly model: string
  readonly request: ModelRequest
}

async function askWhole(client: OpenAI, question: Question): Promise<RawReply> {
  const { signal } = question.request
  const document: unknown = await client.chat.completions.create(bodyOf(question), { signal })
  return requireReply(readCompletion(document))
}

async function askStream(client: OpenAI, question: Question, onDelta: (text: string) => void): Promise<RawReply> {
  const { signal } = question.request
  const options = PROVIDERS[question.provider].askStreamUsage ? { stream_options: { include_usage: true } } : {}
  const { data: stream, response } = await client.chat.completions
    .create({ ...bodyOf(question), stream: true, ...options }, { signal })
    .withResponse()
  // Some servers do not stream, whatever they are asked for.
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    const whole = requireReply(readCompletion(await response.json()))
    if (whole.text !== '') onDelta(whole.text)
    return whole
  }
  const reader = new StreamReader(onDelta)
  for await (const chunk of stream) {
    reader.add(chunk)
    if (reader.isFull) break
  }
  signal.throwIfAborted() // the package ends an aborted stream as if it were complete
  return requireReply(reader.reply())
}

function requireReply(reply: RawReply | undefined): RawReply {
  if (reply === undefined) throw new TypeError('no chat completion')
  return reply
}

function bodyOf({ provider, model, request }: Question): ChatCompletionCreateParamsNonStreaming {
  const { messages, tools, mayCallTools, maxOutputTokens } = request
  return {
    model,
    messages: toWireMessages(messages),
    tools: toWireTools(tools),
    ...(mayCallTools ? {} : { tool_choice: 'none' as const }),
    [PROVIDERS[provider].maxTokensField]: maxOutputTokens,
  }
}

interface RetryOptions {
  readonly request: ModelRequest
  readonly provider: string
  readonly redact: (text: string) => string
  readonly mayRetry: () => boolean
}

async function withOneRetry(ask: () => Promise<RawReply>, options: RetryOptions): Promise<RawReply> {
  const { request, provider, redact, mayRetry } = options
  const { signal } = request
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask()
    } catch (cause) {
      signal.throwIfAborted()
      const { error, retryAfterMs } = toModelFailure(cause, provider, redact)
      if (attempt > 1 || retryAfterMs === undefined || retryAfterMs > MAX_RETRY_MS || !mayRetry()) throw error
      await pause(retryAfterMs, signal)
    }
  }
}

/** Rejects with the signal's reason when it is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}

function toReply({ text, calls, usage, finishReason }: RawReply, { messages }: ModelRequest): ModelReply {
  const taken = messages.flatMap((message) =>
    message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [],
  )
  const input = usage.input ?? messages.reduce((sum, { content }) => sum + estimateTokens(content), 0)
  const output = usage.output ?? estimateTokens(text + JSON.stringify(calls))
  return {
    text,
    toolCalls: toToolCalls(calls, taken),
    usage: {
      input_tokens: input,
      output_tokens: output,
      estimated: usage.input === undefined || usage.output === undefined,
    },
    isCutShort: finishReason === 'length',
  }
}
