import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pathOfLocation } from '../../../src/iceberg/io/local-location.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const REPOSITORY = join(import.meta.dirname, '../../..')
const EXAMPLES = join(REPOSITORY, 'examples')

let service: TestService
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockhouse-examples-'))
  service = await startTestService({ events: { commits: 2, filesPerCommit: 2, rowsPerFile: 10 } })
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})

it('the example of lockhouse/iceberg lists the files of a table with rows and deletes', async () => {
  const { metadata_location: location } = (await service.get('/api/table/demo.events')).body
  // the package is not built here: the example runs on the source that is built into it
  const source = readFileSync(join(EXAMPLES, 'iceberg/files-of-a-table.mjs'), 'utf8')
  const script = join(folder, 'files.mjs')
  writeFileSync(script, source.replace("'lockhouse/iceberg'", `'${join(REPOSITORY, 'src/iceberg/index.ts')}'`))
  const flags = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
  const lines = execFileSync(process.execPath, [...flags, script, pathOfLocation(location)], { encoding: 'utf8' })
    .trim()
    .split('\n')
  expect(lines[0]).toMatch(/: id, occurred_at, kind, user_id, amount$/)
  expect(lines.slice(1, -1)).toHaveLength(4)
  for (const line of lines.slice(1, -1)) expect(line).toMatch(/\.parquet: 10 rows, [01] delete files$/)
  expect(lines.at(-1)).toBe('40 rows in data files')
})

it('every example is run by a test', () => {
  const run =
    readFileSync(join(REPOSITORY, 'test/interop/delivery/package.test.ts'), 'utf8') +
    readFileSync(import.meta.filename, 'utf8')
  for (const name of readdirSync(EXAMPLES)) expect(run, name).toContain(name)
})
