import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { capResult, MAX_RESULT_BYTES, MAX_RESULT_ROWS } from '../../../src/agent/tools/cap-result.ts'
import { parseArguments, shownArguments } from '../../../src/agent/tools/tool-arguments.ts'
import { allTools } from '../../../src/agent/tools/all-tools.ts'
import { describeTools } from '../../../src/agent/tools/tool-descriptions.ts'
import { createSecretRedactor } from '../../../src/agent/redaction/secret-redactor.ts'
import { withoutSemicolon } from '../../../src/services/query/sql-end.ts'
import { runs } from '../../support/effort.ts'

describe('a tool result', () => {
  it('is never larger than 16 KB, whatever it contains, and says when it was truncated', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 1, max: 3000 }), (value, times) => {
        const data = { rows: Array.from({ length: times }, () => value), value }
        const json = capResult(data)
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(MAX_RESULT_BYTES)
        const result = JSON.parse(json)
        expect(result.untrusted).toBe(true)
        expect(result.truncated).toBe(JSON.stringify(result.data) !== JSON.stringify(data))
        if (result.data) expect(result.data.rows.length).toBeLessThanOrEqual(MAX_RESULT_ROWS)
      }),
      { numRuns: runs(300) },
    )
  })

  it('can hold deep, wide, long and fragmented values', () => {
    let deep: unknown = 'end'
    for (let i = 0; i < 5000; i++) deep = { a: [deep] }
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`member ${i}`, i]))
    const nested = Array.from({ length: 100 }, () =>
      Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 1)),
    )
    for (const data of [deep, wide, nested, 'x'.repeat(10_000_000), '\u{1f600}'.repeat(100_000), '"'.repeat(20_000)]) {
      const json = capResult(data)
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(MAX_RESULT_BYTES)
      expect(JSON.parse(json)).toMatchObject({ untrusted: true, truncated: true })
    }
  })

  it('counts the omitted items', () => {
    const result = JSON.parse(capResult({ tables: Array.from({ length: 250 }, (_, i) => `t${i}`) }))
    expect(result).toMatchObject({ truncated: true, left_out: { 'data.tables': 150 } })
    expect(result.data.tables).toHaveLength(100)
  })

  it('says that there is more when the tool reports more', () => {
    expect(JSON.parse(capResult({ rows: [], truncated: true })).truncated).toBe(true)
    expect(JSON.parse(capResult({ rows: [], next_page_token: 'x' })).truncated).toBe(true)
    expect(JSON.parse(capResult({ rows: [], next_page_token: null })).truncated).toBe(false)
  })
})

describe('arguments of a call', () => {
  const tool = allTools.find(({ name }) => name === 'get_schema')
  if (tool === undefined) throw new Error('there is a tool get_schema')

  it.each([
    ['text', '{"table":"a.b"}'],
    ['an object', { table: 'a.b' }],
    ['text of text', JSON.stringify('{"table":"a.b"}')],
    ['text with white space', '\n {"table": "a.b"} \n'],
    ['members that are null', '{"table":"a.b","nothing":null}'],
  ])('may be %s', (_, raw) => expect(parseArguments(tool, raw)).toEqual({ value: { table: 'a.b' } }))

  it.each([
    ['{"table":'],
    ['[]'],
    ['"a.b"'],
    ['5'],
    ['null'],
    [''],
    [undefined],
    [[]],
    [{ table: 5 }],
    [{ tabel: 'a.b' }],
  ])('are refused with an explanation when they are %j', (raw) =>
    expect(parseArguments(tool, raw)).toMatchObject({ message: expect.any(String), errors: expect.any(Array) }),
  )

  it('are always shown as JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.jsonValue()), (raw) => {
        expect(() => JSON.parse(shownArguments(raw))).not.toThrow()
      }),
    )
  })
})

describe('tools as models see them', () => {
  it('have names and schemas that every provider accepts', () => {
    const text = JSON.stringify(describeTools(allTools))
    for (const word of ['pattern', '$schema', 'format', 'additionalProperties', '$ref'])
      expect(text).not.toContain(`"${word}":`)
    for (const { name, description, parameters } of describeTools(allTools)) {
      expect(name).toMatch(/^[a-z_]{3,40}$/)
      expect(description.length).toBeGreaterThan(20)
      expect(parameters).toMatchObject({ type: 'object', properties: expect.any(Object) })
      expect(name).not.toMatch(/(^|_)(approve|reject|promote|delete)(_|$)/)
    }
    expect(new Set(allTools.map(({ name }) => name)).size).toBe(allTools.length)
  })

  it('have an effect only when they declare one', () => {
    const changing = allTools.filter(({ risk }) => risk !== 'read').map(({ name, risk }) => `${name} ${risk}`)
    expect(changing).toEqual([
      'compact change',
      'convert_deletes change',
      'rewrite_position_deletes change',
      'rewrite_manifests change',
      'expire_snapshots destructive',
      'add_column change',
      'rename_column change',
      'drop_column destructive',
      'start_pipeline change',
      'stop_pipeline change',
      'deploy_pipeline change',
      'undeploy_pipeline change',
      'rollback_deployment change',
    ])
  })
})

describe('secrets', () => {
  const { redact } = createSecretRedactor(() => ['s3cret-value-"quoted"', 'longer-s3cret', 'short'])

  it.each([
    ['in plain text', 'key = longer-s3cret!', 'key = [secret]!'],
    ['in JSON strings', JSON.stringify({ key: 's3cret-value-"quoted"' }), '{"key":"[secret]"}'],
    ['tokens of this service', 'use lh_0123456789abcdefXYZ please', 'use [secret] please'],
    ['keys of providers', 'sk-proj-0123456789abcdef', '[secret]'],
    ['keys of clouds', 'AKIAIOSFODNN7EXAMPLE', '[secret]'],
    ['passwords in URLs', 'postgres://user:hunter2@db:5432/x', 'postgres://[secret]@db:5432/x'],
    [
      'nothing else',
      'short sk-short lh_ eyJ https://example.org/a:b',
      'short sk-short lh_ eyJ https://example.org/a:b',
    ],
  ])('are removed: %s', (_, text, expected) => expect(redact(text)).toBe(expected))
})

describe('the end of a statement', () => {
  it.each([
    ['SELECT 1', 'SELECT 1'],
    ['SELECT 1 ; ', 'SELECT 1'],
    ['SELECT 1; -- that is all', 'SELECT 1'],
    ["SELECT ';' AS a;", "SELECT ';' AS a"],
    ["SELECT 'it''s; ' AS a", "SELECT 'it''s; ' AS a"],
    ['SELECT ";" FROM t;', 'SELECT ";" FROM t'],
    ['SELECT $x$ ; $x$;', 'SELECT $x$ ; $x$'],
    ['SELECT 1 -- ; no end\n+ 1;', 'SELECT 1 -- ; no end\n+ 1'],
    ['SELECT 1 /* ; */ + 1;', 'SELECT 1 /* ; */ + 1'],
  ])('of %s', (sql, expected) => expect(withoutSemicolon(sql)).toBe(expected))
})
