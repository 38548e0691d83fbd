import type { Env } from '../config/env.ts'
import type { ServiceBundle } from '../server/open-service.ts'
import type { ApiClient } from './api-client.ts'
import type { EndpointId } from './endpoint.ts'

/** Where a command writes. */
export interface Terminal {
  /** Results, on standard output. */
  readonly out: (text: string) => void
  /** Text of results as it is, without a line break; resolves when more can be written. */
  readonly write: (text: string) => Promise<void>
  /** Messages for people, on standard error. */
  readonly note: (text: string) => void
  /** Whether standard error is a terminal, where a line can be replaced. */
  readonly isLive: boolean
  /** Columns of standard output; undefined when it is not a terminal. */
  readonly width: number | undefined
  /** Asks a question on a terminal; undefined when nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined
  readonly nowMs: () => number
}

/** What a command gets. */
export interface Call {
  readonly api: ApiClient
  /** Whether the command works on a catalog without a service. */
  readonly isDirect: boolean
  readonly terminal: Terminal
  readonly env: Env
  /** What one executable brings along for a service in a folder; undefined in a checkout and in the package. */
  readonly bundle: (home: string) => ServiceBundle | undefined
  /** The arguments without options, as many as the command names. */
  readonly names: readonly string[]
  readonly text: (option: string) => string | undefined
  readonly isSet: (option: string) => boolean
  /** A whole number; throws {@link UsageError}. */
  readonly number: (option: string) => number | undefined
}

export interface OptionSpec {
  /** What stands for its value in the help; undefined: it has none. */
  readonly value?: string
  /** The values that are accepted; undefined: any. */
  readonly choices?: readonly string[]
  readonly help: string
}

/** A command of `lockhouse` that calls a service, or works on the files of one. */
export interface Command {
  readonly summary: string
  /** Names of its arguments; `[name]` may be left out. */
  readonly names: readonly string[]
  readonly options: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly string[]
  readonly run: (call: Call) => Promise<void>
  /** The routes that it calls; a test asks for a command of each route. */
  readonly endpoints: readonly EndpointId[]
  /** Whether it can work on a catalog without a service. */
  readonly takesCatalog?: true
}
