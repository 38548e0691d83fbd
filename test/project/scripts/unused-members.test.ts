import { describe, expect, it } from 'vitest'
import { unusedMembers } from '../../../scripts/checks/unused-members.ts'

const find = (...texts: readonly string[]): string[] =>
  unusedMembers(new Map(texts.map((text, at) => [`${at}.ts`, text] as const)), ['toJSON'])

const HUB = `export interface Hub {
  /** Calls hub.subscribe(listener). */
  subscribe(listener: () => void): void
  readonly count: () => number
  readonly name: string
}

export const hub: Hub = {
  subscribe(listener) {
    add(listener)
  },
  count: () => 0,
  name: 'hub',
}
`

describe('methods that nothing calls', () => {
  it('are found in interfaces and classes, whatever implements them', () => {
    const runner = `class Runner {\n  async poke(): Promise<void> {\n    if (this.#done) return\n  }\n\n  toJSON(): string {\n    return ''\n  }\n}\n`
    expect(find(HUB, runner)).toEqual(['0.ts: subscribe', '0.ts: count', '1.ts: poke'])
  })

  it.each([
    ['a call', 'hub.subscribe(a)\nhub.count()'],
    ['an optional call', 'hub?.subscribe?.(a)\nconst n = hub.count()'],
    ['destructuring', 'const { subscribe, count: total } = hub'],
    ['destructuring over several lines', 'const {\n  subscribe,\n  count,\n} = hub'],
    ['a type that picks them', `type Part = Pick<Hub, 'subscribe' | 'count'>`],
  ])('are not reported after %s', (_, text) => {
    expect(find(HUB, text)).toEqual([])
  })

  it('are not looked for in a class that implements an interface, which a package may call', () => {
    expect(find(`class SqliteDriver implements Driver {\n  async init(): Promise<void> {}\n}\n`)).toEqual([])
  })

  it('are not counted as called by comments', () => {
    expect(find(HUB, '// hub.subscribe(a)\n/* hub.count() */')).toEqual(['0.ts: subscribe', '0.ts: count'])
  })
})
