/** The environment as text, before any of it is checked. */
export type Env = Readonly<Record<string, string | undefined>>

/** Reads the process environment; nothing else in the service does. Empty values count as absent. */
export function readEnv(): Env {
  return Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
}
