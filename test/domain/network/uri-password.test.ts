import { describe, expect, it } from 'vitest'

import { hidePassword, passwordIn } from '../../../src/domain/network/uri-password.ts'

describe('the password in an address', () => {
  it.each([
    ['postgresql://me:secret@db:5432/lake', 'secret', 'postgresql://me:***@db:5432/lake'],
    ['jdbc:postgresql://me:secret@db/lake?a=b:c@d', 'secret', 'jdbc:postgresql://me:***@db/lake?a=b:c@d'],
    ['postgresql+psycopg2://me:s%40cret@db/lake', 's%40cret', 'postgresql+psycopg2://me:***@db/lake'],
    ['postgresql://me:s@cr:et@db/lake', 's@cr:et', 'postgresql://me:***@db/lake'],
    ['postgresql://me@home:secret@db/lake', 'secret', 'postgresql://me@home:***@db/lake'],
    ['https://:secret@catalog/v1', 'secret', 'https://:***@catalog/v1'],
    ['https://me:$&$1@catalog/v1', '$&$1', 'https://me:***@catalog/v1'],
  ])('of %s is found and hidden', (uri, password, hidden) => {
    expect(passwordIn(uri)).toBe(password)
    expect(hidePassword(uri)).toBe(hidden)
    expect(hidePassword(hidden)).toBe(hidden)
  })

  it.each(['postgresql://me@db:5432/lake', 'https://catalog:8181/v1/a:b@c', 'sqlite:////srv/a:b@c.db', '/a', ''])(
    'is not in %j',
    (uri) => {
      expect(passwordIn(uri)).toBeUndefined()
      expect(hidePassword(uri)).toBe(uri)
    },
  )
})
