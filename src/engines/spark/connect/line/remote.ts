import { SparkError } from '../spark-error.ts'

/** A Spark Connect address, taken apart. */
export interface SparkRemote {
  /** Such as `http://127.0.0.1:15002`. */
  readonly baseUrl: string
  /** The address without its token, for messages. */
  readonly address: string
  readonly token: string | undefined
  readonly userId: string | undefined
}

const DEFAULT_PORT = 15002
const PLACE = /^sc:\/\/(?<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?\/?$/i
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const PARAMETERS = new Set(['token', 'use_ssl', 'user_id', 'user_agent'])

/**
 * Reads `sc://host:port/;token=…;use_ssl=true;user_id=…`. A token is sent only over TLS, unless the host is this machine or the
 * address says `use_ssl=false`. Throws `INVALID_ARGUMENT`, without the token in its message.
 */
export function parseSparkRemote(remote: string): SparkRemote {
  const [place = '', ...rest] = remote.split(';')
  const { host, port } = placeOf(place)
  const values = parametersOf(rest)
  const token = values.get('token') || undefined
  const usesTls = values.has('use_ssl') ? readFlag(values.get('use_ssl')) : token !== undefined && !LOOPBACK.has(host)
  return {
    baseUrl: `${usesTls ? 'https' : 'http'}://${host}:${port}`,
    address: `sc://${host}:${port}`,
    token,
    userId: values.get('user_id') || undefined,
  }
}

function placeOf(text: string): { host: string; port: number } {
  const { host, port = DEFAULT_PORT } = PLACE.exec(text)?.groups ?? {}
  if (!host || Number(port) > 65_535) throw invalid('it has to look like sc://host:15002/;token=…')
  return { host, port: Number(port) }
}

function parametersOf(texts: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const text of texts.filter((one) => one !== '')) {
    const at = text.indexOf('=')
    const key = at === -1 ? text : text.slice(0, at)
    if (!PARAMETERS.has(key) || at === -1)
      throw invalid(`it has an unknown parameter; known are ${[...PARAMETERS].join(', ')}`)
    values.set(key, decode(text.slice(at + 1)))
  }
  return values
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid('a parameter has an incomplete % escape')
  }
}

function readFlag(text: string | undefined): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalid('use_ssl is true or false')
}

function invalid(why: string): SparkError {
  return new SparkError('INVALID_ARGUMENT', `the address of Spark is not valid: ${why}`)
}
