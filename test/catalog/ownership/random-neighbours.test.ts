import { mkdir, symlink } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isIcebergError } from '../../../src/iceberg/errors.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { runExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { runRemoveOrphans } from '../../../src/maintenance/orphans/orphan-files.ts'
import { reachableFrom, SharedLake } from './shared-lake.ts'
import { LONG } from '../../support/effort.ts'

const TABLES = ['a', 'b', 'c'] as const

/** Spellings of a folder or file of the warehouse that readers and catalogs treat as the same. */
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `file:${path}`,
  (path) => `file://${path}`,
  (path) => path.replace('/db/', '//db///'),
  (path) => path.replace('/db/', '/./db/x/../'),
  (path) => path.replace('/db/', '/link/'),
]

const table = fc.constantFrom(...TABLES)
const spelling = fc.nat({ max: SPELLINGS.length - 1 })
const place = fc.constantFrom('', '/data', '/data/deep', '/metadata', '/..', '/../..')

type Step =
  | { readonly do: 'append' | 'replace' | 'replace-own'; readonly to: string }
  | { readonly do: 'import'; readonly to: string; readonly from: string; readonly spelt: number; readonly pick: number }
  | {
      readonly do: 'point'
      readonly to: string
      readonly at: string
      readonly spelt: number
      readonly below: string
      readonly key: string
    }
  | { readonly do: 'twin'; readonly of: string; readonly spelt: number; readonly catalog: string }
  | { readonly do: 'expire' | 'orphans'; readonly on: string; readonly foreign: boolean }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('append', 'replace', 'replace-own'), to: table }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('import'), to: table, from: table, spelt: spelling, pick: fc.nat(20) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('point'),
      to: table,
      at: table,
      spelt: spelling,
      below: place,
      key: fc.constantFrom('location', 'write.data.path', 'write.metadata.path', 'write.object-storage.path'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('twin'),
      of: table,
      spelt: spelling,
      catalog: fc.constantFrom('test', 'old'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('expire', 'orphans'), on: table, foreign: fc.boolean() }),
  },
)

describe('tables that other clients have mixed up', LONG, () => {
  it('never lose a file to the expiry or orphan removal of another table', async () => {
    const seen = { deleted: 0, refused: 0, kept: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 30 }), async (steps) => {
        const world = await World.open()
        try {
          for (const one of steps) await world.take(one)
          for (const key of ['deleted', 'refused', 'kept'] as const) seen[key] += world.seen[key]
        } finally {
          await world.close()
        }
      }),
      { numRuns: 30 },
    )
    expect(Math.min(seen.deleted, seen.refused, seen.kept)).toBeGreaterThan(0) // all three outcomes occurred; their numbers are random
  }, 300_000)
})

class World {
  readonly lake: SharedLake
  readonly seen = { deleted: 0, refused: 0, kept: 0 }
  readonly #names: string[] = [...TABLES]
  readonly #leftBehind: Table[] = []
  #twins = 0

  private constructor(lake: SharedLake) {
    this.lake = lake
  }

  static async open(): Promise<World> {
    const lake = await SharedLake.open()
    await mkdir(`${lake.warehouse}/db`, { recursive: true })
    await symlink(`${lake.warehouse}/db`, `${lake.warehouse}/link`)
    for (const name of TABLES) {
      await lake.create(name)
      await lake.append(name, [await lake.file(name), await lake.file(name)])
    }
    return new World(lake)
  }

  close(): Promise<void> {
    return this.lake.close()
  }

  async take(one: Step): Promise<void> {
    const { lake } = this
    switch (one.do) {
      case 'append':
        return void (await lake.append(one.to, [await lake.file(one.to), await lake.file(one.to)]))
      case 'replace':
        return unlessTwice(lake.replace(one.to))
      case 'replace-own':
        return unlessTwice(lake.replace(one.to, ({ filePath }) => filePath.includes(`/${one.to}/`)))
      case 'import':
        return this.#import(one)
      case 'point':
        return this.#point(one)
      case 'twin':
        return this.#twin(one)
      case 'expire':
      case 'orphans':
        return this.#maintain(one)
    }
  }

  /** Another table's file under any of its names, as an import or crafted manifests would name it. */
  async #import({ to, from, spelt, pick }: Extract<Step, { do: 'import' }>): Promise<void> {
    const files = [...(await this.lake.reachable(from))].filter((file) => file.endsWith('.parquet'))
    const file = files[pick % Math.max(1, files.length)]
    if (file === undefined) return
    const plain = file.replace(/^file:(\/\/)?/, '')
    await this.lake.append(to, [this.lake.describe(this.#spell(plain, spelt))])
  }

  async #point({ to, at, spelt, below, key }: Extract<Step, { do: 'point' }>): Promise<void> {
    const folder = this.#spell(`${this.lake.warehouse}/db/${at}${below}`, spelt)
    if (key === 'location') await this.lake.setLocation(to, folder)
    else await this.lake.setProperties(to, { [key]: folder })
  }

  async #twin({ of, spelt, catalog }: Extract<Step, { do: 'twin' }>): Promise<void> {
    const { metadataLocation } = await this.lake.load(of)
    const name = `twin${(this.#twins += 1)}`
    await this.lake.plant(name, this.#spell(metadataLocation.replace(/^file:(\/\/)?/, ''), spelt), catalog)
    if (catalog === 'test') this.#names.push(name)
    else this.#leftBehind.push(await this.lake.load(of)) // nothing moves the other catalog's pointer
  }

  #spell(path: string, spelt: number): string {
    return SPELLINGS[spelt]?.(path) ?? path
  }

  async #maintain({ do: what, on, foreign }: Extract<Step, { do: 'expire' | 'orphans' }>): Promise<void> {
    const others = await Promise.all(this.#names.filter((name) => name !== on).map((name) => this.lake.reachable(name)))
    for (const left of this.#leftBehind) others.push(await reachableFrom(left))
    const before = others.map((files) => [...files])
    try {
      if (what === 'expire') {
        const details = await runExpiry(this.lake.run(on, { delete_foreign_files: foreign }))
        this.seen.deleted += details.deleted_data_files_count + details.deleted_foreign_files_count
        this.seen.kept += details.kept_shared_files_count
      } else {
        const details = await runRemoveOrphans(this.lake.run(on))
        this.seen.deleted += details.deleted_files_count
        this.seen.kept += details.kept_shared_files_count
      }
    } catch (error) {
      if (!isIcebergError(error, 'TABLES_OVERLAP')) throw error
      this.seen.refused += 1
    }
    for (const files of [...before, [...(await this.lake.reachable(on))]]) {
      expect(await this.lake.missing(files), `${what} of ${on}`).toEqual([])
    }
  }
}

/** A table that names a file twice cannot replace the file. */
async function unlessTwice(replacing: Promise<void>): Promise<void> {
  try {
    await replacing
  } catch (error) {
    if (!isIcebergError(error, 'INVALID_ARGUMENT')) throw error
  }
}
