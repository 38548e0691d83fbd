import { describe, expect, it } from 'vitest'
import type { PipelineGraph } from '../../../src/domain/graph.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { ParameterValues } from '../../../src/streaming/graph/parameter-text.ts'
import { resolveParameters } from '../../../src/streaming/graph/parameters.ts'

const position = { x: 0, y: 0 }

function resolve(type: string, config: Record<string, unknown>, parameters: ParameterValues = {}) {
  const graph: PipelineGraph = { nodes: [{ id: 'n', type, config, position }], edges: [] }
  const secretOf = (name: string): string | undefined => {
    if (!name.startsWith('LAKE_')) throw new IcebergError('INVALID_ARGUMENT', 'no')
    return name === 'LAKE_KEY' ? "s'cret" : undefined
  }
  const resolved = resolveParameters(graph, { parameters, secretOf })
  return { ...resolved, config: resolved.graph.nodes[0]?.config, bound: resolved.bound.nodes[0]?.config }
}

const problemsOf = (...asked: Parameters<typeof resolve>): string[] =>
  resolve(...asked).problems.map(({ nodeId, code, parameter }) => `${nodeId} ${code} ${parameter}`)

describe('parameters of a graph', () => {
  it('become literals in SQL', () => {
    const values = { text: "it's", n: -1.5, big: 1e21, yes: true, no: false }
    const { config, problems } = resolve(
      'filter',
      { condition: 'a = ${text} AND b > ${n} AND c < ${big} AND d = ${yes} OR e = ${no}' },
      values,
    )
    expect(problems).toEqual([])
    expect(config).toEqual({ condition: "a = ('it''s') AND b > (-1.5) AND c < (1e+21) AND d = (TRUE) OR e = (FALSE)" })
  })

  it('become literals in every SQL field, and text in the others', () => {
    const values = { t: 'x y', id: 'node_1' }
    expect(resolve('sql', { query: 'SELECT ${t}', inputs: { a: '${id}' } }, values).config).toEqual({
      query: "SELECT ('x y')",
      inputs: { a: 'node_1' },
    })
    expect(resolve('select', { columns: [{ name: '${t}', expression: '${t}' }] }, values).config).toEqual({
      columns: [{ name: 'x y', expression: "('x y')" }],
    })
    expect(resolve('other', { deep: [{ a: ['${t}!', 1, null] }] }, values).config).toEqual({
      deep: [{ a: ['x y!', 1, null] }],
    })
  })

  it('leaves the escaped form, and does not resolve values again', () => {
    const values = { a: '${b}', b: '$${a}' }
    expect(resolve('other', { t: '$${a} ${a} ${b}' }, values).config).toEqual({ t: '${a} ${b} $${a}' })
    expect(resolve('filter', { condition: "x = '$${a}' AND y = ${a}" }, values).config).toEqual({
      condition: "x = '${a}' AND y = ('${b}')",
    })
  })

  it('escapes before it looks for dollar-quoted text', () => {
    expect(problemsOf('filter', { condition: '$$ $${a} ${b} $$' }, { b: 1 })).toEqual(['n INVALID_PARAMETER b'])
  })

  it('names the node and an unknown parameter', () => {
    expect(problemsOf('filter', { condition: 'a > ${min}' })).toEqual(['n UNKNOWN_PARAMETER min'])
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(problemsOf('filter', { condition: `a > \${${name}}` })).toEqual([`n UNKNOWN_PARAMETER ${name}`])
    }
  })

  it.each([
    "'${a}'",
    '"${a}"',
    '$$${b}${a}$$',
    '$x$ ${a} $x$',
    '-- ${a}',
    '/* ${a} */',
    'x${a}',
    '${a}${a}',
    '\0 ${a}',
  ])('refuses %j in SQL', (condition) => {
    expect(problemsOf('filter', { condition }, { a: 'v', b: 'w' })).toEqual(['n INVALID_PARAMETER a'])
  })

  it.each(['${}', '${1a}', '${a b}', '${a', '${a-b}', `\${${'a'.repeat(64)}}`, '${é}', '${ a }'])(
    'refuses %j, which is not a parameter',
    (text) => {
      const { problems } = resolve('iceberg-source', { table: text }, { a: 'v' })
      expect(problems.map(({ code }) => code)).toEqual(['INVALID_PARAMETER'])
      expect(problems[0]?.message).toContain('letter or _')
    },
  )

  it.each(['../etc', 'a/b.c', 'a.b\\c', 'file:///a.b', 'a..b', '.a.b', 'a', '', 'a.b\n', 'a.\0', 'a. b', 's3://b/c.d'])(
    'refuses the table name %j',
    (t) => {
      expect(problemsOf('iceberg-sink', { table: '${t}' }, { t })).toEqual(['n INVALID_PARAMETER t'])
    },
  )

  it('accepts a legal table name in parts', () => {
    const { config, problems } = resolve('iceberg-source', { table: '${env}.orders_${n}' }, { env: 'qa', n: 2 })
    expect({ config, problems }).toEqual({ config: { table: 'qa.orders_2' }, problems: [] })
  })

  it.each([Number.NaN, Infinity, -Infinity, 'a\0b', '\ud800'])('refuses the value %j', (v) => {
    expect(problemsOf('filter', { condition: 'a = ${v}' }, { v })).toEqual(['n INVALID_PARAMETER v'])
  })

  it('resolves secrets in SQL only, and returns their values apart from every graph', () => {
    const parameters = { k: 'env:LAKE_KEY', same: 'env:LAKE_KEY', gone: 'env:LAKE_GONE', path: 'env:PATH' }
    const asked = { condition: 'a = ${k} OR b = ${same}' }
    const { config, bound, graph, secrets, problems } = resolve('filter', asked, parameters)
    expect({ config, bound, secrets, problems }).toEqual({
      config: { condition: "a = ('env:LAKE_KEY') OR b = ('env:LAKE_KEY')" },
      bound: { condition: 'a = ($lockhouse_secret_0) OR b = ($lockhouse_secret_0)' },
      secrets: { lockhouse_secret_0: "s'cret" },
      problems: [],
    })
    expect(JSON.stringify([graph, config, bound])).not.toContain('cret"')
    expect(problemsOf('iceberg-sink', { table: 'a.${k}' }, parameters)).toEqual(['n INVALID_PARAMETER k'])
    expect(problemsOf('filter', { condition: 'a = ${gone}' }, parameters)).toEqual(['n MISSING_SECRET gone'])
    expect(problemsOf('filter', { condition: 'a = ${path}' }, parameters)).toEqual(['n MISSING_SECRET path'])
    expect(JSON.stringify(resolve('filter', { condition: "'${k}'" }, parameters))).not.toContain('cret"')
  })

  it('limits what parameters add to a graph', () => {
    const config = { t: '${a}'.repeat(2000), u: '${a}'.repeat(2000) }
    const { problems } = resolve('other', config, { a: 'x'.repeat(1000) })
    expect(problems.map(({ code }) => code)).toEqual(['INVALID_PARAMETER', 'INVALID_PARAMETER'])
  })
})
