import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Kysely } from 'kysely'
import { afterEach } from 'vitest'

import { sqliteDialect } from '../../src/runtime/sqlite.ts'
import type { StateTables } from '../../src/storage/schema.ts'
import { openStateDatabase } from '../../src/storage/state-database.ts'

/** Opens state databases in folders that are removed after each test. */
export function stateDatabases(): {
  readonly path: () => string
  readonly open: (path?: string) => Promise<Kysely<StateTables>>
} {
  const folders: string[] = []
  const databases: Kysely<StateTables>[] = []

  afterEach(async () => {
    await Promise.all(databases.splice(0).map((db) => db.destroy()))
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })

  function path(): string {
    const folder = mkdtempSync(join(tmpdir(), 'state-test-'))
    folders.push(folder)
    return join(folder, 'state.db')
  }

  return {
    path,
    async open(at = path()) {
      const db = await openStateDatabase(sqliteDialect(at))
      databases.push(db)
      return db
    },
  }
}
