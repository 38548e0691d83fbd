import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RowGroupCopyTask } from '../../../../src/engines/row-group-copy.ts'
import { isIcebergError } from '../../../../src/iceberg/errors.ts'
import { fixedCredentials } from '../../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../../src/iceberg/io/s3/file-io.ts'
import { FakeS3 } from '../../../support/network/fake-s3.ts'
import type { StoreFault } from '../../../support/network/store-answers.ts'
import { everyNth } from '../../../support/effort.ts'
import { field, Lake, schemaOf, task } from '../harness/lake.ts'
import { copyTask } from './copy-task.ts'

const SHAPE = { schemas: [schemaOf([field(1, 'id', 'long'), field(2, 'name', 'string')])] }
const IDS = '{id: 1, name: 2}, COMPRESSION zstd, ROW_GROUP_SIZE 2048'
const FILES = 2
const ROWS = 3000
const OUT = 's3://lake/out/'

describe('row groups copied in an object store', () => {
  const lake = new Lake()
  let store: FakeS3
  let copy: RowGroupCopyTask

  beforeAll(async () => {
    store = await FakeS3.start('lake')
    const { endpoint, credentials } = store
    const io = new S3FileIO({
      endpoint,
      credentials: fixedCredentials(credentials),
      pathStyle: true,
      roots: ['s3://lake/'],
      partBytes: 4000,
    })
    const inputs = []
    for (let at = 0; at < FILES; at += 1) {
      const select = `SELECT i AS id, 'name ' || i AS name FROM range(${at * ROWS}, ${(at + 1) * ROWS}) r(i)`
      const { dataFile } = await lake.data(select, IDS)
      store.objects.set(`lake/in/${at}`, { bytes: readFileSync(dataFile.filePath), modifiedAt: new Date() })
      inputs.push(task({ ...dataFile, filePath: `s3://lake/in/${at}` }))
    }
    const made = copyTask(lake, SHAPE, inputs)
    copy = { ...made, io, output: { ...made.output, newDataLocation: (_, index) => `${OUT}${index}.parquet` } }
  })
  afterAll(async () => {
    await lake.close()
    await store.close()
  })

  const outputs = (): string[] => [...store.objects.keys()].filter((key) => key.startsWith('lake/out/'))

  async function expectRows(): Promise<void> {
    const [key = ''] = outputs()
    const path = lake.write(store.objects.get(key)?.bytes ?? new Uint8Array())
    const count = 'count(DISTINCT id)::INTEGER AS ids, count(DISTINCT name)::INTEGER AS names'
    expect(await lake.sql(`SELECT ${count} FROM read_parquet('${path}')`)).toEqual([
      { ids: FILES * ROWS, names: FILES * ROWS },
    ])
    store.objects.delete(key)
  }

  it('are uploaded in parts', async () => {
    const engine = await lake.engine()
    store.calls.length = 0
    expect(await engine.copyRowGroups(copy)).toMatchObject({ kind: 'copied', result: { rowsWritten: FILES * ROWS } })
    expect(store.calls.filter((call) => call.startsWith('PUT')).length).toBeGreaterThan(2)
    await expectRows()
  })

  it.each<StoreFault>(['cut-before', 'cut-after', 'fail-after', 'cut-body'])(
    'are the same when the store answers any one request with "%s"',
    async (fault) => {
      const engine = await lake.engine()
      for (let failing = 1, isHit = true; isHit; failing += everyNth(3)) {
        let calls = 0
        store.fault = () => (++calls === failing ? fault : undefined)
        expect(await engine.copyRowGroups(copy), `request ${failing}`).toMatchObject({ kind: 'copied' })
        store.fault = undefined
        isHit = calls >= failing
        await expectRows()
      }
    },
  )

  it('are not there when the store refuses everything after any request', async () => {
    const engine = await lake.engine()
    // Uploads whose first answer was lost above: nobody knows their ids.
    const unknown = store.openUploads
    let failures = 0
    for (let last = 1, isHit = true; isHit; last += everyNth(4)) {
      let calls = 0
      store.fault = ({ method, query }) =>
        ++calls > last && method !== 'DELETE' && !query.has('delete') ? 'deny' : undefined
      const result = await engine.copyRowGroups(copy).catch((error: unknown) => error)
      store.fault = undefined
      isHit = calls > last
      if (isHit) {
        failures += 1
        expect(isIcebergError(result), `after request ${last}: ${String(result)}`).toBe(true)
        expect(outputs()).toEqual([])
        expect(store.openUploads).toBe(unknown)
      } else await expectRows()
    }
    expect(failures).toBeGreaterThan(2)
  })
})
