import { describe, expect, test } from 'vitest'
import { Limiter } from '../../frontend/src/api/limiter.ts'
import { readServerEvents, type ServerEvent } from '../../frontend/src/api/server-events.ts'
import { findByName } from '../../frontend/src/components/text/find-by-name.ts'
import { scoreTone } from '../../frontend/src/components/status/score-tone.ts'
import { formatSort, parseSort } from '../../frontend/src/components/sorting.ts'
import { innerPath } from '../../frontend/src/layout/inner-path.ts'
import { formatSearchParams, parseSearchParams } from '../../frontend/src/search-params.ts'

describe('sorting', () => {
  test('a sort order is restored from the address, and an unknown column is ignored', () => {
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
})

describe('addresses', () => {
  test('64-bit ids and numeric names stay text', () => {
    const search = { target: '6816997371555012807', q: '007' }
    expect(parseSearchParams(formatSearchParams(search))).toEqual(search)
  })

  test('empty values are not written', () => {
    expect(formatSearchParams({ q: '', tab: undefined, sort: null })).toBe('')
    expect(formatSearchParams({ q: 'a b&c', page: 2 })).toBe('?q=a+b%26c&page=2')
  })

  test.each([
    ['/tables/demo.orders?tab=health', '/tables/demo.orders?tab=health'],
    ['//evil.example/', '/overview'],
    ['/\\evil.example', '/overview'],
    ['https://evil.example', '/overview'],
    ['javascript:alert(1)', '/overview'],
    ['/sign-in?next=/sign-in', '/overview'],
    [undefined, '/overview'],
  ])('after sign-in %j leads to %s', (next, path) => {
    expect(innerPath(next)).toBe(path)
  })
})

test('names match all words, with prefix matches first', () => {
  const names = ['old.orders_by_day', 'sales.orders', 'orders.all', 'sales.customers']
  expect(findByName(names, 'ord', (name) => name)).toEqual(['orders.all', 'old.orders_by_day', 'sales.orders'])
  expect(findByName(names, 'SALES ord', (name) => name)).toEqual(['sales.orders'])
  expect(findByName(names, '  ', (name) => name)).toEqual(names)
  expect(findByName(names, 'nothing', (name) => name)).toEqual([])
})

test('scores have three colours', () => {
  expect([100, 80, 79, 50, 49, 0].map(scoreTone)).toEqual(['ok', 'ok', 'warn', 'warn', 'bad', 'bad'])
})

describe('the limiter', () => {
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
  }

  test('runs a limited number at once, in order', async () => {
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

  test('never starts what is cancelled while it waits, and frees the slot of a failure', async () => {
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

  test('are parsed completely for any split into chunks', async () => {
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

  test('are ignored when they are incomplete', async () => {
    expect(await read(['event: operation\ndata: {"half"'])).toEqual([])
  })
})
