import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { notebookName, sessionName } from '../../src/notebooks/notebook-names.ts'
import { canHaveNotebook, notebookBasePath, parseNotebookPath } from '../../src/notebooks/notebook-path.ts'

const DNS_LABEL = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/** User names as issuers make them, and as nobody should. */
const user = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
  fc.emailAddress(),
  fc.stringMatching(/^[a-z0-9-]{1,70}$/),
  fc.stringMatching(/^[A-Za-z.@+_-]{1,30}$/),
  fc.constantFrom('auth0|5f7c8ec7c33c6c004bbafe82', 'Ana', 'ana', 'a--b', '-a', 'a-', '日本', '.', '..', '%2e', '$(X)'),
)

describe('names of notebooks', () => {
  it('are DNS labels for whatever a user is called', () => {
    fc.assert(
      fc.property(user, fc.stringMatching(/^[0-9a-f]{8}$/), (id, session) => {
        expect(notebookName(id)).toMatch(DNS_LABEL)
        expect(notebookName(id).length).toBeLessThanOrEqual(54)
        expect(sessionName(notebookName(id), session)).toMatch(DNS_LABEL)
      }),
      { numRuns: 2000 },
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

  it('differ for users whose names look alike once they are labels', () => {
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
    // Whoever is called like the name that another one got does not get it.
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

describe('paths of notebooks', () => {
  it('are one segment that names the user and nobody else, and survive a URL', () => {
    fc.assert(
      fc.property(user, (id) => {
        if (!canHaveNotebook(id)) return
        const path = notebookBasePath(id)
        expect(path).toMatch(/^\/notebook\/[A-Za-z0-9_.~%-]+\/$/)
        expect(new URL(`http://host${path}api`).pathname).toBe(`${path}api`)
        expect(parseNotebookPath(`${path}api/kernels`)).toEqual({ user: id, rest: '/api/kernels' })
        expect(parseNotebookPath(path.slice(0, -1))).toEqual({ user: id, rest: '' })
      }),
      { numRuns: 2000 },
    )
  })

  it.each(['.', '..', '', 'x'.repeat(501), 'a\ud800'])('%j can have none', (id) => {
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
