import { rm } from 'node:fs/promises'

import { IcebergError } from '../../../iceberg/errors.ts'

import { readFooter } from '../parquet/footer.ts'
import { int96Leaves, writeInt96AsBytes } from '../parquet/int96.ts'
import type { DuckDbRun } from '../session/session.ts'
import { quoteName, quoteText } from '../session/sql-text.ts'
import { readShape } from './file-schema.ts'
import type { FileField, FileType } from './file-schema.ts'

/**
 * Refuses a file with INT96 timestamps that microseconds cannot hold, or before Julian day 0 (4713 BC): the engine
 * returns other times for them. `UNSUPPORTED` names the file and the column.
 */
export async function requireInt96InRange(run: DuckDbRun, path: string): Promise<void> {
  const location = run.locationOf(path)
  const footer = await readFooter(path, location)
  const probe = `${path}.int96`
  try {
    await writeInt96AsBytes(path, footer, probe)
    const { columns } = await readShape(run, footer.root, probe)
    const leaves = new Set(int96Leaves(footer.root).map(({ leaf }) => leaf))
    for (const column of columns) {
      const test = outOfRange(column.type, `t.${quoteName(column.name)}`, { leaves, depth: 0 })
      if (test !== undefined) await requireNone(run, { probe, column, test, location })
    }
  } finally {
    await rm(probe, { force: true })
  }
}

interface Test {
  readonly probe: string
  readonly column: FileField
  readonly test: string
  readonly location: string
}

async function requireNone(run: DuckDbRun, { probe, column, test, location }: Test): Promise<void> {
  const [row] = await run.rows(
    `SELECT coalesce(bool_or(${test}), false) AS found FROM read_parquet(${quoteText(probe)}, hive_partitioning = false) AS t`,
  )
  if (row?.['found'] === false) return
  throw new IcebergError(
    'UNSUPPORTED',
    `column ${column.fileName} of ${location} has INT96 timestamps before 4713 BC or after the year 294000, which the ` +
      `embedded engine would change; correct the values, or rewrite the file with another engine`,
  )
}

interface Search {
  readonly leaves: ReadonlySet<number | undefined>
  /** Keeps lambda parameters apart. */
  readonly depth: number
}

/** SQL that is true for a value with an INT96 out of range; undefined for one that has no INT96. */
function outOfRange(type: FileType, value: string, search: Search): string | undefined {
  switch (type.kind) {
    case 'primitive':
      return search.leaves.has(type.leaf) ? bytesOutOfRange(value) : undefined
    case 'struct':
      return anyOf(
        type.fields.map((member, at) => outOfRange(member.type, `struct_extract_at(${value}, ${at + 1})`, search)),
      )
    case 'list':
      return listOutOfRange(type.element.type, value, search)
    case 'map':
      return anyOf([
        listOutOfRange(type.key.type, `map_keys(${value})`, search),
        listOutOfRange(type.value.type, `map_values(${value})`, search),
      ])
    default:
      return undefined
  }
}

function listOutOfRange(element: FileType, list: string, { leaves, depth }: Search): string | undefined {
  const item = `i${depth}`
  const test = outOfRange(element, item, { leaves, depth: depth + 1 })
  return test && `list_contains(list_transform(${list}, lambda ${item}: coalesce(${test}, false)), true)`
}

function anyOf(tests: readonly (string | undefined)[]): string | undefined {
  const possible = tests.filter((test) => test !== undefined).map((test) => `coalesce(${test}, false)`)
  return possible.length === 0 ? undefined : `(${possible.join(' OR ')})`
}

/**
 * SQL on the 12 bytes: nanoseconds of the day (8 bytes) and Julian day (4 bytes), both little-endian. As one number the
 * last byte is the lowest. Days up to 0x0681FFFF end in the year 294221, where microseconds reach 294247; nanoseconds up
 * to 0x4EFF… are a little more than a day.
 */
function bytesOutOfRange(bytes: string): string {
  const number = `(${bytes})::BIT::UHUGEINT`
  const byte = (shift: number): string => `((${number} >> ${shift}) & 255)`
  return `(${byte(0)} > 6 OR (${byte(0)} = 6 AND ${byte(8)} > 129) OR ${byte(32)} + ${byte(40)} > 0 OR ${byte(48)} > 78)`
}
