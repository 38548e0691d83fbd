import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createDuckDbSandbox } from '../../../../src/engines/duckdb/worker/sandbox.ts'
import { type DuckDbRun, openRunAlone } from '../../../../src/engines/duckdb/session/session.ts'

const sandbox = createDuckDbSandbox()
afterAll(() => sandbox.close())

const check = (text: string, kind: 'query' | 'expression') => sandbox.check({ text, kind, relations: ['input'] })

/** A space that DuckDB replaces. */
const SPACE = '\u00a0'

describe('a query of a user is refused', () => {
  it.each<[text: string, why: string]>([
    [`SELECT varchar${SPACE}$$ || '$$ || getenv($$HOME$$) --' FROM input`, 'invisible character 160'],
    [`SELECT * FROM input WHERE name = '10${SPACE}000'`, 'chr(160)'],
    ["SELECT * FROM input WHERE name = chr(160) || '\u2007'", 'invisible character 8199'],
    ['SELECT tags.list_resize(2000000, 0) FROM input', 'list_resize takes a constant'],
    ['SELECT k.range(5) FROM input', 'range takes a constant'],
    ["SELECT f.printf('q') FROM input", 'printf takes a short constant format'],
    [`SELECT x.regexp_replace('.', '${'y'.repeat(50)}', 'g') FROM input`, 'at most 32 times longer'],
    ['SELECT len(range(-2000000, 0)) FROM input', 'range takes a constant'],
    ['SELECT generate_series(-3000000, 5) FROM input', 'generate_series takes a constant'],
    ['SELECT len(range(0, -3000000, -1)) FROM input', 'range takes a constant'],
  ])('%s', async (text, why) => {
    await expect(check(text, 'query')).rejects.toThrow(why)
  })
})

describe('an expression of a user is refused', () => {
  it.each<[text: string, why: string]>([
    ...[
      'json_group_array(x)',
      'json_group_object(x, y)',
      'json_group_structure(x)',
      'geomean(x)',
      'geometric_mean(x)',
    ].map((text): [string, string] => [text, 'aggregates the rows of a batch']),
    ['wavg(x, 1)', 'aggregates the rows of a batch'],
    ['x.weighted_avg(1)', 'aggregates the rows of a batch'],
    ['true) GROUP BY ALL WINDOW w AS (ORDER BY 1', 'only one expression'],
    [`x /*'*/ || '${SPACE}'`, 'invisible character'],
  ])('%s', async (text, why) => {
    await expect(check(text, 'expression')).rejects.toThrow(why)
  })

  it.each([
    'list_sum(l)',
    "array_to_string(l, ',')",
    "split_part(x, ',', 1)",
    'fdiv(x, 2)',
    'x.length() > 3',
    "x || '/*'",
  ])('unless it is harmless: %s', async (text) => {
    await expect(check(text, 'expression')).resolves.toBeUndefined()
  })
})

describe('a run with SQL of a user', () => {
  async function withRun(work: (run: DuckDbRun, original: string) => Promise<void>): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'lockhouse-shut-in-'))
    const bounds = { memoryLimitBytes: 128 * 2 ** 20, threads: 1, spillBytes: 0 }
    const original = join(folder, 'original.parquet')
    const run = await openRunAlone({ folder: mkdtempSync(join(folder, 'run-')), doing: 'a batch', bounds })
    try {
      await run.execute(`COPY (SELECT 'kept' AS x) TO '${original}' (FORMAT parquet)`)
      const staged = join(run.folder, 'd0_0.parquet')
      symlinkSync(original, staged)
      run.nameStaged(staged, original)
      await run.shutIn()
      await work(run, original)
    } finally {
      await run.close()
      rmSync(folder, { recursive: true, force: true })
    }
  }

  it('runs one statement at a time, so that no other one reaches the files of the table', async () => {
    await withRun(async (run, original) => {
      const before = readFileSync(original)
      const staged = join(run.folder, 'd0_0.parquet')
      const text = `SELECT 1) LIMIT 0; COPY (SELECT 666 AS x) TO '${staged}' (FORMAT parquet); SELECT * FROM (SELECT 1`
      for (const start of ['rows', 'result', 'stream', 'execute'] as const) {
        await expect(run[start](`SELECT * FROM (${text})`)).rejects.toThrow('3 statements instead of one')
      }
      expect(readFileSync(original).equals(before)).toBe(true)
      expect(await run.rows(`SELECT x FROM read_parquet('${staged}')`)).toEqual([{ x: 'kept' }])
    })
  })

  it('takes no name with a replaced space beside a comment that hides quotes', async () => {
    await withRun(async (run) => {
      const name = `"a${SPACE}b"`
      expect(await run.rows(`SELECT 1 AS ${name} -- it's`)).toEqual([{ [`a${SPACE}b`]: 1 }])
      await expect(run.rows(`SELECT 1 /* it's */ AS ${name}`)).rejects.toThrow('write -- comments')
    })
  })
})
