import type { Caller } from '../domain/roles.ts'

/** What the middleware puts on every request. */
export interface AppEnv {
  Variables: {
    requestId: string
    /** Undefined when no credential was given. */
    caller: Caller | undefined
  }
}
