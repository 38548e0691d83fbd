/** A copy of a JSON value with every string and every member name passed through `redact`. */
export function redactValue(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [redact(name), redactValue(member, redact)]))
}

/** A JSON text passed through `redact`; when the result is not valid JSON, it becomes a JSON string. */
export function redactJson(json: string, redact: (text: string) => string): string {
  const clean = redact(json)
  if (clean === json) return json
  try {
    JSON.parse(clean)
    return clean
  } catch {
    return JSON.stringify(clean)
  }
}

/** The arguments of a call, JSON text or an object, passed through `redact`; unchanged when they contain no secret. */
export function redactArguments(args: unknown, redact: (text: string) => string): unknown {
  const json = typeof args === 'string' ? args : JSON.stringify(args ?? null)
  const clean = redactJson(json, redact)
  return clean === json ? args : clean
}
