import { describe, expect, test } from 'vitest'
import { Limiter } from '../../frontend/src/api/limiter.ts'
import { readServerEvents, type ServerEvent } from '../../frontend/src/api/server-events.ts'
import { findByName } from '../../frontend/src/components/find-by-name.ts'
import { scoreTone } from '../../frontend/src/components/score-tone.ts'
import { formatSort, nextSort, parseSort, sortRows } from '../../frontend/src/components/sorting.ts'
import { innerPath } from '../../frontend/src/layout/inner-path.ts'
import { formatSearchParams, parseSearchParams } from '../../frontend/src/search-params.ts'

describe('sorting', () => {
  const rows = [{ v: 'b10' }, { v: undefined }, { v: 'b9' }, { v: 'A' }] as const
  const valuesOf = (sorted: readonly { v: string | undefined }[]) => sorted.map(({ v }) => v)

  test('numbers in names count as numbers, case does not count, what is missing comes last either way', () => {
    expect(valuesOf(sortRows(rows, ({ v }) => v, false))).toEqual(['A', 'b9', 'b10', undefined])
    expect(valuesOf(sortRows(rows, ({ v }) => v, true))).toEqual(['b10', 'b9', 'A', undefined])
  })

  test('equal rows stay in their order, and the given ones are left as they were', () => {
    const given = [3, 1, 2].map((id) => ({ id, same: 0 }))
    expect(sortRows(given, ({ same }) => same, true).map(({ id }) => id)).toEqual([3, 1, 2])
    sortRows(given, ({ id }) => id, false)
    expect(given.map(({ id }) => id)).toEqual([3, 1, 2])
  })

  test('a sort survives the address, and one that names no column is none', () => {
    for (const sort of [
      { column: 'size', descending: true },
      { column: 'size', descending: false },
    ]) {
      expect(parseSort(formatSort(sort), ['size'])).toEqual(sort)
    }
    expect(parseSort('-nothing', ['size'])).toBeUndefined()
    expect(parseSort('', ['size'])).toBeUndefined()
    expect(parseSort(undefined, ['size'])).toBeUndefined()
  })

  test('a click on a head turns its order round; a new column starts as it says', () => {
    const first = nextSort(undefined, 'size', true)
    expect(first).toEqual({ column: 'size', descending: true })
    expect(nextSort(first, 'size', true)).toEqual({ column: 'size', descending: false })
    expect(nextSort(first, 'name', false)).toEqual({ column: 'name', descending: false })
  })
})

describe('addresses', () => {
  test('64-bit ids and names like numbers stay text', () => {
    const search = { target: '6816997371555012807', q: '007' }
    expect(parseSearchParams(formatSearchParams(search))).toEqual(search)
  })

  test('what is empty is not written', () => {
    expect(formatSearchParams({ q: '', tab: undefined, sort: null })).toBe('')
    expect(formatSearchParams({ q: 'a b&c', page: 2 })).toBe('?q=a+b%26c&page=2')
  })

  test.each([
    ['/tables/demo.orders?tab=health', '/tables/demo.orders?tab=health'],
    ['//evil.example/', '/tables'],
    ['/\\evil.example', '/tables'],
    ['https://evil.example', '/tables'],
    ['javascript:alert(1)', '/tables'],
    ['/sign-in?next=/sign-in', '/tables'],
    [undefined, '/tables'],
  ])('after sign-in %j leads to %s', (next, path) => {
    expect(innerPath(next)).toBe(path)
  })
})

test('names are found by all words, those that begin with them first', () => {
  const names = ['old.orders_by_day', 'sales.orders', 'orders.all', 'sales.customers']
  expect(findByName(names, 'ord', (name) => name)).toEqual(['orders.all', 'old.orders_by_day', 'sales.orders'])
  expect(findByName(names, 'SALES ord', (name) => name)).toEqual(['sales.orders'])
  expect(findByName(names, '  ', (name) => name)).toEqual(names)
  expect(findByName(names, 'nothing', (name) => name)).toEqual([])
})

test('scores have three tones', () => {
  expect([100, 80, 79, 50, 49, 0].map(scoreTone)).toEqual(['ok', 'ok', 'warn', 'warn', 'bad', 'bad'])
})

describe('the limiter', () => {
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
  }

  test('runs so many at once and no more, in order', async () => {
    const limiter = new Limiter(2)
    const started: number[] = []
    const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
    const all = ends.map(({ promise }, index) =>
      limiter.run(() => {
        started.push(index)
        return promise
      }, new AbortController().signal),
    )
    await turns()
    expect(started).toEqual([0, 1])
    ends[1]?.resolve()
    await turns()
    expect(started).toEqual([0, 1, 2])
    for (const { resolve } of ends) resolve()
    await Promise.all(all)
    expect(started).toEqual([0, 1, 2, 3])
  })

  test('what is called off while it waits never starts, and a failure gives its place to the next', async () => {
    const limiter = new Limiter(1)
    const gate = Promise.withResolvers<void>()
    const stop = new AbortController()
    const first = limiter.run(() => gate.promise, new AbortController().signal)
    let ran = false
    const second = limiter.run(async () => {
      ran = true
    }, stop.signal)
    const third = limiter.run(async () => 'third', new AbortController().signal)
    stop.abort(new Error('called off'))
    await expect(second).rejects.toThrow('called off')
    gate.reject(new Error('failed'))
    await expect(first).rejects.toThrow('failed')
    await expect(third).resolves.toBe('third')
    expect(ran).toBe(false)
  })
})

describe('server-sent events', () => {
  const read = async (chunks: readonly (string | Uint8Array)[]) => {
    const encoder = new TextEncoder()
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk)
        controller.close()
      },
    })
    const events: ServerEvent[] = []
    for await (const event of readServerEvents(stream)) events.push(event)
    return events
  }

  test('come whole, however they were cut', async () => {
    const text = ':\n\nid: 7\nevent: operation\ndata: {"ä":1}\n\ndata: a\ndata: b\r\n\r\n'
    const bytes = new TextEncoder().encode(text)
    const expected = [
      { id: '7', event: 'operation', data: '{"ä":1}' },
      { id: undefined, event: 'message', data: 'a\nb' },
    ]
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      )
      expect(await read(chunks), `chunks of ${size} bytes`).toEqual(expected)
    }
  })

  test('an event that was cut off is none', async () => {
    expect(await read(['event: operation\ndata: {"half"'])).toEqual([])
  })
})
