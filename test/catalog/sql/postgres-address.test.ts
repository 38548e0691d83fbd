import { describe, expect, it } from 'vitest'

import { isPostgresUri, parsePostgresUri } from '../../../src/catalog/sql/postgres-address.ts'

const parse = (uri: string, properties: { password?: string; clients?: string } = {}) =>
  parsePostgresUri(uri, { password: properties.password, clients: properties.clients })

describe('the address of a PostgreSQL server', () => {
  it('has defaults for omitted parts', () => {
    expect(parse('postgresql://me@db/lake')).toEqual({
      host: 'db',
      port: 5432,
      database: 'lake',
      user: 'me',
      password: '',
      tls: undefined,
      options: undefined,
      applicationName: 'lockhouse',
      connectTimeoutMs: 10_000,
      answerTimeoutMs: 30_000,
      maxConnections: 10,
    })
  })

  it.each(['postgres://', 'postgresql://', 'postgresql+psycopg2://', 'jdbc:postgresql://'])(
    'may begin with %s',
    (start) => {
      const uri = `${start}me:s%40cr%2Fet@[::1]:6432/my%20lake`
      expect(isPostgresUri(uri)).toBe(true)
      expect(parse(uri)).toMatchObject({
        host: '::1',
        port: 6432,
        database: 'my lake',
        user: 'me',
        password: 's@cr/et',
      })
    },
  )

  it.each(['sqlite:///a', 'mysql://a/b', 'postgresql:a', 'xpostgresql://a/b', ''])('is not %j', (uri) => {
    expect(isPostgresUri(uri)).toBe(false)
  })

  it('accepts parameters of libpq and of JDBC', () => {
    const query = 'user=me&host=/run/postgresql&connect_timeout=3&socketTimeout=7&application_name=a&options=-c%20x%3D1'
    expect(
      parse(`postgresql:///lake?${query}&currentSchema=%22my%20lake%22`, { clients: '2', password: 'p' }),
    ).toMatchObject({
      host: '/run/postgresql',
      connectTimeoutMs: 3000,
      answerTimeoutMs: 7000,
      applicationName: 'a',
      options: '-c x=1 -c search_path="my\\ lake"',
      maxConnections: 2,
      password: 'p',
    })
    expect(parse('jdbc:postgresql://db/lake?user=me')).toMatchObject({ user: 'me', host: 'db' })
  })

  it('interprets sslmode like libpq', () => {
    const tls = (query: string) => parse(`postgresql://me@db/lake?${query}`).tls
    expect(tls('sslmode=disable')).toBeUndefined()
    expect(tls('sslmode=require')).toMatchObject({ verify: 'none' })
    expect(tls('sslmode=require&sslrootcert=/ca')).toMatchObject({ verify: 'ca', rootCertificate: '/ca' })
    expect(tls('sslmode=verify-ca&sslrootcert=/ca')).toMatchObject({ verify: 'ca' })
    expect(tls('sslmode=verify-full&sslcert=/c&sslkey=/k')).toMatchObject({
      verify: 'full',
      certificate: '/c',
      key: '/k',
    })
  })

  it.each([
    ['postgresql://me:hunter2@db:x/lake', 'is not a valid address'],
    ['postgresql://me:hunter2/x@db/lake', 'is not a valid address'],
    ['postgresql://me:hunter2%@db/lake', '%25'],
    ['postgresql://db/lake', 'no user'],
    ['postgresql://me@db', 'no database'],
    ['postgresql:///lake?user=me', 'no host'],
    ['postgresql://me@a,b/lake', 'several hosts'],
    ['postgresql://me@db/lake?sslmode=prefer', 'sslmode='],
    ['postgresql://me@db/lake?sslmode=verify-ca', 'sslrootcert'],
    ['postgresql://me@db/lake?sslrootcert=/ca', 'no sslmode'],
    ['postgresql://me@db/lake?ssl_mode=require', '"ssl_mode"'],
    ['postgresql://me@db/lake?password=hunter2', 'extra_props.password'],
    ['postgresql://me@db/lake?user=a&user=b', 'twice'],
    ['postgresql://me@db/lake?connect_timeout=0', 'connect_timeout'],
    ['postgresql://me@db/lake?socketTimeout=1.5', 'socketTimeout'],
  ])('%j is refused, and its secrets are not shown', (uri, reason) => {
    const refused = expect(() => parse(uri))
    refused.toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(reason) }))
    refused.toThrow(expect.objectContaining({ message: expect.not.stringContaining('hunter2') }))
    refused.toThrow(expect.not.objectContaining({ cause: expect.anything() }))
  })

  it.each(['0', '-1', 'many', '1001', ''])('refuses %j clients', (clients) => {
    expect(() => parse('postgresql://me@db/lake', { clients })).toThrow('extra_props.clients')
  })
})
