/** The unchecked environment. */
export type Env = Readonly<Record<string, string | undefined>>

/** Reads the process environment; no other code does. Empty values count as absent. */
export function readEnv(): Env {
  return Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
}
