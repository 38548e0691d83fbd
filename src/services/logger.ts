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
  const at = (name: (typeof LEVELS)[number]) => (message: string, fields?: LogFields) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return
    const entry = { time: new Date().toISOString(), level: name, message, ...fields }
    // A replacer makes this several times slower, and the fields logged with every request need none.
    const plain = fields === undefined || Object.values(fields).every(isPlain)
    write(plain ? JSON.stringify(entry) : JSON.stringify(entry, printable))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
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
