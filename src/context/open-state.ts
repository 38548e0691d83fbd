import type { Dialect, Kysely } from 'kysely'
import type { Config } from '../config/config.ts'
import { openPostgres, openPostgresForMigrations } from '../storage/dialects/open-postgres.ts'
import { type AuditLog, type CheckpointFile, createAuditLog } from '../services/audit/audit-log.ts'
import { type AuditRecorder, createAuditRecorder } from '../services/audit/audit-service.ts'
import { startCheckpoints } from '../services/audit/checkpoint-timer.ts'
import { createEventFeed, type EventFeed } from '../services/events/event-feed.ts'
import { createEventWriter, type EventWriter } from '../services/events/event-log.ts'
import type { Logger } from '../services/logger.ts'
import { createAuditStore } from '../storage/stores/audit-store.ts'
import { createEventStore } from '../storage/stores/event-store.ts'
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
  readonly openStateFile: (path: string) => Dialect
  readonly log: Logger
  readonly now: () => Date
}

/** The state database, and the parts that every service writing to it needs. */
export interface State extends Transactions {
  readonly db: Kysely<StateTables>
  readonly instance: Instance
  readonly audit: AuditRecorder
  readonly auditLog: AuditLog
  readonly events: EventWriter
  readonly feed: EventFeed
  close(): Promise<void>
}

/** How often events of other processes are polled. */
const POLL_MS = 1000

/** Opens the state: SQLite in the home folder, or the PostgreSQL of `DATABASE_URL`. */
export async function openState({ config, home, openStateFile, log, now }: StateParts): Promise<State> {
  const { databaseUrl } = config
  if (databaseUrl) await (await openStateDatabase(await openPostgresForMigrations(databaseUrl), now())).destroy()
  const dialect = databaseUrl ? await openPostgres(databaseUrl) : openStateFile(home.stateDatabase)
  const db = await openStateDatabase(dialect, now())
  const transactions = createTransactions(db)
  const { inTransaction, onCommit } = transactions
  const instance = await registerInstance(db, inTransaction, now())
  const key = config.auditKey === undefined ? home.auditKey : new TextEncoder().encode(config.auditKey)
  const auditStore = createAuditStore(db, key)
  const eventStore = createEventStore(db)
  const auditLog = createAuditLog({ store: auditStore, inTransaction, key, checkpoints: home.auditCheckpoint, now })
  const stopCheckpoints = startCheckpoints(auditLog, log)
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
      feed.close()
      await stopCheckpoints()
      await instance.close()
      await db.destroy()
    },
  }
}
