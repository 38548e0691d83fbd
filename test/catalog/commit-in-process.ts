// Commits properties to db.events in a separate process. Arguments: kind, folder, prefix, number of commits. Prints
// the key of each commit after it succeeded.
import { writeSync } from 'node:fs'

import { commitTable } from '../../src/catalog/commit-table.ts'
import { openStored } from './stored-catalog.ts'
import { EVENTS, setProperty } from './support-files.ts'

const [kind, folder, prefix, count] = process.argv.slice(2)
if (kind === undefined || folder === undefined || prefix === undefined) throw new Error('Arguments are missing')
const catalog = openStored(kind, folder)
const retries = { count: 1000, minWaitMs: 1, maxWaitMs: 50 }
for (let i = 0; i < Number(count); i++) {
  await commitTable(catalog, EVENTS, setProperty(`${prefix}${i}`, 'yes'), { retries })
  writeSync(1, `${prefix}${i}\n`)
}
await catalog.close()
