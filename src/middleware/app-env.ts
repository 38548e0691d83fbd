import type { Caller } from '../domain/roles.ts'

/** What the middleware puts on every request. */
export interface AppEnv {
  Variables: {
    requestId: string
    /** Undefined when no credential was given. */
    caller: Caller | undefined
    /** Of the refusal that is answered. */
    problemCode?: string
  }
  Bindings: {
    /** Absent where the host does not know it. */
    remoteAddress?: string | undefined
  }
}
