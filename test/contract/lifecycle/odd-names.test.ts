import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKindsOfWholeRuns } from '../../support/state/state-kinds.ts'

/** Levels of the body of a request around a `config`: body, nodes, node. */
const LEVELS_ABOVE_CONFIG = 3
const MAX_LEVELS = 64

/** JSON texts of `config`: names that objects of JavaScript have already, or sort in another way; and texts. */
const KEPT: readonly (readonly [string, string])[] = [
  [
    'names of Object.prototype',
    '{"constructor":1,"toString":"x","hasOwnProperty":null,"valueOf":[],"isPrototypeOf":{}}',
  ],
  ['constructor.prototype', '{"constructor":{"prototype":{"admin":true}},"prototype":{"constructor":{}}}'],
  ['almost __proto__', '{"__proto":1,"proto__":2,"__PROTO__":3,"__proto__ ":4," __proto__":5,"__defineGetter__":6}'],
  ['toJSON and then', '{"toJSON":"x","then":{"toJSON":1}}'],
  ['numbers', '{"10":1,"9":2,"01":3,"-1":4,"1.0":5,"4294967295":6,"1e3":7,"":8}'],
  ['numbers among letters', '{"b":1,"2":{"a":1,"1":2},"a":[{"1":1,"0":2}]}'],
  ['whitespace and quotes', String.raw`{" ":1,"\t":2,"\n":3,"\"":4,"\\":5,"'":6,"\u2028":7,"\u007f":8,"\u0001":9}`],
  ['names that differ in normal form', String.raw`{"\u00e9":1,"e\u0301":2,"\u212b":3,"\u00c5":4}`],
  ['names beyond the first plane', String.raw`{"\ud83d\ude08":1,"\uffff":2,"\ue000":3,"\ud800\udc00":4,"\ufeff":5}`],
  ['U+FFFD', String.raw`{"\ufffd":"\ufffd"}`],
  ['numbers as values', '{"a":[-0,1e20,5e-324,1.7976931348623157e308,0.1,9007199254740991,-9007199254740991]}'],
  ['empty', '{"a":{},"b":[],"c":[[]],"d":[{}],"e":""}'],
  ['the deepest that is accepted', nested(MAX_LEVELS - LEVELS_ABOVE_CONFIG)],
  ['a long text', JSON.stringify({ text: 'ü'.repeat(50_000) })],
]

/** Texts of a value with what is refused; each is put in at several levels. */
const REFUSED: readonly (readonly [string, string, string])[] = [
  ['__proto__', '{"__proto__":{"admin":true}}', '__proto__'],
  ['__proto__: null', '{"__proto__":null}', '__proto__'],
  ['__proto__, escaped', String.raw`{"\u005f_proto__":1}`, '__proto__'],
  ['NUL in a text', String.raw`{"a":"x\u0000y"}`, 'NUL'],
  ['NUL in a name', String.raw`{"x\u0000y":1}`, 'NUL'],
  ['half of a pair in a text', String.raw`{"a":"\ud83d"}`, 'surrogate'],
  ['half of a pair in a name', String.raw`{"\ude08":1}`, 'surrogate'],
  ['a pair the wrong way round', String.raw`["\ude08\ud83d"]`, 'surrogate'],
  ['a name twice', '{"a":1,"a":1}', 'twice'],
  ['a name twice, escaped', String.raw`{"a":1,"\u0061":1}`, 'twice'],
]

/** `{"a":{"a":…}}` with this number of objects. */
function nested(levels: number): string {
  return '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1)
}

function graphText(config: string, more = ''): string {
  return `{${more}"nodes":[{"id":"n","type":"t","config":${config},"position":{"x":0,"y":0}}],"edges":[]}`
}

for (const kind of stateKindsOfWholeRuns) {
  describe.skipIf(kind.skip)(`the content of a version on ${kind.name}`, () => {
    let service: TestService
    let users: Lifecycle
    beforeAll(async () => {
      const place = await kind.place()
      service = await startTestService({ env: place.env, onClose: place.remove })
      users = await lifecycle(service)
    })
    afterAll(() => service.close())

    it.each(KEPT)('is kept with %s, also after a restart, an export and an import', async (_title, config) => {
      const created = await service.call('POST', '/api/pipeline-defs', { text: graphText(config, '"name":"odd",') })
      expect(created.status, JSON.stringify(created.body)).toBe(201)
      const { definition, version } = created.body
      const path = `/api/pipeline-defs/${definition.id}/versions/${version.id}`
      await service.restart()
      const read = await service.get(path)
      expect(contentOf(read.body)).toEqual(contentOf({ nodes: [{ config: JSON.parse(config) }] }))
      const exported = await service.get(`${path}/export`)
      const imported = await service.post('/api/pipeline-defs/import', exported.body)
      expect(imported.status, JSON.stringify(imported.body)).toBe(201)
      expect(imported.body.version.content_hash).toBe(version.content_hash)
      expect(contentOf(imported.body.version)).toEqual(contentOf(read.body))
      const same = await service.call('POST', `/api/pipeline-defs/${definition.id}/versions`, {
        text: graphText(config),
      })
      expect(same.status).toBe(201)
      const { body: diff } = await service.get(`${path}/diff/${same.body.id}`)
      expect(diff).toMatchObject({ identical: true })
    })

    it('compares names that objects of JavaScript have already', async () => {
      const before = await users.create('compared', JSON.parse(graphText('{"constructor":1,"toString":{"valueOf":1}}')))
      const after = await users.addVersion(before.definitionId, JSON.parse(graphText('{"constructor":1,"valueOf":1}')))
      const { body } = await users.auditor.call('GET', `${before.version}/diff/${after.versionId}`)
      expect(body.identical).toBe(false)
      const text = JSON.stringify(body)
      expect(text).toContain('toString')
      expect(text).toContain('valueOf')
    })

    it.each(REFUSED)('is refused with %s at every level, wherever content is sent', async (_title, value, word) => {
      const { definition, version } = await users.create()
      const before = await service.get('/api/pipeline-defs')
      const configs = [
        value.startsWith('{') ? value : `{"a":${value}}`,
        `{"a":${value}}`,
        `{"a":{"b":[{"c":${value}}]}}`,
      ]
      for (const config of configs) {
        for (const [path, text] of [
          ['/api/pipeline-defs', graphText(config, '"name":"odd",')],
          ['/api/pipeline-defs/import', graphText(config, '"format_version":1,"name":"odd",')],
          [`${definition}/versions`, graphText(config)],
          ['/api/pipeline-defs/validate', graphText(config)],
        ] as const) {
          const { status, body } = await service.call('POST', path, { text })
          expect([status, body.code], `${path} ${text}`).toEqual([400, 'INVALID_REQUEST'])
          expect(body.detail, path).toContain(word)
        }
      }
      expect((await service.get('/api/pipeline-defs')).body).toEqual(before.body)
      expect((await service.get(`${definition}/versions`)).body).toHaveLength(1)
      expect((await service.get(version)).status).toBe(200)
    })

    it('is refused when it is nested one level deeper', async () => {
      const text = graphText(nested(MAX_LEVELS - LEVELS_ABOVE_CONFIG + 1), '"name":"deep",')
      const { status, body } = await service.call('POST', '/api/pipeline-defs', { text })
      expect([status, body.code, body.detail]).toEqual([400, 'INVALID_REQUEST', expect.stringContaining('64 levels')])
    })
  })
}

/** The configs as text, which shows every own name, in one order. */
function contentOf(version: { readonly nodes: readonly { readonly config: unknown }[] }): string[] {
  return version.nodes.map(({ config }) => sorted(config))
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`)
  return `{${members.toSorted().join()}}`
}
