import { namespaceName, tableName } from '../../src/schemas/common.ts'
import { describe, expect, it } from 'vitest'

import { formatIdentifier, parseIdentifier } from '../../src/catalog/table-identifier.ts'

describe('table identifiers', () => {
  it.each([
    ['db.events', { namespace: ['db'], name: 'events' }],
    ['a.b.c', { namespace: ['a', 'b'], name: 'c' }],
    ['events', { namespace: [], name: 'events' }],
    ['db.tábla 1', { namespace: ['db'], name: 'tábla 1' }],
    ['lake:db.events', { catalog: 'lake', namespace: ['db'], name: 'events' }],
    ['lake:db.a:b', { catalog: 'lake', namespace: ['db'], name: 'a:b' }],
    [':db.a:b', { namespace: ['db'], name: 'a:b' }],
    [':a:b.c', { namespace: ['a:b'], name: 'c' }],
    ['::a.b', { namespace: [':a'], name: 'b' }],
  ])('%s', (text, identifier) => {
    expect(parseIdentifier(text)).toEqual(identifier)
    expect(formatIdentifier(identifier)).toBe(text)
  })

  it.each([
    '',
    '.',
    '..',
    'a.',
    '.a',
    'a..b',
    '../../etc/passwd',
    'a/b.c',
    'a.b\0',
    'a.b\u0085',
    'a. b',
    'a.\ud83d',
    '\udc00.b',
    `a.${'x'.repeat(256)}`,
    ':db.events',
    ':',
    'lake:',
    'lake:a.',
    'a lake:db.events',
    'a.b:c',
    `${'x'.repeat(64)}:a.b`,
  ])('refuses %j', (text) => {
    expect(() => parseIdentifier(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('reports a namespace that no catalog can have as missing', () => {
    const text = `${'a.'.repeat(200)}b`
    expect(() => parseIdentifier(text)).toThrow(expect.objectContaining({ code: 'NO_SUCH_NAMESPACE' }))
  })
})

describe('the schema of requests', () => {
  it.each(['a.b', 'lake:a.b', 'L-1_x:é.ü', 'lake:a:b.c', 'lake:a.b:c', ':a:b.c', ':a.b:c', '::.b', ':a.:', ':x.a:b.y'])(
    'accepts %s, which is the name of a table',
    (name) => {
      expect(tableName.safeParse(name).success).toBe(true)
      expect(formatIdentifier(parseIdentifier(name))).toBe(name)
    },
  )

  it.each([
    'a',
    ':a.b',
    's.:name',
    'a:b',
    'lake:b',
    ':a:b',
    's:.b',
    '!:b.c',
    'a.b:c',
    ' a.b',
    'a..b',
    '',
    ':',
    'a/b.c',
  ])('refuses %j', (name) => {
    expect(tableName.safeParse(name).success).toBe(false)
  })

  it('reads names of any form in time that grows with their length only', () => {
    for (const name of [`:${'a.'.repeat(499)}!`, ':'.repeat(999), `:${'a:'.repeat(499)}/`, ' :'.repeat(500)]) {
      expect(tableName.safeParse(name).success).toBe(false)
    }
  })

  it.each(['a', 'a.b', 'lake:a', ':a:b', ':a.b:'])('accepts the namespace %s', (name) => {
    expect(namespaceName.safeParse(name).success).toBe(true)
  })

  it.each([':a', 'a!:b', ':', 'a..b'])('refuses the namespace %j', (name) => {
    expect(namespaceName.safeParse(name).success).toBe(false)
  })
})
