import { readFile, rm } from 'node:fs/promises'
import { renameSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { MemoryFileIO } from '../../../src/iceberg/io/memory.ts'
import { field, Lake, schemaOf } from './harness/lake.ts'

const lake = new Lake()
afterAll(() => lake.close())

const schema = schemaOf([field(1, 'id', 'int'), field(2, 'x', 'double')])
const ids = '{id: 1, x: 2}'

/** Replaces a data file by what `select` makes of its rows `t`. */
async function replaceFile(path: string, select: string): Promise<void> {
  await lake.sql(
    `COPY (${select.replace('FROM t', `FROM '${path}' AS t`)}) TO '${path}.new' (FORMAT parquet, FIELD_IDS ${ids})`,
  )
  renameSync(`${path}.new`, path)
}

/** A store that is not on this machine's disk and changes what is moved into it. */
class FaultyStore extends MemoryFileIO {
  override async moveIn(localPath: string, location: string): Promise<void> {
    await replaceFile(localPath, 'SELECT id, x + 1 AS x FROM t')
    await this.create(location, new Uint8Array(await readFile(localPath)))
    await rm(localPath)
  }
}

/** Loses the end of what is moved into it. */
class CuttingStore extends MemoryFileIO {
  override async moveIn(localPath: string, location: string): Promise<void> {
    await this.create(location, new Uint8Array(await readFile(localPath)).subarray(0, 100))
  }
}

class OtherNaNs extends LocalFileIO {
  override async moveIn(localPath: string, location: string): Promise<void> {
    await replaceFile(localPath, 'SELECT id, -x AS x FROM t ORDER BY id DESC')
    await super.moveIn(localPath, location)
  }
}

describe('comparing what was read with what was written', () => {
  it('happens only on request', async () => {
    const engine = await lake.engine()
    const input = await lake.data('SELECT i::INTEGER AS id, i / 3 AS x FROM range(1000) r(i)', ids)
    const plain = await engine.rewrite(lake.task({ schemas: [schema] }, [input]))
    expect(plain.values).toBeUndefined()
    const { values } = await engine.rewrite(lake.task({ schemas: [schema] }, [input], { verifyValues: true }))
    expect(values).toMatchObject({ isEqual: true, columns: ['id', 'x'], differing: [] })
  })

  it('treats all NaNs as one value and ignores the order of rows', async () => {
    const engine = await lake.engine()
    const input = await lake.data(`SELECT i::INTEGER AS id, 'nan'::DOUBLE AS x FROM range(1000) r(i)`, ids)
    const task = lake.task({ schemas: [schema] }, [input], { verifyValues: true, io: new OtherNaNs() })
    expect((await engine.rewrite(task)).values).toMatchObject({ isEqual: true })
  })

  it('reads the new files back from a store that is not on this machine', async () => {
    const engine = await lake.engine()
    const store = new FaultyStore()
    const input = await lake.data('SELECT i::INTEGER AS id, i / 3 AS x FROM range(1000) r(i)', ids)
    await store.create(input.dataFile.filePath, new Uint8Array(await readFile(input.dataFile.filePath)))
    const task = lake.task({ schemas: [schema] }, [input], { verifyValues: true, io: store })
    expect((await engine.rewrite(task)).values).toMatchObject({ isEqual: false, differing: ['x'] })
  })

  it('leaves no file behind when a new file cannot be read back', async () => {
    const engine = await lake.engine()
    const store = new CuttingStore()
    const input = await lake.data('SELECT i::INTEGER AS id, i / 3 AS x FROM range(1000) r(i)', ids)
    await store.create(input.dataFile.filePath, new Uint8Array(await readFile(input.dataFile.filePath)))
    const task = lake.task({ schemas: [schema] }, [input], { verifyValues: true, io: store })
    await expect(engine.rewrite(task)).rejects.toMatchObject({ code: 'CORRUPT_FILE' })
    const left: string[] = []
    for await (const { location } of store.list('/')) left.push(location)
    expect(left).toEqual([input.dataFile.filePath])
  })
})
