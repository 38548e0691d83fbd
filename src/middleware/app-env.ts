import type { Exchange } from './exchange.ts'

/** What handlers find in `c.env`. */
export interface AppEnv {
  Bindings: Exchange
}
