import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AGGREGATE_FUNCTIONS,
  AGGREGATE_NAMES,
  SCALAR_FUNCTIONS,
  SCALAR_NAMES,
  TABLE_FUNCTIONS,
} from '../../../../src/engines/duckdb/sandbox/allowed-functions.ts'
import { createLocalSandbox } from '../../../../src/engines/duckdb/sandbox/local-sandbox.ts'

/** A function of the running engine. */
interface EngineFunction {
  readonly name: string
  readonly kind: string
  readonly stability: string
  readonly types: string
  readonly definition: string
}

const sandbox = createLocalSandbox()
let functions: readonly EngineFunction[] = []

beforeAll(async () => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const columns = [
    'lower(function_name) AS name',
    'function_type AS kind',
    "coalesce(stability, '') AS stability",
    "concat_ws(' ', return_type, parameter_types::VARCHAR, varargs) AS types",
    "coalesce(macro_definition, '') AS definition",
  ]
  const result = await connection.runAndReadAll(`SELECT ${columns.join(', ')} FROM duckdb_functions()`)
  functions = result.getRowObjectsJS().map(({ name, kind, stability, types, definition }) => ({
    name: String(name),
    kind: String(kind),
    stability: String(stability),
    types: String(types),
    definition: String(definition),
  }))
  connection.closeSync()
})
afterAll(() => {
  functions = []
})

const namesOf = (...kinds: readonly string[]): ReadonlySet<string> =>
  new Set(functions.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name))

/** Why the check refuses a text; undefined when it does not. */
async function refusalOf(text: string): Promise<string | undefined> {
  try {
    await sandbox.check({ kind: 'query', text, relations: ['input'] })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Whether the check refuses the function itself, and not its arguments. */
async function isRefused(text: string): Promise<boolean> {
  return /^the (table )?function .* is not allowed here/.test((await refusalOf(text)) ?? '')
}

describe('the list of allowed functions', () => {
  it('decides about every function of the running engine', async () => {
    const values = namesOf('scalar', 'aggregate', 'macro')
    const relations = namesOf('table', 'table_macro')
    const decided = { allowed: 0, refused: 0 }
    for (const name of values) {
      const refused = await isRefused(`SELECT "${name}"(1, 2, 3)`)
      expect(refused, name).toBe(!SCALAR_NAMES.has(name) && !AGGREGATE_NAMES.has(name))
      decided[refused ? 'refused' : 'allowed'] += 1
    }
    for (const name of relations) {
      const refused = await isRefused(`SELECT * FROM "${name}"(1, 2, 3)`)
      expect(refused, name).toBe(!TABLE_FUNCTIONS.names.has(name))
      decided[refused ? 'refused' : 'allowed'] += 1
    }
    for (const name of namesOf('pragma')) expect(await refusalOf(`PRAGMA ${name}`), name).toBeDefined()
    // of 1.5.6; another number means that somebody has to look at the functions that came or went
    expect(decided).toEqual({ allowed: 558, refused: 348 })
  })

  it('contains each function once, and only functions of the running engine', () => {
    const known = new Set([...namesOf('scalar', 'aggregate', 'macro'), 'unnest'])
    const listed = [...SCALAR_FUNCTIONS, ...AGGREGATE_FUNCTIONS].flatMap(({ names }) => [...names])
    expect(listed.filter((name) => !known.has(name))).toEqual([])
    expect(listed.filter((name, at) => listed.indexOf(name) !== at)).toEqual([])
    const relations = namesOf('table')
    expect([...TABLE_FUNCTIONS.names].filter((name) => !relations.has(name))).toEqual([])
  })

  it('tells aggregates from functions of one row', () => {
    const aggregates = namesOf('aggregate')
    expect([...SCALAR_NAMES].filter((name) => aggregates.has(name))).toEqual([])
    const macros = [...AGGREGATE_NAMES].filter((name) => !aggregates.has(name))
    const called = functions.filter(({ name }) => macros.includes(name))
    for (const { name, definition } of called) {
      const calls = [...definition.matchAll(/([a-z_]\w*)"?\(/g)].map(([, call]) => call ?? '')
      expect(
        calls.some((call) => AGGREGATE_NAMES.has(call)),
        name,
      ).toBe(true)
    }
  })

  it('contains macros only of allowed functions', () => {
    const own = functions.filter(
      ({ kind, name }) => kind === 'macro' && (SCALAR_NAMES.has(name) || AGGREGATE_NAMES.has(name)),
    )
    for (const { name, definition } of own) {
      const calls = [...definition.matchAll(/([a-z_]\w*)"?\(/gi)].map(([, call]) => (call ?? '').toLowerCase())
      const others = calls.filter((call) => !['cast', 'case', 'coalesce', 'then', 'bit'].includes(call))
      expect(
        others.filter((call) => !SCALAR_NAMES.has(call) && !AGGREGATE_NAMES.has(call)),
        name,
      ).toEqual([])
    }
    expect(own.length).toBeGreaterThan(50)
  })

  it('contains no function that deals with states, pointers, types or variants as values', () => {
    const allowed = functions.filter(({ name }) => SCALAR_NAMES.has(name) || AGGREGATE_NAMES.has(name))
    const raw = allowed.filter(({ types }) => /\bSTATE|POINTER|\bTYPE\b|VARIANT|UNION|\bENUM/.test(types))
    expect(raw.map(({ name }) => name)).toEqual([])
  })

  it('contains no function with an effect, and few whose result depends on more than their arguments', () => {
    const by = (stability: string): readonly string[] => {
      const names = functions.filter((found) => found.stability === stability && SCALAR_NAMES.has(found.name))
      return [...new Set(names.map(({ name }) => name))].toSorted()
    }
    expect(by('VOLATILE')).toEqual(['error', 'gen_random_uuid', 'random', 'uuid', 'uuidv4', 'uuidv7'])
    expect(by('CONSISTENT_WITHIN_QUERY')).toEqual([
      'current_date',
      'get_current_time',
      'get_current_timestamp',
      'now',
      'today',
      'transaction_timestamp',
    ])
  })
})
