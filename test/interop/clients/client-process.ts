import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { OutputTail } from '../harness/child-output.ts'
import { DUCKDB_PYTHON, GO_CLIENT, REPOSITORY, RUST_CLIENT } from '../harness/environment.ts'

/** A library that reads and writes tables through an Iceberg REST catalog, and the program that uses it. */
export interface ClientLibrary {
  readonly name: string
  /** The environment variable that says where it is. */
  readonly variable: string
  /** Undefined where it is not installed. */
  readonly command: readonly string[] | undefined
}

/** The libraries; `scripts/setup/catalog-clients.sh` installs and builds them. */
export const CLIENT_LIBRARIES: readonly ClientLibrary[] = [
  { name: 'iceberg-go', variable: 'LOCKHOUSE_GO_CLIENT', command: GO_CLIENT === undefined ? undefined : [GO_CLIENT] },
  {
    name: 'iceberg-rust',
    variable: 'LOCKHOUSE_RUST_CLIENT',
    command: RUST_CLIENT === undefined ? undefined : [RUST_CLIENT],
  },
  {
    name: 'DuckDB',
    variable: 'LOCKHOUSE_DUCKDB_PYTHON',
    command:
      DUCKDB_PYTHON === undefined ? undefined : [DUCKDB_PYTHON, `${REPOSITORY}/test/interop/clients/duckdb/client.py`],
  },
]

/** What a client does next: to a table in the namespace `db` with the columns id and name. */
export type ClientCommand =
  | { readonly do: 'list' }
  | { readonly do: 'create' | 'rows'; readonly table: string }
  | { readonly do: 'append'; readonly table: string; readonly first: number; readonly count: number }

interface ClientAnswer {
  readonly tables?: readonly string[]
  readonly ids?: readonly number[]
  readonly error?: string
}

/** A client in a process of its own; one command at a time. */
export class ClientProcess {
  readonly #child
  readonly #answers: AsyncIterator<string>
  readonly #errors: OutputTail

  /** `uri`: the address of the catalog, without `/v1`. */
  constructor(command: readonly string[], { uri, token }: { readonly uri: string; readonly token: string }) {
    const [program = '', ...before] = command
    this.#child = spawn(program, [...before, uri, token], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#errors = new OutputTail(this.#child.stderr)
  }

  /** Throws what the client says when the command fails. */
  async ask(command: ClientCommand): Promise<ClientAnswer> {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`)
    const line = await this.#answers.next()
    if (line.done === true) throw new Error(`the client ended:\n${this.#errors.text}`)
    const answer = JSON.parse(line.value) as ClientAnswer
    if (answer.error !== undefined) throw new Error(`${command.do}: ${answer.error}`)
    return answer
  }

  /** All ids of a table, sorted. */
  async ids(table: string): Promise<readonly number[]> {
    const { ids = [] } = await this.ask({ do: 'rows', table })
    return ids.toSorted((a, b) => a - b)
  }

  stop(): void {
    this.#child.stdin.end()
  }
}
