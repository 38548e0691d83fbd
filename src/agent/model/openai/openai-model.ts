import type OpenAI from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { DomainError } from '../../../domain/errors.ts'
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
  /** Removes known secrets from a text. */
  readonly redact: (text: string) => string
}

/** No retry when the provider asks for a longer wait. */
const MAX_RETRY_MS = 10_000
const LIST_TIMEOUT_MS = 15_000
/** Longer than all our own limits, so that the package's timeout never applies. */
const PACKAGE_TIMEOUT_MS = 600_000

/**
 * A language model behind the Chat Completions API, which every remote provider supports. Resolves when the client
 * package is loaded, which can take longer than a request.
 */
export async function createOpenAiModel(options: OpenAiModelOptions): Promise<ChatModel> {
  const { provider, model, endpoint, redact } = options
  const client = await openClient(endpoint)
  return {
    provider,
    name: model,
    costsTokens: true,
    async complete(request) {
      let hasStreamed = false
      const ask = (): Promise<RawReply> =>
        request.onDelta === undefined
          ? askWhole(client, { provider, model, request })
          : askStream(client, { provider, model, request }, (text) => {
              hasStreamed = true
              request.onDelta?.(text)
            })
      const reply = await withOneRetry(ask, { request, provider, redact, mayRetry: () => !hasStreamed })
      return toReply(reply, request)
    },
  }
}

/** The first model that a provider lists. Throws `MODEL_UNAVAILABLE`, `MODEL_BUSY` or `MODEL_TIMEOUT`. */
export async function firstModel(
  { provider, endpoint, redact }: Omit<OpenAiModelOptions, 'model'>,
  signal: AbortSignal,
) {
  const client = await openClient(endpoint)
  const timeout = AbortSignal.timeout(LIST_TIMEOUT_MS)
  try {
    const list: unknown = await client.get('/models', { signal: AbortSignal.any([signal, timeout]) })
    const models: unknown = isRecord(list) ? list['data'] : undefined
    const first: unknown = Array.isArray(models) ? models[0] : undefined
    const id = isRecord(first) ? first['id'] : undefined
    if (typeof id === 'string' && /^[\x21-\x7e]{1,200}$/.test(id)) return id
  } catch (error) {
    signal.throwIfAborted()
    if (timeout.aborted) throw new DomainError('MODEL_TIMEOUT', `${provider} did not list its models in time`)
    throw toModelFailure(error, provider, redact).error
  }
  throw unavailable(`${provider} lists no models: name one in the request`)
}

/** Opens a new client for every request, because a shared one could be used with another request's key. */
async function openClient({ baseURL, apiKey, fetch }: ModelEndpoint): Promise<OpenAI> {
  const { OpenAI } = await import('openai')
  // Set everything that the package would otherwise read from the environment.
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
  // Some servers ignore `stream` and send a document.
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
