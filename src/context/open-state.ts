import type { Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type AuditLog, type CheckpointFile, createAuditLog } from '../services/audit-log.ts'
import { type AuditRecorder, createAuditRecorder } from '../services/audit-service.ts'
import { createEventFeed, type EventFeed } from '../services/event-feed.ts'
import { createEventWriter, type EventWriter } from '../services/event-log.ts'
import type { Logger } from '../services/logger.ts'
import { createAuditStore } from '../storage/audit-store.ts'
import { createEventStore } from '../storage/event-store.ts'
import { type Instance, registerInstance } from '../storage/instance-registry.ts'
import type { StateTables } from '../storage/schema.ts'
import { openStateDatabase } from '../storage/state-database.ts'
import { createTransactions, type Transactions } from '../storage/transactions.ts'

export interface StateParts {
  readonly config: Pick<Config, 'databaseUrl' | 'auditKey'>
  readonly home: {
    readonly stateDatabase: string
    readonly auditKey: Uint8Array
    readonly auditCheckpoint: CheckpointFile
  }
  readonly runtime: Runtime
  readonly log: Logger
  readonly now: () => Date
}

/** The state database and what every service that changes it needs. */
export interface State extends Transactions {
  readonly db: Kysely<StateTables>
  readonly instance: Instance
  readonly audit: AuditRecorder
  readonly auditLog: AuditLog
  readonly events: EventWriter
  readonly feed: EventFeed
  close(): Promise<void>
}

/** How often events of other processes are looked for. */
const POLL_MS = 1000
const CHECKPOINT_MS = 60_000

/** Opens the state: SQLite in the home folder, or PostgreSQL where `DATABASE_URL` says so. */
export async function openState({ config, home, runtime, log, now }: StateParts): Promise<State> {
  const { databaseUrl } = config
  const dialect = databaseUrl ? await runtime.openPostgres(databaseUrl) : runtime.openSqlite(home.stateDatabase)
  const db = await openStateDatabase(dialect, now())
  const transactions = createTransactions(db)
  const { inTransaction, onCommit } = transactions
  const instance = await registerInstance(db, inTransaction, now())
  const key = config.auditKey === undefined ? home.auditKey : new TextEncoder().encode(config.auditKey)
  const auditStore = createAuditStore(db, key)
  const eventStore = createEventStore(db)
  const auditLog = createAuditLog({ store: auditStore, inTransaction, key, checkpoints: home.auditCheckpoint, now })
  const checkpoint = (): Promise<void> =>
    auditLog.checkpoint().catch((error: unknown) => log.error('the audit checkpoint was not written', { error }))
  const timer = setInterval(() => void checkpoint(), CHECKPOINT_MS)
  const feed = createEventFeed({ store: eventStore, onCommit, pollMs: databaseUrl ? POLL_MS : undefined })
  return {
    ...transactions,
    db,
    instance,
    audit: createAuditRecorder(auditStore, now),
    auditLog,
    events: createEventWriter(eventStore, now),
    feed,
    async close() {
      clearInterval(timer)
      feed.close()
      await checkpoint()
      await instance.close()
      await db.destroy()
    },
  }
}
