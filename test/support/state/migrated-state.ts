import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openStateDatabase } from '../../../src/storage/state-database.ts'
import { openStateFile } from './state-file.ts'

let migrated: Promise<Uint8Array> | undefined

/** The SQLite file of a new state. A process migrates one: the migrations take 20 times as long as writing its bytes. */
export function migratedState(): Promise<Uint8Array> {
  migrated ??= migrate()
  return migrated
}

async function migrate(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'lockhouse-state-'))
  try {
    const path = join(folder, 'state.db')
    const db = await openStateDatabase(openStateFile(path))
    await sql`pragma wal_checkpoint(truncate)`.execute(db)
    await db.destroy()
    return await readFile(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
