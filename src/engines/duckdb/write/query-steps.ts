import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { AppendFromTask } from '../../engine.ts'
import type { SideOutput, SideResult } from '../../output-spec.ts'
import type { QueryStep, RowCheck, RowCheckResult } from '../../row-checks.ts'

import type { DuckDbRun } from '../session/session.ts'
import { textOf } from '../session/result-values.ts'
import { quoteName } from '../session/sql-text.ts'
import { appendRows } from './append-rows.ts'

/** Longest example of a row that failed a check, in characters. */
const MAX_EXAMPLE = 300

/** Computes each step once, into a table of the run. */
export async function keepSteps(run: DuckDbRun, steps: readonly QueryStep[]): Promise<void> {
  for (const { name, query } of steps) {
    await run.execute(`CREATE TEMP TABLE ${quoteName(name)} AS SELECT * FROM (\n${query}\n)`)
  }
}

/** Counts the rows that fail each check, with one statement per step. */
export async function countChecks(
  run: DuckDbRun,
  { checks = [], secrets }: Pick<AppendFromTask, 'checks' | 'secrets'>,
): Promise<readonly RowCheckResult[]> {
  const results = new Map<RowCheck, RowCheckResult>()
  for (const step of new Set(checks.map((check) => check.step))) {
    const ofStep = checks.filter((check) => check.step === step)
    const counts = ofStep.map(({ failed }, at) => `count(*) FILTER (WHERE ${failed}) AS c${at}`)
    const [row] = await run.rows(`SELECT count(*) AS total, ${counts.join(', ')} FROM ${quoteName(step)}`)
    const total = Number(row?.['total'] ?? 0)
    for (const [at, check] of ofStep.entries()) {
      const failed = Number(row?.[`c${at}`] ?? 0)
      const isExceeded = failed > 0 && failed / total > check.maxRatio
      // a value of the row may be made of a secret
      const example = isExceeded && secrets === undefined ? await exampleOf(run, check) : undefined
      results.set(check, { total, failed, isExceeded, ...(example === undefined ? {} : { example }) })
    }
  }
  return checks.flatMap((check) => results.get(check) ?? [])
}

async function exampleOf(run: DuckDbRun, { step, failed, example }: RowCheck): Promise<string | undefined> {
  const text = `left(CAST(${example} AS VARCHAR), ${MAX_EXAMPLE + 1})`
  const [row] = await run.rows(`SELECT ${text} AS example FROM ${quoteName(step)} WHERE ${failed} LIMIT 1`)
  if (row === undefined) return undefined
  const found = textOf(row['example'])
  return found.length > MAX_EXAMPLE ? `${found.slice(0, MAX_EXAMPLE)}…` : found
}

/** Writes the sides of a task whose other files are `written`; if a side fails, no file remains. */
export async function writeSides(
  run: DuckDbRun,
  { sides = [], io }: Pick<AppendFromTask, 'sides' | 'io'>,
  written: readonly DataFile[],
): Promise<readonly SideResult[]> {
  const placed = [{ io, files: written }]
  const results: SideResult[] = []
  try {
    for (const side of sides) {
      const result = await writeSide(run, side)
      placed.push({ io: side.io, files: result.files })
      results.push(result)
    }
    return results
  } catch (error) {
    // a file that cannot be deleted is an orphan, which the clean-up of orphans finds; the error matters more
    const deletions = placed.flatMap(({ io: place, files }) => files.map(({ filePath }) => place.delete(filePath)))
    await Promise.allSettled(deletions)
    throw error
  }
}

async function writeSide(run: DuckDbRun, { query, io, output }: SideOutput): Promise<SideResult> {
  const files = await dropNewTables(run, () => appendRows(run, { io, query, output }, {}))
  return { files, rows: files.reduce((sum, { recordCount }) => sum + recordCount, 0) }
}

/** Does work, and drops the temporary tables that the work leaves: the next work uses the same names. */
export async function dropNewTables<T>(run: DuckDbRun, work: () => Promise<T>): Promise<T> {
  const before = new Set(await temporaryTables(run))
  const result = await work()
  for (const name of await temporaryTables(run)) {
    if (!before.has(name)) await run.execute(`DROP TABLE ${quoteName(name)}`)
  }
  return result
}

/** The names of the temporary tables of a run. */
export async function temporaryTables(run: DuckDbRun): Promise<readonly string[]> {
  const rows = await run.rows('SELECT table_name FROM duckdb_tables() WHERE temporary')
  return rows.map((row) => textOf(row['table_name']))
}
