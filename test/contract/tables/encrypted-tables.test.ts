import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashTree } from '../../interop/harness/file-tree.ts'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService
let metadataFile: string
let plain: string
beforeAll(async () => {
  service = await startTestService({ events: { commits: 3, filesPerCommit: 2, rowsPerFile: 50 } })
  const { body } = await service.get('/api/table/demo.events')
  metadataFile = body.metadata_location.startsWith('file:')
    ? fileURLToPath(body.metadata_location)
    : body.metadata_location
  plain = readFileSync(metadataFile, 'utf8')
}, 300_000)
afterAll(() => service.close())

const edit = (change: (json: Record<string, unknown>) => void): string => {
  // ids are beyond what JSON.parse keeps, so they go through as text
  const json = JSON.parse(plain.replaceAll(/([:[,])\s*(\d{16,})/g, '$1"#$2#"')) as Record<string, unknown>
  change(json)
  return JSON.stringify(json).replaceAll(/"#(\d+)#"/g, '$1')
}
const withProperty = (name: string, value: string): string =>
  edit((json) => Object.assign(json['properties'] as object, { [name]: value }))

const ENCRYPTED: Readonly<Record<string, () => string>> = {
  'the property encryption.key-id': () => withProperty('encryption.key-id', 'kms-key-1'),
  'another property of encryption': () => withProperty('encryption.kms-type', 'aws'),
  "a property of Parquet's own encryption": () => withProperty('parquet.encryption.footer.key', 'k'),
  'keys in its metadata': () =>
    edit((json) => Object.assign(json, { 'encryption-keys': [{ 'key-id': 'k', 'encrypted-key-metadata': 'AAAA' }] })),
  'a snapshot that names a key': () =>
    edit((json) => {
      const [snapshot] = json['snapshots'] as Record<string, unknown>[]
      if (snapshot) snapshot['key-id'] = 'k'
    }),
}

const table = 'demo.events'
const WRITES: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  ['/api/compact', { table, rewrite_all: true }],
  ['/api/compact', { table, rewrite_all: true, dry_run: true }],
  ['/api/expire', { table, older_than: '2100-01-01T00:00:00Z', retain_last: 1 }],
  ['/api/rewrite-manifests', { table }],
  ['/api/evolve/add-column', { table, name: 'added', type: 'int' }],
  ['/api/evolve/rename-column', { table, name: 'kind', new_name: 'sort' }],
]

describe.each(Object.keys(ENCRYPTED))('a table with %s', (title) => {
  it('can be read, and nothing is written to it', async () => {
    writeFileSync(metadataFile, ENCRYPTED[title]?.() ?? '')
    const home = join(service.folder, 'home', 'warehouse')
    const before = await hashTree(home)
    expect((await service.get('/api/table/demo.events/health')).status).toBe(200)
    for (const [path, body] of WRITES) {
      const answer = await service.post(path, body)
      expect([answer.status, answer.body.code, path]).toEqual([422, 'UNSUPPORTED', path])
      expect(answer.body.detail).toMatch(/encrypt/)
    }
    expect(await hashTree(home)).toEqual(before)
  })
})

it('the key length alone does not require encryption, and the table is compacted', async () => {
  writeFileSync(metadataFile, withProperty('encryption.data-key-length', '16'))
  expect((await service.post('/api/compact', { table, rewrite_all: true })).status).toBe(200)
})
