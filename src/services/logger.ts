const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogFields = Readonly<Record<string, unknown>>

/** Writes structured log lines: one JSON object each, with `time`, `level`, `message` and the given fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** A logger that passes finished lines to `write` and drops those below `level`. */
export function createLogger(level: (typeof LEVELS)[number], write: (line: string) => void): Logger {
  const time = createTimestamps()
  const at = (name: (typeof LEVELS)[number]): Logger['info'] => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return () => undefined
    return (message, fields) => {
      const start = `{"time":"${time()}","level":"${name}","message":${JSON.stringify(message)}`
      const rest = fields === undefined ? '{}' : toJson(fields)
      write(rest === '{}' ? `${start}}` : `${start},${rest.slice(1)}`)
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** The time as text, made once per millisecond. */
function createTimestamps(): () => string {
  let madeAt = Number.NaN
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== madeAt) {
      madeAt = now
      text = new Date(now).toISOString()
    }
    return text
  }
}

/** A replacer makes this several times slower, and the fields logged with every request need none. */
function toJson(fields: LogFields): string {
  for (const name in fields) if (!isPlain(fields[name])) return JSON.stringify(fields, printable)
  return JSON.stringify(fields)
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' && typeof value !== 'bigint'
}

function printable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return describeError(value)
  return value
}

/** An error as log fields: name, code, message, stack, and its cause. */
function describeError(error: Error): LogFields {
  const code = 'code' in error ? { code: error.code } : {}
  return { name: error.name, ...code, message: error.message, stack: error.stack, cause: error.cause }
}
