import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { notebookName, sessionName } from '../../src/notebooks/names.ts'
import { canHaveNotebook, notebookBasePath, parseNotebookPath } from '../../src/notebooks/path.ts'
import { runs } from '../support/effort.ts'

const DNS_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/** User names as issuers create them, and unusual ones. */
const user = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
  fc.emailAddress(),
  fc.stringMatching(/^[a-z0-9-]{1,70}$/),
  fc.stringMatching(/^[A-Za-z.@+_-]{1,30}$/),
  fc.constantFrom('auth0|5f7c8ec7c33c6c004bbafe82', 'Ana', 'ana', 'a--b', '-a', 'a-', '日本', '.', '..', '%2e', '$(X)'),
)

describe('notebook names', () => {
  it('are DNS labels for any user name', () => {
    fc.assert(
      fc.property(user, fc.stringMatching(/^[0-9a-f]{8}$/), (id, session) => {
        expect(notebookName(id)).toMatch(DNS_LABEL)
        expect(notebookName(id).length).toBeLessThanOrEqual(54)
        expect(sessionName(notebookName(id), session)).toMatch(DNS_LABEL)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('differ for different users', () => {
    fc.assert(
      fc.property(fc.uniqueArray(user, { minLength: 500, maxLength: 600 }), (ids) => {
        expect(new Set(ids.map(notebookName)).size).toBe(ids.length)
      }),
      { numRuns: 10 },
    )
  })

  it('differ for users whose names become similar labels', () => {
    const alike = [
      'ana',
      'Ana',
      'ANA',
      'ana.',
      'ana-',
      '-ana',
      'a.na',
      'a-na',
      'a--na',
      'a---na',
      'аna',
      'ana ',
      'ana\n',
    ]
    const made = alike.map(notebookName)
    expect(new Set(made).size).toBe(alike.length)
    // A user whose name equals another user's notebook name gets a different one.
    for (const name of made.filter((one) => one.includes('---'))) {
      expect(notebookName(name.slice('notebook-'.length))).not.toBe(name)
    }
  })

  it('stay readable', () => {
    expect(notebookName('ana')).toBe('notebook-ana')
    expect(notebookName('ana.b@example.com')).toMatch(/^notebook-ana-b-example-com---[0-9a-f]{16}$/)
    expect(notebookName('💧')).toMatch(/^notebook-x---[0-9a-f]{16}$/)
  })
})

describe('notebook paths', () => {
  it('are one segment that identifies one user, and round-trip through a URL', () => {
    fc.assert(
      fc.property(user, (id) => {
        if (!canHaveNotebook(id)) return
        const path = notebookBasePath(id)
        expect(path).toMatch(/^\/notebook\/[A-Za-z0-9_.~%-]+\/$/)
        expect(new URL(`http://host${path}api`).pathname).toBe(`${path}api`)
        expect(parseNotebookPath(`${path}api/kernels`)).toEqual({ user: id, rest: '/api/kernels' })
        expect(parseNotebookPath(path.slice(0, -1))).toEqual({ user: id, rest: '' })
      }),
      { numRuns: runs(2000) },
    )
  })

  it.each(['.', '..', '', 'x'.repeat(501), 'a\ud800'])('do not exist for %j', (id) => {
    expect(canHaveNotebook(id)).toBe(false)
  })

  it.each([
    '/notebook/',
    '/notebook',
    '/notebook//api',
    '/notebook/%zz/',
    '/notebook/%2e%2e/api',
    '/notebook/../x',
    '/api',
  ])('%s names no user', (path) => expect(parseNotebookPath(path)).toBeUndefined())
})
