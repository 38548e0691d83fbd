import { LRUCache } from 'lru-cache'

import { IcebergError } from '../../../iceberg/errors.ts'
import type { CredentialsInUse } from '../../catalog-checks.ts'
import type { FileIO } from '../../../iceberg/io/file-io.ts'
import type { JsonObject } from '../../../iceberg/json/lossless-json.ts'
import type { Table, TableIdentifier } from '../../../iceberg/metadata/table.ts'
import { formatIdentifier } from '../../table-identifier.ts'
import { vendedFiles } from './file-io.ts'
import { type VendedCredentials, vendedCredentials } from './message.ts'
import { type VendedKind, vendedKind } from './stores.ts'

export interface VendingPort {
  /** `LoadCredentialsResponse`; undefined if the server does not offer it. */
  loadCredentials(identifier: TableIdentifier): Promise<JsonObject | undefined>
  /** `LoadTableResult`, loaded anew. */
  loadTable(identifier: TableIdentifier): Promise<JsonObject>
  /** The store properties of the settings, which those of the server override. */
  readonly own: Readonly<Record<string, string>>
  readonly roots: readonly string[]
  /** The files of tables without lent credentials. */
  readonly io: FileIO
}

type Loaded = Omit<Table, 'io'>

/** Tables whose files stay open between a load and the response to a commit, which has no credentials. */
const MAX_TABLES = 1000
/** Secrets to redact, only as long as a response could repeat them. */
const MAX_SECRETS = 64
const MAX_SHOWN_PREFIXES = 3

/** The credentials that a catalog lends for tables. They are kept in memory only, and serve only the table they came with. */
export class Vending {
  readonly #port: VendingPort
  readonly #files = new LRUCache<string, { readonly uuid: string; readonly io: FileIO }>({ max: MAX_TABLES })
  readonly #renewals = new Map<string, Promise<readonly VendedCredentials[]>>()
  readonly #secrets: string[] = []
  /** The kinds of stores that the catalog has lent credentials for. */
  readonly #lends = new Set<VendedKind>()

  constructor(port: VendingPort) {
    this.#port = port
  }

  /** The files of a table that was just loaded or created. */
  filesOf(table: Loaded, json: JsonObject): FileIO {
    const lent = this.#remember(vendedCredentials(json, this.#port.own))
    const name = formatIdentifier(table.identifier)
    const isLent = lent.some(({ kind }) => kind === vendedKind(table.metadata.location))
    const io = isLent ? this.#open(table, lent) : this.#port.io
    for (const { kind } of lent) this.#lends.add(kind)
    this.#files.set(name, { uuid: table.metadata.tableUuid, io })
    return io
  }

  /** The files of a table after a commit, whose response has no credentials. */
  filesAfterCommit(table: Loaded, json: JsonObject): FileIO {
    if (vendedCredentials(json, this.#port.own).length > 0) return this.filesOf(table, json)
    const known = this.#files.get(formatIdentifier(table.identifier))
    if (known?.uuid === table.metadata.tableUuid) return known.io
    const kind = vendedKind(table.metadata.location)
    return kind !== undefined && this.#lends.has(kind) ? this.#open(table, undefined) : this.#port.io
  }

  /** The credentials that came with a table, renewed once; undefined when none came. Throws `IO_FAILED` without new ones. */
  async renewOnce({ identifier, metadata }: Loaded, json: JsonObject): Promise<CredentialsInUse | undefined> {
    if (this.#remember(vendedCredentials(json, this.#port.own)).length === 0) return undefined
    const renewed = await this.#renew(identifier, metadata.tableUuid)
    const name = formatIdentifier(identifier)
    if (renewed.length === 0) {
      const message = `The catalog lent credentials with ${name}, but returned none when they were renewed.`
      throw new IcebergError('IO_FAILED', message)
    }
    const expiries = renewed.flatMap((one) => (one.kind === 's3' ? one.keys : one.token).expiresAtMs ?? [])
    const prefixes = [...new Set(renewed.map(({ prefix, kind }) => (prefix === '' ? kind : prefix)))]
    return {
      source: `credentials that the catalog lends for ${prefixes.slice(0, MAX_SHOWN_PREFIXES).join(', ')}`,
      ...(expiries.length === 0 ? {} : { expiresAtMs: Math.min(...expiries) }),
      isRenewed: true,
    }
  }

  /** Secrets to redact in errors of the catalog. */
  secrets(): readonly string[] {
    return this.#secrets
  }

  #open({ identifier, metadata }: Loaded, lent: readonly VendedCredentials[] | undefined): FileIO {
    const { io: local, roots } = this.#port
    return vendedFiles({
      table: formatIdentifier(identifier),
      tableLocation: metadata.location,
      lent,
      renew: () => this.#renew(identifier, metadata.tableUuid),
      roots,
      local,
    })
  }

  /** Concurrent callers share one request. */
  #renew(identifier: TableIdentifier, uuid: string): Promise<readonly VendedCredentials[]> {
    const key = `${uuid} ${formatIdentifier(identifier)}`
    const pending = this.#renewals.get(key)
    if (pending !== undefined) return pending
    const renewal = this.#ask(identifier, uuid).finally(() => this.#renewals.delete(key))
    this.#renewals.set(key, renewal)
    return renewal
  }

  async #ask(identifier: TableIdentifier, uuid: string): Promise<readonly VendedCredentials[]> {
    const { own, loadCredentials, loadTable } = this.#port
    const short = await loadCredentials(identifier)
    if (short !== undefined) return this.#remember(vendedCredentials(short, own))
    const json = await loadTable(identifier)
    const { metadata } = json
    const found: unknown = typeof metadata === 'object' && metadata !== null && Reflect.get(metadata, 'table-uuid')
    if (found === uuid) return this.#remember(vendedCredentials(json, own))
    const message = `Credentials for ${formatIdentifier(identifier)} were not renewed: another table has its name now.`
    throw new IcebergError('IO_FAILED', message)
  }

  #remember(lent: readonly VendedCredentials[]): readonly VendedCredentials[] {
    const secrets = lent.flatMap((one) =>
      one.kind === 's3' ? [one.keys.secretAccessKey, one.keys.sessionToken ?? ''] : [one.token.token],
    )
    this.#secrets.unshift(...secrets.filter((secret) => secret !== '' && !this.#secrets.includes(secret)))
    this.#secrets.length = Math.min(this.#secrets.length, MAX_SECRETS)
    return lent
  }
}
